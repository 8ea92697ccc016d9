//! `tengen report`: one HTML page about a store.

use std::path::PathBuf;

use tengen_report::{Refresh, write_report};
use tengen_store::{Create, Store};

use crate::output::{json, result, say, usage};

/// Write a self-contained HTML page about a store: curves, verdicts, costs and replayable games
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store: a folder
    #[arg(long, value_name = "DIR")]
    store: String,
    /// The page to write [default: report.html in the store]
    #[arg(long, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Print what was written as one JSON object
    #[arg(long)]
    json: bool,
}

/// Writes the page and prints where it is.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let inside = || store.local_path().map(|folder| folder.join("report.html"));
    let out = args
        .out
        .or_else(inside)
        .ok_or_else(|| usage("this store is not a folder; use --out to say where to write the page"))?;
    let summary = write_report(&store, &out, Refresh::Never)?;
    for problem in &summary.problems {
        say(format!("warning: {problem}"));
    }
    if args.json {
        return json(&summary);
    }
    result(summary.path.display().to_string());
    Ok(())
}
