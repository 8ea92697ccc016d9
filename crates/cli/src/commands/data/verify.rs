//! `tengen data verify`: is everything in a store what it says it is?

use crate::output;
use anyhow::bail;
use tengen_store::{Create, Store, VerifyReport};

/// Check every file of a store anew: hashes, schema, and every game replayed under its rules
///
/// Reads everything and changes nothing. Prints what was checked and every file that is not what it must be, with
/// the reason. Exits with 1 when something is wrong that is not in quarantine already.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data verify data/runs/demo
  tengen data verify data/runs/demo --json")]
pub(crate) struct Args {
    /// The store: its folder
    store: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks a store.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let bar = output::bars().add(indicatif::ProgressBar::new(0).with_message("shards"));
    let report = store.verify(|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    match args.json {
        true => {
            let mut object = serde_json::to_value(&report)?;
            object["sound"] = report.is_sound().into();
            output::json(&object)?;
        }
        false => print(&report),
    }
    match report.is_sound() {
        true => Ok(()),
        false => {
            let wrong = report.damaged.iter().filter(|damage| !damage.quarantined).count();
            bail!("{wrong} files of the store at {} are not what they must be", args.store)
        }
    }
}

fn print(report: &VerifyReport) {
    output::result(format!(
        "checked {} shards with {} games and {} positions ({} bytes), {} models, {} promotions, {} matches, \
         {} checkpoints, {} datasets",
        output::thousands(report.shards),
        output::thousands(report.games),
        output::thousands(report.positions),
        output::thousands(report.bytes),
        report.models,
        report.promotions,
        report.matches,
        report.checkpoints,
        report.datasets
    ));
    for damage in &report.damaged {
        let kind = if damage.quarantined { "in quarantine" } else { "WRONG" };
        output::result(format!("{kind}: {}: {}", damage.path, damage.reason));
    }
    for path in &report.strangers {
        output::result(format!(
            "not counted: {path} was never finished or is no file of a store"
        ));
    }
    if report.is_sound() {
        output::result("everything else is what it says it is");
    }
}
