//! `tengen rules verify`: compares the rules core with facts that other programs computed.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::json;

use tengen_facts::{CheckOptions, CheckProgress, OracleReport, TOO_MANY_GAMES, check_oracle_file_watched};

use crate::interrupt::Interrupt;
use crate::output;

/// Check the rules core against files of facts computed by other programs
///
/// Reads two formats, plain or gzip: a JSON object of counts, cases and games (tt-facts), and lines of JSON with one
/// game each and hashes of all legal moves. Prints how many facts of each kind agree and what was skipped. Exits with 1
/// if any fact disagrees, and names the first hundred of each file.
///
/// The games of a board are counted one by one, so their number is checked only for boards of up to three points, and
/// for 1x4 under positional superko, which has two billion games and takes half a minute. --all-games lifts this bound.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules verify data/suites/tt-facts.json
  tengen rules verify data/suites/*.json* --json")]
pub(crate) struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Count the games of every board in the files: hours for 2x2, far longer for larger boards
    #[arg(long)]
    all_games: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen("Stopping after the facts checked so far…")?;
    let mut reports = Vec::new();
    for path in &args.files {
        let report = check(path, args.all_games, &interrupt)?;
        report_skipped(path, &report);
        reports.push((path, report));
        if interrupt.requested() {
            break;
        }
    }
    let mismatches: u64 = reports.iter().map(|(_, report)| report.mismatches).sum();
    match args.json {
        true => print_json(&reports, mismatches)?,
        false => reports.iter().for_each(|(path, report)| print(path, report)),
    }
    for (path, report) in &reports {
        for mismatch in &report.named_mismatches {
            output::say(format!("MISMATCH in {}: {mismatch}", path.display()));
        }
    }
    if mismatches > 0 {
        bail!("mismatches: {}", output::thousands(mismatches));
    }
    if reports.len() < args.files.len() || reports.iter().any(|(_, report)| report.stopped) {
        output::say("stopped before all facts were checked");
        return interrupt.outcome();
    }
    Ok(())
}

/// Checks one file with a progress bar.
fn check(path: &Path, all_games: bool, interrupt: &Interrupt) -> anyhow::Result<OracleReport> {
    let bar = output::bar(0, "{prefix} [{bar:24}] {percent:>3}%  {elapsed}{wide_msg}");
    bar.set_prefix(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    let report = check_oracle_file_watched(path, CheckOptions { all_games }, &mut |progress| {
        bar.set_length(progress.all as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(counting(progress));
        match interrupt.requested() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    bar.finish_and_clear();
    Ok(report?)
}

/// The games that are being counted at the moment, if any.
fn counting(progress: &CheckProgress) -> String {
    progress.counting.map_or(String::new(), |(size, games, expected)| {
        format!(
            "; counting the games of {size}: {} of {}",
            super::thousands(games),
            super::thousands(expected)
        )
    })
}

/// Reports skipped facts, so that they are not taken for checked ones.
fn report_skipped(path: &Path, report: &OracleReport) {
    for (reason, count) in &report.skipped {
        let facts = output::counted(*count, "fact");
        let hint = match reason == TOO_MANY_GAMES {
            true => " (--all-games counts them)",
            false => "",
        };
        output::say(format!("SKIPPED in {}: {facts}: {reason}{hint}", path.display()));
    }
}

fn print_json(reports: &[(&PathBuf, OracleReport)], mismatches: u64) -> anyhow::Result<()> {
    let files: Vec<_> = reports
        .iter()
        .map(|(path, report)| json!({ "file": path, "report": report }))
        .collect();
    let sum = |count: fn(&OracleReport) -> u64| reports.iter().map(|(_, report)| count(report)).sum::<u64>();
    output::json(&json!({
        "checked": sum(|report| report.checked),
        "skipped": sum(|report| report.skipped.values().sum()),
        "mismatches": mismatches,
        "files": files,
    }))
}

fn print(path: &Path, report: &OracleReport) {
    output::result(format!("{}:", path.display()));
    for (kind, count) in &report.checked_by_kind {
        output::result(format!("  {kind:<32} {:>10}", output::thousands(*count)));
    }
    let checked = output::counted(report.checked, "fact");
    let mismatches = output::thousands(report.mismatches);
    output::result(format!("  {checked} checked, mismatches: {mismatches}"));
}
