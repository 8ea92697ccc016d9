//! `tengen data prune`: deletes old self-play games to free space.

use serde::Serialize;

use tengen_store::{Create, GameTotals, PrunePlan, Store};

use super::retention::keep_positions;
use crate::output::{self, counted, thousands};

/// Delete whole generations of self-play games that lie far outside the training window
///
/// Without --yes, it only prints what it would delete and how much space that frees. Models, promotions, matches,
/// checkpoints and datasets are never touched, and the newest generation always stays. Deleted games still count, so a
/// run continues as before, even while it is running. If pruning is killed, running the same command again finishes the
/// work.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data prune data/runs/nine
  tengen data prune data/runs/nine --yes
  tengen data prune data/runs/nine --keep-positions 5000000 --yes")]
pub(crate) struct Args {
    /// The store: a folder or an address
    store: String,
    /// Keep generations that have a game among the newest N positions [default: twice the run's window]
    #[arg(long, value_name = "N")]
    keep_positions: Option<u64>,
    /// Delete the games
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The command's JSON result: what was deleted, or would be.
#[derive(Serialize)]
struct Answer {
    done: bool,
    keep_positions: u64,
    generations: Vec<Generation>,
    freed: GameTotals,
    kept: GameTotals,
}

#[derive(Serialize)]
struct Generation {
    generation: u32,
    #[serde(flatten)]
    totals: GameTotals,
}

/// Prunes the store, or prints what it would delete.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let keep_positions = keep_positions(&store, args.keep_positions)?;
    let plan = store.games().plan_prune(keep_positions)?;
    if args.yes {
        store.games().prune(&plan)?;
    }
    if args.json {
        return output::json(&answer(&plan, keep_positions, args.yes));
    }
    print(&plan, keep_positions, args.yes);
    Ok(())
}

fn answer(plan: &PrunePlan, keep_positions: u64, done: bool) -> Answer {
    let generation = |pruned: &tengen_store::PrunedGeneration| Generation {
        generation: pruned.generation,
        totals: pruned.totals,
    };
    Answer {
        done,
        keep_positions,
        generations: plan.generations.iter().map(generation).collect(),
        freed: plan.freed(),
        kept: plan.kept,
    }
}

fn print(plan: &PrunePlan, keep_positions: u64, done: bool) {
    let (Some(first), Some(last)) = (plan.generations.first(), plan.generations.last()) else {
        output::result(format!(
            "nothing to prune: every generation has a game among the newest {} positions, or is the newest",
            thousands(keep_positions)
        ));
        return;
    };
    for pruned in &plan.generations {
        output::result(format!(
            "generation {:>6}: {}",
            pruned.generation,
            totals(pruned.totals)
        ));
    }
    let verb = if done { "freed" } else { "would free" };
    output::result(format!(
        "{verb} {} ({} to {}): {}",
        counted(plan.generations.len() as u64, "generation"),
        first.generation,
        last.generation,
        totals(plan.freed())
    ));
    output::result(format!("remaining: {}", totals(plan.kept)));
    if !done {
        output::say("nothing was changed; use --yes to prune");
    }
}

pub(super) fn totals(totals: GameTotals) -> String {
    format!(
        "{}, {}, {}, {}",
        counted(totals.games, "game"),
        counted(totals.positions, "position"),
        counted(totals.shards, "shard"),
        counted(totals.bytes, "byte")
    )
}
