//! Where does an imported game come from, and what did its file claim?

use crate::claimed_result::SgfResult;

/// The file an imported game was read from and what the file says of it, in the first 4,096 bytes of the file's own words.
/// Nothing of it was checked; what was checked stands in the record itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file, with the name inside it when it is an archive.
    pub file: String,
    /// Number of the game in the file, counted from 1.
    pub game: u32,
    /// The result.
    pub result: Option<String>,
    /// The komi.
    pub komi: Option<String>,
    /// The rules.
    pub rules: Option<String>,
    /// The number of handicap stones.
    pub handicap: Option<u16>,
    /// Rank of the player of Black.
    pub black_rank: Option<String>,
    /// Rank of the player of White.
    pub white_rank: Option<String>,
    /// When the game was played.
    pub date: Option<String>,
    /// The event at which it was played.
    pub event: Option<String>,
}

impl Origin {
    /// The claimed result, read.
    pub fn claim(&self) -> SgfResult {
        self.result.as_deref().map_or(SgfResult::Unknown, SgfResult::parse)
    }
}
