//! `tengen train`: trains on a store's games.

use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::ProgressBar;
use serde::Serialize;

use tengen_run::{Clock, Failures, Training};
use tengen_samples::CachePlace;

use crate::commands::stage::StageArgs;
use crate::interrupt::Interrupt;
use crate::output::{bar, counted, spinner, thousands};

/// How often to check the store for new games.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Train on the store's games and publish the result as a model
///
/// Resumes from the store's newest checkpoint. Without --steps, trains until the configuration's reuse ratio is reached
/// for the available games; with --follow, waits for more games and never ends by itself.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen train --store data/runs/five --steps 1000
  tengen train --store data/runs/five --follow
  tengen train --store data/runs/five --steps 1000 --cache /scratch

Run it with --follow alongside `tengen selfplay` in other processes. --cache
keeps the unpacked games on another disk.")]
pub(crate) struct Args {
    #[command(flatten)]
    stage: StageArgs,
    /// Number of steps to train, regardless of the reuse ratio
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "follow")]
    steps: Option<u64>,
    /// Wait for more games; publish a model every `loop.candidate_every_steps`
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
}

/// Trains until the requested steps are done, the games are used up, or the user stops it.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen("Stopping after writing a checkpoint…")?;
    args.stage.on_one_device()?;
    let mut run = args.stage.open(&interrupt)?;
    if let Some(cache) = args.cache {
        run.config.samples.cache = cache;
        run.config.samples.validate()?;
    }
    let _lock = run.lock()?;
    run.be_patient();
    run.say_when_away();
    let (mut training, before) = Training::resume(&run)?;
    training.say_changed_settings()?;
    let clock = Clock::start(before, run.options.device.resolve()?.is_cuda());
    if training.positions() == 0 && !args.follow {
        bail!(
            "{} has no self-play games yet; play some with `tengen selfplay`",
            run.store.location()
        );
    }
    let first = training.steps();
    let last = args.steps.map(|steps| first + steps);
    let bar = progress(args.steps);
    let (began, mut looked) = (Instant::now(), Instant::now());
    let mut generation = run.store.models().list()?.last().map_or(0, |model| model.generation());
    let (mut losses, mut model) = (None, None);
    let failures = Failures::default();
    failures.catch("training", || {
        while !interrupt.requested() && last.is_none_or(|last| training.steps() < last) {
            if args.follow && looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                training.look()?;
            }
            if !(training.may_step() || args.steps.is_some()) {
                if !args.follow {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            let now = training.step(&clock.read(0))?;
            bar.inc(1);
            bar.set_message(format!("loss {:.3}", now.total));
            losses = Some(now);
            if args.follow
                && training
                    .steps()
                    .is_multiple_of(run.config.loop_config.candidate_every_steps)
            {
                generation += 1;
                model = Some(training.publish(generation, &clock.read(0))?.0.to_string());
            }
            training.checkpoint_if_due(|| clock.read(0))?;
        }
        Ok(())
    });
    bar.finish_and_clear();
    let stopped = last.is_none_or(|last| training.steps() < last) && interrupt.requested();
    let made = training.steps() - first;
    if made > 0 {
        failures.catch("writing the last checkpoint", || {
            training.last_checkpoint(&clock.read(0))
        });
    }
    failures.into_result(&*run.watch)?;
    if made > 0 && !args.follow {
        model = Some(training.publish(generation + 1, &clock.read(0))?.0.to_string());
    }
    let done = Done {
        steps: training.steps(),
        steps_made: made,
        samples_per_second: (made * run.config.training.batch as u64) as f64 / began.elapsed().as_secs_f64(),
        total_loss: losses.map(|losses| losses.total),
        policy_loss: losses.map(|losses| losses.policy),
        value_loss: losses.map(|losses| losses.value),
        margin_loss: losses.map(|losses| losses.margin),
        ownership_loss: losses.map(|losses| losses.ownership),
        model,
    };
    print(&done, args.json)?;
    match stopped {
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
