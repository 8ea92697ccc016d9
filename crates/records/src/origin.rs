//! The source of an imported or labelled game, and the claims of its file.

use crate::claimed_result::SgfResult;

/// The file that a game was imported from, or the shard whose game was labelled, and what it claims, limited to the
/// first 4,096 bytes of each text. None of this was checked; checked facts are in the record itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the file; for an archive, including the name inside it.
    pub file: String,
    /// Number of the game in the file, counted from 1.
    pub game: u32,
    /// The result that the file claims, as written there.
    pub result: Option<String>,
    /// The komi that the file claims, as written there.
    pub komi: Option<String>,
    /// The rules that the file claims, as written there.
    pub rules: Option<String>,
    /// The claimed number of handicap stones.
    pub handicap: Option<u16>,
    /// Rank of the Black player.
    pub black_rank: Option<String>,
    /// Rank of the White player.
    pub white_rank: Option<String>,
    /// When the game was played.
    pub date: Option<String>,
    /// The event where the game was played.
    pub event: Option<String>,
    /// Who labelled the game's positions, and how: a JSON object with the teacher's name, hash, and settings. `None`
    /// for other games.
    pub teacher: Option<String>,
}

impl Origin {
    /// Parses the result that the file claims.
    pub fn claim(&self) -> SgfResult {
        self.result.as_deref().map_or(SgfResult::Unknown, SgfResult::parse)
    }
}
