//! The source of an imported game and the claims of its file.

use crate::record::EndReason;
use crate::sgf::{SgfGame, SgfResult};

/// Maximum length of a text kept from a file, in bytes. Names and events are shorter, but broken files may hold
/// megabytes.
const MAX_TEXT_BYTES: usize = 4096;

/// The file that a game was imported from and what it claims, limited to the first 4,096 bytes of each text. None of
/// this was checked; checked facts are in the record itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the file; for an archive, including the name inside it.
    pub file: String,
    /// Number of the game in the file, counted from 1.
    pub game: u32,
    /// The claimed result.
    pub result: Option<String>,
    /// The claimed komi.
    pub komi: Option<String>,
    /// The claimed rules.
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
}

impl Origin {
    /// Collects what a file says about a game.
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

    /// The claimed result, parsed.
    pub fn claim(&self) -> SgfResult {
        self.result.as_deref().map_or(SgfResult::Unknown, SgfResult::parse)
    }
}

impl SgfResult {
    /// How a game stopped that has this claimed result and did not end under its rules. Without two passes the board
    /// was not counted under the rules, so a claimed score does not count as an end.
    pub(crate) fn stopped(self) -> EndReason {
        match self {
            SgfResult::Resignation(_) => EndReason::Resign,
            SgfResult::Time(_) | SgfResult::Forfeit(_) => EndReason::Forfeit,
            SgfResult::Count { .. } | SgfResult::Won(_) | SgfResult::Void | SgfResult::Unknown => EndReason::Unfinished,
        }
    }
}

/// The text, truncated to the length that is kept.
pub(crate) fn first_words(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned()
}
