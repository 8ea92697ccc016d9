//! `tengen train`: trains on a store's games.

use indicatif::ProgressBar;
use serde::Serialize;

use tengen_fleet::{Goal, learn};
use tengen_run::Ranks;
use tengen_samples::CachePlace;

use crate::commands::stage::StageArgs;
use crate::interrupt::Interrupt;
use crate::output::{bar, counted, spinner, thousands};

/// Train on the store's games and publish the result as a model
///
/// Resumes from the store's newest checkpoint. Without --steps, trains until the configuration's reuse ratio is reached
/// for the available games.
///
/// With --follow, the command is the trainer of workers that play at the same time, on this machine or others: it
/// publishes weights for them and candidates for the gate, and ends when the configuration's budget is spent. A second
/// trainer stands by and takes over when the first is gone. When a signal stops the trainer, it writes a checkpoint and
/// exits with 0.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen train --store data/runs/five --steps 1000
  tengen train --store data/runs/five --follow
  tengen train --store data/runs/five --steps 1000 --cache /scratch

Run it with --follow alongside `tengen selfplay --follow` and `tengen gate
--follow` in other processes or on other machines with the same store. --cache
keeps the unpacked games on another disk. Processes that torchrun or srun
starts train one network together, each on a part of every batch.")]
pub(crate) struct Args {
    #[command(flatten)]
    stage: StageArgs,
    /// Number of steps to train, regardless of the reuse ratio
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "follow")]
    steps: Option<u64>,
    /// Train for workers until the run's budget is spent
    #[arg(long)]
    follow: bool,
    /// Where this machine keeps the unpacked games of the window: `auto` (STORE/cache, or the temp folder if the store
    /// is not a local folder), `memory`, or a folder; overrides the configuration's `samples.cache`
    #[arg(long, value_name = "PLACE")]
    cache: Option<CachePlace>,
    /// Print what was done as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// The command's JSON result.
#[derive(Serialize)]
struct Done {
    steps: u64,
    steps_made: u64,
    samples_per_second: f64,
    total_loss: Option<f64>,
    policy_loss: Option<f64>,
    value_loss: Option<f64>,
    margin_loss: Option<f64>,
    ownership_loss: Option<f64>,
    model: Option<String>,
    /// Whether the run's budget is spent; only a trainer of workers heeds it.
    finished: bool,
}

/// Trains until the requested steps are done, the games are used up, or the user stops it.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen("Stopping after writing a checkpoint…")?;
    args.stage.on_one_device()?;
    let ranks = Ranks::meet()?;
    let is_first = ranks.as_ref().is_none_or(|ranks| ranks.is_first());
    let mut run = Ranks::open(ranks, || match args.follow {
        true => args.stage.open_patiently(&interrupt),
        false => args.stage.open(&interrupt),
    })?;
    if let Some(cache) = args.cache {
        run.config.samples.cache = cache;
        run.config.samples.validate()?;
    }
    let goal = Goal {
        steps: args.steps,
        follow: args.follow,
    };
    let mut bar = None;
    let learned = learn(&mut run, goal, &mut |losses| match losses {
        Some(losses) if is_first => {
            let bar = bar.get_or_insert_with(|| progress(args.steps));
            bar.inc(1);
            bar.set_message(format!("loss {:.3}", losses.total));
        }
        Some(_) => {}
        None => bar.iter().for_each(ProgressBar::finish_and_clear),
    })?;
    let losses = learned.losses;
    let done = Done {
        steps: learned.steps,
        steps_made: learned.made,
        samples_per_second: learned.samples_per_second,
        total_loss: losses.map(|losses| losses.total),
        policy_loss: losses.map(|losses| losses.policy),
        value_loss: losses.map(|losses| losses.value),
        margin_loss: losses.map(|losses| losses.margin),
        ownership_loss: losses.map(|losses| losses.ownership),
        model: learned.model,
        finished: learned.finished,
    };
    if is_first {
        print(&done, args.json)?;
    }
    match learned.stopped && !args.follow {
        true => interrupt.outcome(),
        false => Ok(()),
    }
}

fn print(done: &Done, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return crate::output::json(done);
    }
    let loss = done
        .total_loss
        .map_or("no steps".to_owned(), |loss| format!("loss {loss:.3}"));
    let model = done.model.as_deref().unwrap_or("none");
    crate::output::result(format!(
        "{} trained, {} in total, {loss}, {} samples/s; new model: {model}",
        counted(done.steps_made, "step"),
        thousands(done.steps),
        thousands(done.samples_per_second as u64)
    ));
    Ok(())
}

fn progress(steps: Option<u64>) -> ProgressBar {
    match steps {
        Some(steps) => bar(
            steps,
            "[{bar:24}] {human_pos}/{human_len} steps, {eta} left, {wide_msg}",
        ),
        None => spinner("{spinner} {human_pos} steps, {per_sec}, {wide_msg}"),
    }
}
