//! `tengen data verify`: checks the integrity of everything in a store.

use anyhow::bail;

use tengen_store::{Create, Store, VerifyReport};

use crate::output;

/// Check every file of a store: hashes, schema, and every game replayed under its rules
///
/// Reads everything and changes nothing. Prints what was checked, and every bad file with the reason. Exits with 1 if
/// anything is wrong that is not already in quarantine.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data verify data/runs/demo
  tengen data verify data/runs/demo --json")]
pub(crate) struct Args {
    /// The store: a folder
    store: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let bar = output::bar(0, "[{bar:24}] {human_pos}/{human_len} shards, {eta} left");
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
            bail!("the store at {} is damaged; bad files: {wrong}", args.store)
        }
    }
}

fn print(report: &VerifyReport) {
    output::result(format!(
        "checked {} with {} and {} ({} bytes), {}, {}, {}, {}, {}",
        output::counted(report.shards, "shard"),
        output::counted(report.games, "game"),
        output::counted(report.positions, "position"),
        output::thousands(report.bytes),
        output::counted(report.models, "model"),
        output::counted(report.promotions, "promotion"),
        output::counted(report.matches, "match"),
        output::counted(report.checkpoints, "checkpoint"),
        output::counted(report.datasets, "dataset")
    ));
    for damage in &report.damaged {
        let kind = if damage.quarantined { "in quarantine" } else { "WRONG" };
        output::result(format!("{kind}: {}: {}", damage.path, damage.reason));
    }
    for path in &report.strangers {
        output::result(format!("not counted: {path} is unfinished or not part of a store"));
    }
    if report.is_sound() {
        output::result("everything else is intact");
    }
}
