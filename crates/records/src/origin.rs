//! Where does an imported game come from, and what did its file claim?

use crate::record::EndReason;
use crate::sgf::{SgfGame, SgfResult};

/// Bytes that are kept of a text of a file; names and events are shorter, broken files may hold megabytes there.
const WORDS: usize = 4096;

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
    /// What a file says of a game.
    pub(crate) fn of(game: &SgfGame, file: &str, number: u32) -> Origin {
        let words = |text: &Option<String>| text.as_deref().map(first_words);
        Origin {
            file: first_words(file),
            game: number,
            result: words(&game.result),
            komi: words(&game.komi_text),
            rules: words(&game.rules),
            handicap: game.handicap,
            black_rank: words(&game.black_rank),
            white_rank: words(&game.white_rank),
            date: words(&game.date),
            event: words(&game.event),
        }
    }

    /// The claimed result, read.
    pub fn claim(&self) -> SgfResult {
        self.result.as_deref().map_or(SgfResult::Unknown, SgfResult::parse)
    }
}

impl SgfResult {
    /// How a game with this claim stopped that did not end by its rules. Without two passes nobody has counted the board
    /// under the rules, so a claimed count is no end.
    pub(crate) fn stopped(self) -> EndReason {
        match self {
            SgfResult::Resignation(_) => EndReason::Resign,
            SgfResult::Time(_) | SgfResult::Forfeit(_) => EndReason::Forfeit,
            SgfResult::Count { .. } | SgfResult::Won(_) | SgfResult::Void | SgfResult::Unknown => EndReason::Unfinished,
        }
    }
}

/// The text, or as much of its beginning as is kept.
pub(crate) fn first_words(text: &str) -> String {
    text[..text.floor_char_boundary(WORDS)].to_owned()
}
