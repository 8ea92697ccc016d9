//! The file format of games: a shard is a Parquet file with one row per game.
//!
//! [`encode`] and [`decode`] are the format, [`ShardName`] is the name of such a file, and [`FORMAT`] the version that
//! is written.
//!
//! Deliberately absent: files and folders, and the rules of a game: whoever reads a shard replays its games.

mod decode;
mod encode;
mod name;
mod pages;
mod schema;
mod start;
mod thrift;

pub use decode::{ShardError, decode, decode_bytes, decode_ids};
pub use encode::encode;
pub use name::{ShardName, ShardNameError, is_plain_name};
pub use schema::{FORMAT, FormatVersion, ParseFormatVersionError, item_field};
