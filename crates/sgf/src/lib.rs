//! SGF, the standard text format for Go games: from bytes to text, to trees, to games of Go, and back.
//!
//! | step | type | reads | knows |
//! |---|---|---|---|
//! | text | [`SgfText`] | bytes in any encoding | byte order marks, `CA`, guessing |
//! | tree | [`SgfTree`] | text | nodes, variations, properties, escapes; nothing about Go |
//! | game | [`SgfGame`] | the main line of a tree | boards up to 19x19, setup stones, turns, players, dates, results |
//! | record | [`write_sgf`] | – | how our own games are written |
//!
//! Nothing here recurses, so deep nesting is harmless. Text is decoded before it is parsed because the second byte of a
//! multi-byte character may look like `]` or `\`.

mod encoding;
mod error;
mod game;
mod parse;
mod record;
mod tree;
mod value;

pub use encoding::SgfText;
pub use error::{SgfError, SgfPlace};
pub use game::{SgfGame, SgfGames, read_sgf, read_sgf_bytes};
pub use parse::{SgfTrees, no_game, parse_sgf};
pub use record::{Ruling, date_text, write_sgf, write_sgf_collection, write_sgf_ruled};
pub use tengen_records::SgfResult;
pub use tree::{SgfNode, SgfNodeId, SgfProperty, SgfTree};
pub use value::{SgfPoint, SgfValue};
