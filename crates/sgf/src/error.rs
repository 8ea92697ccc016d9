//! Errors in SGF text and their positions.

use std::fmt;

/// A position in a text.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SgfPlace {
    /// Line, counted from 1; a carriage return, a line feed or both end a line.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

impl SgfPlace {
    /// The start of a text.
    pub const START: SgfPlace = SgfPlace { line: 1, column: 1 };
}

impl fmt::Display for SgfPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A text is not SGF, or not a game of Go on a board up to 19x19.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct SgfError {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// What was expected and what was found.
    pub problem: String,
    /// Number of the turn with the error, counted from 1, if the error concerns a turn.
    pub turn: Option<usize>,
}

impl SgfError {
    /// What is wrong, and where.
    pub fn new(place: SgfPlace, problem: impl Into<String>) -> SgfError {
        SgfError {
            line: place.line as usize,
            column: place.column as usize,
            problem: problem.into(),
            turn: None,
        }
    }

    /// The same error, at this turn of the game.
    pub fn of_turn(self, turn: usize) -> SgfError {
        SgfError {
            turn: Some(turn),
            ..self
        }
    }

    /// The position of the error.
    pub fn place(&self) -> SgfPlace {
        SgfPlace {
            line: self.line as u32,
            column: self.column as u32,
        }
    }
}

/// The start of a text found in a file, shortened for a message.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
