//! `tengen data merge`: merges small shards into large ones, or several stores into one.

use indicatif::ProgressBar;

use tengen_store::{CompactSettings, Create, Gather, Store};

use super::prune::totals;
use super::retention::keep_positions;
use crate::output::{self, bar, usage};

/// Compact a store's old games into few large shards, or gather the games of several stores
///
/// With one STORE: merges small shards of generations outside the training window, generation by generation. Without
/// --yes, it only prints what it would do. Runs and readers may continue meanwhile. If the merge is killed, no game is
/// lost or counted twice, and running the same command again finishes the work.
///
/// With --into: checks the games of every STORE one by one and copies them into a store that only contains games,
/// without models, match files or a run. A game whose id is already present is skipped. If interrupted, run the same
/// command again to resume. Do not run another merge or import into that store at the same time: a game that both add
/// would be stored twice.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data merge data/runs/nine
  tengen data merge data/runs/nine --yes
  tengen data merge data/runs/nine data/runs/other --into data/games/both")]
pub(crate) struct Args {
    /// The stores: folders or addresses
    #[arg(required = true)]
    stores: Vec<String>,
    /// Copy the games of all STOREs into this store
    #[arg(long, value_name = "STORE")]
    into: Option<String>,
    /// Keep generations that have a game among the newest N positions [default: twice the run's window]
    #[arg(long, value_name = "N", conflicts_with = "into")]
    keep_positions: Option<u64>,
    /// Maximum size of merged shards, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 8, conflicts_with = "into")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1024))]
    shard_mib: u64,
    /// Make the changes
    #[arg(long, conflicts_with = "into")]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    match (&args.into, args.stores.as_slice()) {
        (Some(into), stores) => gather(stores, into, args.json),
        (None, [store]) => compact(&args, store),
        (None, _) => Err(usage("merging several stores needs --into STORE")),
    }
}

fn compact(args: &Args, location: &str) -> anyhow::Result<()> {
    let store = Store::open(location, Create::Never)?;
    let settings = CompactSettings {
        keep_positions: keep_positions(&store, args.keep_positions)?,
        target_bytes: args.shard_mib << 20,
    };
    let report = if args.yes {
        let bar = bar(0, "[{bar:24}] {human_pos}/{human_len} merged shards, {eta} left");
        let mut report = store.games().compact(settings, |done, all| show(&bar, done, all))?;
        bar.finish_and_clear();
        report.deleted_files += store.remove_leftovers()?;
        report
    } else {
        store.games().plan_compact(settings)?
    };
    for path in &report.counted_again {
        output::say(format!(
            "{path} counts again: no note in changes/ named it, and it alone holds its games"
        ));
    }
    for path in &report.uncounted {
        output::say(format!(
            "kept {path}, which does not count: no note in changes/ names it, and it alone holds some of its games"
        ));
    }
    if args.json {
        let mut object = serde_json::to_value(&report)?;
        object["done"] = args.yes.into();
        return output::json(&object);
    }
    let shards = output::counted(report.merged.shards, "shard");
    match (args.yes, report.replaced.shards) {
        (_, 0) => output::result("nothing to merge: no two adjacent small shards outside the window"),
        (true, _) => output::result(format!(
            "merged {} into {shards} of {} bytes in total",
            totals(report.replaced),
            output::thousands(report.merged.bytes)
        )),
        (false, _) => {
            output::result(format!("would merge {} into {shards}", totals(report.replaced)));
            output::say("nothing was changed; use --yes to merge");
        }
    }
    Ok(())
}

fn gather(stores: &[String], into: &str, json: bool) -> anyhow::Result<()> {
    let sources: Vec<Store> = stores
        .iter()
        .map(|location| Store::open(location, Create::Never))
        .collect::<Result<_, _>>()?;
    let target = Store::open(into, Create::Always)?;
    if target.run_info()?.is_some() {
        return Err(usage(format!(
            "{into} is a run store; choose a separate store for the games"
        )));
    }
    let bar = bar(0, "[{bar:24}] {human_pos}/{human_len} shards, {eta} left");
    let mut gather = Gather::new(target.games())?;
    for source in &sources {
        gather.add(source.games(), |done, all| show(&bar, done, all))?;
    }
    bar.finish_and_clear();
    let report = gather.finish();
    for (shard, reason) in &report.damaged {
        output::say(format!("skipped {shard}, which is in quarantine: {reason}"));
    }
    if json {
        return output::json(&report);
    }
    output::result(format!(
        "copied {} into {into}; already present: {}",
        totals(report.copied),
        output::counted(report.repeated_games, "game")
    ));
    Ok(())
}

fn show(bar: &ProgressBar, done: usize, all: usize) {
    bar.set_length(all as u64);
    bar.set_position(done as u64);
}
