//! `tengen rules verify`: facts that other programs computed, held against the rules core.

use crate::output;
use anyhow::bail;
use serde_json::json;
use std::path::PathBuf;
use tengen_facts::{OracleReport, check_oracle_file};

/// Check the rules core against files of facts that other programs computed
///
/// Reads two formats, plain or gzip: a JSON object of counts, cases and games (tt-facts), and lines of JSON with one
/// game each and hashes of all legal moves. Prints how many facts of each kind agree and what was skipped; exits with
/// 1 at any mismatch and names the first.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen rules verify data/suites/tt-facts.json
  tengen rules verify data/suites/*.json* --json")]
pub(crate) struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks every file.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let mut reports = Vec::new();
    for path in &args.files {
        let report = check_oracle_file(path)?;
        tell_skipped(path, &report);
        reports.push((path, report));
    }
    let mismatches: u64 = reports.iter().map(|(_, report)| report.mismatches).sum();
    match args.json {
        true => print_json(&reports, mismatches)?,
        false => reports.iter().for_each(|(path, report)| print(path, report)),
    }
    let first = reports
        .iter()
        .find_map(|(path, report)| Some((path, report.first_mismatch.as_ref()?)));
    match first {
        None if mismatches == 0 => Ok(()),
        Some((path, first)) => bail!(
            "{mismatches} facts do not agree; the first is in {}: {first}",
            path.display()
        ),
        None => bail!("{mismatches} facts do not agree"),
    }
}

/// What was not checked must not pass for checked.
fn tell_skipped(path: &std::path::Path, report: &OracleReport) {
    for (reason, count) in &report.skipped {
        output::say(format!("SKIPPED in {}: {count} facts: {reason}", path.display()));
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

fn print(path: &std::path::Path, report: &OracleReport) {
    output::result(format!("{}:", path.display()));
    for (kind, count) in &report.checked_by_kind {
        output::result(format!("  {kind:<32} {:>10}", output::thousands(*count)));
    }
    let (checked, wrong) = (output::thousands(report.checked), report.mismatches);
    output::result(format!("  {checked} facts checked, {wrong} do not agree"));
}
