//! The file name of a shard: when and by which worker it was written, how much it holds, and the hash of its bytes.

use std::fmt;
use std::str::FromStr;

use tengen_model::sha256_hex;
use tengen_records::GameRecord;

/// Characters allowed in the names of workers and matches besides letters and digits.
const NAME_MARKS: &str = "._-";

/// Longest name of a worker or a match, in bytes.
const LONGEST_NAME: usize = 80;

/// The parts of a shard's file name: `<utc ms>-<worker>-<seq>-<games>g-<positions>p-<hash16>`.
///
/// Names sort by creation time, then worker, then sequence number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardName {
    /// When the shard was created, milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// The worker that wrote it: letters, digits, `.`, `_`, `-`.
    pub worker: String,
    /// Number of the shard within its worker.
    pub sequence: u64,
    /// Number of games in the shard.
    pub games: u64,
    /// Number of positions in the shard, which is the number of plies.
    pub positions: u64,
    /// First 16 hexadecimal digits of the SHA-256 of the file's bytes.
    pub hash16: String,
}

/// A file name is not that of a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a shard name such as 1700000000000-worker-0-12g-340p-0123456789abcdef, found {found:?}: {problem}")]
pub struct ShardNameError {
    /// The rejected name.
    pub found: String,
    /// Which part of the name is wrong.
    pub problem: &'static str,
}

impl ShardName {
    /// The name of a shard with these games and bytes.
    ///
    /// # Errors
    /// If the worker name is empty, too long, or contains characters that are not allowed in file names.
    pub fn new(
        created_ms: u64,
        worker: &str,
        sequence: u64,
        games: &[GameRecord],
        bytes: &[u8],
    ) -> Result<ShardName, ShardNameError> {
        if !is_plain_name(worker) {
            let problem = "a worker name may contain only letters, digits, '.', '_' and '-'";
            return Err(ShardNameError {
                found: worker.to_owned(),
                problem,
            });
        }
        Ok(ShardName {
            created_ms,
            worker: worker.to_owned(),
            sequence,
            games: games.len() as u64,
            positions: games.iter().map(|game| game.plies.len() as u64).sum(),
            hash16: sha256_hex(bytes)[..16].to_owned(),
        })
    }
}

impl fmt::Display for ShardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShardName {
            created_ms,
            worker,
            sequence,
            games,
            positions,
            hash16,
        } = self;
        write!(f, "{created_ms}-{worker}-{sequence}-{games}g-{positions}p-{hash16}")
    }
}

impl FromStr for ShardName {
    type Err = ShardNameError;

    fn from_str(text: &str) -> Result<ShardName, ShardNameError> {
        let wrong = |problem| ShardNameError {
            found: text.to_owned(),
            problem,
        };
        let (time, rest) = text.split_once('-').ok_or_else(|| wrong("it contains no '-'"))?;
        let mut parts = rest.rsplitn(5, '-');
        let mut part = || parts.next().ok_or_else(|| wrong("it has too few parts"));
        let (hash16, positions, games, sequence, worker) = (part()?, part()?, part()?, part()?, part()?);
        let number = |text: &str, problem| digits(text).ok_or_else(|| wrong(problem));
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if hash16.len() != 16 || !hash16.chars().all(is_hex) {
            return Err(wrong("the hash is not 16 lowercase hexadecimal digits"));
        }
        if !is_plain_name(worker) {
            return Err(wrong("the worker name contains characters that are not allowed"));
        }
        Ok(ShardName {
            created_ms: number(time, "the creation time is not a number")?,
            worker: worker.to_owned(),
            sequence: number(sequence, "the sequence number is not a number")?,
            games: number(
                games.strip_suffix('g').unwrap_or(""),
                "the game count is not a number followed by 'g'",
            )?,
            positions: number(
                positions.strip_suffix('p').unwrap_or(""),
                "the position count is not a number followed by 'p'",
            )?,
            hash16: hash16.to_owned(),
        })
    }
}

/// Parses a number in the form `Display` writes it: digits without leading zeros.
fn digits(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Whether a text can be part of file names in every kind of store.
pub fn is_plain_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || NAME_MARKS.contains(c);
    (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('.')
}
