//! Checks our rules against facts computed by other programs, in two file formats.
//!
//! - A JSON object with `"format": "tt-facts/1"`: counts of positions, games and turn sequences, best play on tiny
//!   boards, hand-written cases, and random games with their numbers of legal points under eight rule sets.
//! - JSON Lines, one random game per line, with the number and a hash of all legal points before every move, a hash of
//!   all boards, and the strict area score.
//!
//! Both may be compressed with gzip.

mod facts;
mod games;
mod keys;
mod numbers;

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use tengen_rules::Size;

/// The largest number of mismatches that a report names.
pub const MAX_NAMED: usize = 100;

/// Why numbers of games are skipped unless [`CheckOptions::all_games`] is set.
pub const TOO_MANY_GAMES: &str = "games of boards with too many to count in about a minute: of four points or more, \
                                  except 1x4 and 4x1 under positional superko";

/// What to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckOptions {
    /// Whether to count the games of every board, which takes hours on 2x2 and forever on larger boards.
    pub all_games: bool,
}

/// How far the check of a file has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// Entries or lines checked so far.
    pub done: usize,
    /// Entries or lines in the file.
    pub all: usize,
    /// The board whose games are being counted, how many were found so far, and how many the file states.
    pub counting: Option<(Size, u128, u128)>,
}

/// Receives the progress before every entry or line and every few million games that are counted;
/// [`ControlFlow::Break`] ends the check.
pub type Watch<'a> = dyn FnMut(&CheckProgress) -> ControlFlow<()> + 'a;

/// The check of one file.
struct CheckRun<'a> {
    options: CheckOptions,
    progress: CheckProgress,
    watch: &'a mut Watch<'a>,
    stopped: bool,
}

impl CheckRun<'_> {
    fn expect(&mut self, all: usize) {
        self.progress.all = all;
    }

    /// Begins the next entry, unless the check is to end.
    fn next(&mut self) -> ControlFlow<()> {
        if self.stopped {
            return ControlFlow::Break(());
        }
        self.look()?;
        self.progress.done += 1;
        ControlFlow::Continue(())
    }

    fn counting(&mut self, size: Size, games: u128, expected: u128) -> ControlFlow<()> {
        self.progress.counting = Some((size, games, expected));
        let look = self.look();
        self.progress.counting = None;
        look
    }

    fn look(&mut self) -> ControlFlow<()> {
        let look = (self.watch)(&self.progress);
        self.stopped |= look.is_break();
        look
    }
}

/// The result of checking a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OracleReport {
    /// Number of facts checked.
    pub checked: u64,
    /// Number of facts checked, by kind.
    pub checked_by_kind: BTreeMap<String, u64>,
    /// Number of facts that could not be checked, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Number of facts that did not agree.
    pub mismatches: u64,
    /// The first [`MAX_NAMED`] mismatches: location, what was expected, and what was found.
    pub named_mismatches: Vec<String>,
    /// Whether the check was stopped before the end of the file.
    pub stopped: bool,
}

/// Why a file could not be checked at all.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The file could not be read.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// Path of the file.
        path: String,
        /// The error of the underlying system.
        reason: String,
    },
    /// The file is in neither format.
    #[error(
        "{path}: expected JSON with \"format\": \"tt-facts/1\", or one JSON game per line (plain or gzip), \
         found {found}"
    )]
    Format {
        /// Path of the file.
        path: String,
        /// A description of what was found instead.
        found: String,
    },
}

impl OracleReport {
    /// Counts one fact as agreeing or not.
    fn check<T: PartialEq + std::fmt::Debug>(&mut self, kind: &str, place: &str, expected: T, found: T) {
        self.checked += 1;
        *self.checked_by_kind.entry(kind.to_owned()).or_default() += 1;
        if expected != found {
            self.name(|| format!("{place}: {kind}: expected {expected:?}, found {found:?}"));
        }
    }

    fn skip(&mut self, reason: &str) {
        *self.skipped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Counts an entry that cannot be parsed as a mismatch, so that nothing is silently accepted.
    fn unreadable(&mut self, place: &str, problem: &str) {
        self.name(|| format!("{place}: {problem}"));
    }

    /// Counts a mismatch, and names it if not too many have been named.
    fn name(&mut self, mismatch: impl FnOnce() -> String) {
        self.mismatches += 1;
        if self.named_mismatches.len() < MAX_NAMED {
            self.named_mismatches.push(mismatch());
        }
    }
}

/// Checks every fact in a file.
///
/// # Errors
/// [`OracleError`] if the file cannot be read or is in neither format. Facts that do not agree are not an error; they
/// are counted in the report.
pub fn check_oracle_file(path: &Path) -> Result<OracleReport, OracleError> {
    check_oracle_file_watched(path, CheckOptions::default(), &mut |_| ControlFlow::Continue(()))
}

/// Like [`check_oracle_file`] with options, reporting its progress.
///
/// # Errors
/// As [`check_oracle_file`].
pub fn check_oracle_file_watched<'a>(
    path: &Path,
    options: CheckOptions,
    watch: &'a mut Watch<'a>,
) -> Result<OracleReport, OracleError> {
    let name = path.display().to_string();
    let read_error = |error: std::io::Error| OracleError::Read {
        path: name.clone(),
        reason: error.to_string(),
    };
    let bytes = std::fs::read(path).map_err(read_error)?;
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .read_to_string(&mut text)
            .map_err(read_error)?;
    } else {
        text = String::from_utf8(bytes).map_err(|error| OracleError::Format {
            path: name.clone(),
            found: error.to_string(),
        })?;
    }
    let run = CheckRun {
        options,
        progress: CheckProgress {
            done: 0,
            all: 0,
            counting: None,
        },
        watch,
        stopped: false,
    };
    check_text(&text, run).map_err(|found| OracleError::Format { path: name, found })
}

fn check_text(text: &str, mut run: CheckRun<'_>) -> Result<OracleReport, String> {
    let mut report = OracleReport::default();
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value["format"] == "tt-facts/1" => {
            facts::check(&value, &mut report, &mut run);
            report.stopped = run.stopped;
            return Ok(report);
        }
        Ok(value) if value["legal_fnv"].is_null() => return Err("JSON of another kind".to_owned()),
        _ => {}
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    run.expect(lines.clone().count());
    for (number, line) in lines {
        if run.next().is_break() {
            break;
        }
        let game: Value = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        if game["legal_fnv"].is_null() {
            return Err(format!("line {}: JSON of another kind", number + 1));
        }
        games::check(&game, &format!("line {}", number + 1), &mut report);
    }
    report.stopped = run.stopped;
    match run.progress.all {
        0 => Err("nothing".to_owned()),
        _ => Ok(report),
    }
}
