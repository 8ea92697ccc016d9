//! `tengen rules verify`: compares the rules core with facts that other programs computed.

use std::path::PathBuf;

use anyhow::bail;
use serde_json::json;

use tengen_facts::{OracleReport, check_oracle_file};

use crate::output;

/// Check the rules core against files of facts computed by other programs
///
/// Reads two formats, plain or gzip: a JSON object of counts, cases and games (tt-facts), and lines of JSON with one
/// game each and hashes of all legal moves. Prints how many facts of each kind agree and what was skipped. Exits with 1
/// if any fact disagrees, and names the first hundred of each file.
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

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let mut reports = Vec::new();
    for path in &args.files {
        let report = check_oracle_file(path)?;
        report_skipped(path, &report);
        reports.push((path, report));
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
    Ok(())
}

/// Reports skipped facts, so that they do not pass as checked.
fn report_skipped(path: &std::path::Path, report: &OracleReport) {
    for (reason, count) in &report.skipped {
        let facts = output::counted(*count, "fact");
        output::say(format!("SKIPPED in {}: {facts}: {reason}", path.display()));
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
    let checked = output::counted(report.checked, "fact");
    let mismatches = output::thousands(report.mismatches);
    output::result(format!("  {checked} checked, mismatches: {mismatches}"));
}
