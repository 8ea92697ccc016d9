//! Writes one self-contained HTML page about a run: curves, verdicts, costs, and games to replay.
//!
//! The page needs no network and no other file. It is written in full and renamed into place, so that a browser never
//! sees a partial page.

mod calibration;
mod comparison;
mod contest;
mod curves;
mod data;
mod fleet;
mod history;
mod live;
pub mod notices;
mod numbers;
mod openings;
mod page;
mod plot;
mod replay;
mod runs;
mod setup;
mod tables;
mod text_table;
mod usage;
mod verdict;

pub use comparison::{Comparison, Curve, Effect};
pub use live::{LiveReport, PLOTS_SCRIPT, STYLE, live_report};
pub use numbers::{counted, duration, elo, elo_estimate, elo_interval, short_model, thousands};
pub use replay::result_in_words;
pub use runs::{ComparedRun, compare_runs, write_comparison};
pub use text_table::{Align, Table};
pub use verdict::{FirstMove, Outcome};

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use tengen_store::Store;

/// Whether the page reloads itself in the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// For a run that is over, or that is not known to be in progress.
    Never,
    /// For a run in progress, whose page is rewritten about every this many seconds.
    Every(u32),
}

/// Where the report was written and what it covers.
#[derive(Debug, Serialize)]
pub struct ReportSummary {
    /// Path of the HTML page.
    pub path: PathBuf,
    /// Size of the page in bytes.
    pub bytes: u64,
    /// Self-play games in the store.
    pub selfplay_games: u64,
    /// Match games in the store.
    pub match_games: u64,
    /// Games in the store from elsewhere: imported, or labelled by another program.
    pub imported_games: u64,
    /// Number of models in the store.
    pub models: u64,
    /// Number of metrics events found in the run's folder.
    pub events: u64,
    /// Games that can be replayed on the page.
    pub shown_games: u64,
    /// What could not be read and is missing from the page.
    pub problems: Vec<String>,
}

/// Writes the page about a store to `out`.
///
/// # Errors
/// If the store's lists cannot be read or the page cannot be written. Single damaged files are not errors; the page and
/// the summary name them.
pub fn write_report(store: &Store, out: &Path, refresh: Refresh) -> anyhow::Result<ReportSummary> {
    let data = data::read(store, data::Replays::Read)?;
    let page = page::render(&data, refresh);
    replace(out, page.html.as_bytes()).with_context(|| format!("cannot write the report {}", out.display()))?;
    Ok(ReportSummary {
        path: out.to_owned(),
        bytes: page.html.len() as u64,
        selfplay_games: data.selfplay.games,
        match_games: data.matches.games,
        imported_games: data.imported.games,
        models: data.models.len() as u64,
        events: data.history.all,
        shown_games: page.games as u64,
        problems: data.problems,
    })
}

/// Writes a file under a temporary name and renames it into place.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let passing = path.with_file_name(name);
    let done = fs::write(&passing, bytes).and_then(|()| fs::rename(&passing, path));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&passing);
    }
    done
}
