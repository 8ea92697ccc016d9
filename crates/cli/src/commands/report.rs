//! `tengen report`: writes one HTML page about a store or several.

use std::path::PathBuf;

use tengen_report::{ComparedRun, Refresh, write_comparison, write_report};
use tengen_store::{Create, Store};

use crate::output::{json, result, say, usage};

/// Write a self-contained HTML page about a store: curves, verdicts, costs and replayable games
///
/// For the folder of a match or a tournament, the page has the result. With several stores, it has the losses, ratings,
/// and gates of all runs on common axes, and how their configurations differ. `tengen serve` shows all of these live.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen report --store data/runs/demo
  tengen report --store data/runs/a --store data/runs/b --out compared.html")]
pub(crate) struct Args {
    /// The store: a folder or an address; repeat it to compare runs
    #[arg(long, value_name = "STORE", required = true)]
    store: Vec<String>,
    /// The page to write [default: report.html in the store]
    #[arg(long, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Print what was written as one JSON object
    #[arg(long)]
    json: bool,
}

/// Writes the page and prints where it is.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let [location] = args.store.as_slice() else {
        return compare(&args);
    };
    let store = Store::open(location, Create::Never)?;
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

/// Writes a page about several runs.
fn compare(args: &Args) -> anyhow::Result<()> {
    let out = args
        .out
        .as_ref()
        .ok_or_else(|| usage("several stores have no place for the page: name it with --out"))?;
    if let Some(twice) = args
        .store
        .iter()
        .enumerate()
        .find(|(at, store)| args.store[..*at].contains(store))
    {
        return Err(usage(format!("--store {} is given twice", twice.1)));
    }
    let read = |location: &String| ComparedRun::read(location, &Store::open(location, Create::Never)?);
    let runs = args.store.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    write_comparison(&runs, out)?;
    match args.json {
        true => json(&serde_json::json!({"path": out, "runs": args.store})),
        false => {
            result(out.display().to_string());
            Ok(())
        }
    }
}
