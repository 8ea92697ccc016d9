//! `tengen train`: trains on a run's games, or on games from anywhere.

use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use tengen_evaluator::PlayerSpec;
use tengen_fleet::{Goal, learn};
use tengen_model::PrecisionChoice;
use tengen_run::{Ranks, RunConfig};
use tengen_samples::CachePlace;
use tengen_teach::{Origin, Step};

use crate::commands::stage::StageArgs;
use crate::interrupt::Interrupt;
use crate::output::{bar, result, spinner};

/// What `--dtype` means here, where no games are played.
const DTYPE: &str = "Number format that the network is trained in: fp32, bf16, or auto for bf16 on GPUs and CPUs with \
                     AMX, otherwise fp32 [default: the configuration's training.precision]";

/// Train a network on games: those of a run's store, or those that a file names
///
/// With --store, trains the network of a run on its games and publishes the result as a model. Resumes from the store's
/// newest checkpoint. Without --steps, trains until the configuration's reuse ratio is reached for the available games.
///
/// With --follow, the command is the trainer of workers that play at the same time, on this machine or others: it
/// publishes weights for them and candidates for the gate, and ends when the configuration's budget is spent. A second
/// trainer stands by and takes over when the first is gone. When a signal stops the trainer, it writes a checkpoint and
/// exits with 0.
///
/// With FILE, trains a network on games from anywhere: imported, of other runs, of matches, or with labels, in any
/// mixture. FILE is a configuration whose [[train.from]] names them. The model goes to --out, a folder of its own;
/// `model:DIR` then names it in all other commands, and `tengen run FILE --init model:DIR` goes on with self-play. The
/// same command resumes, even after kill -9. At the end, it shows how well the network predicts games that it was never
/// trained on.
#[derive(clap::Args)]
#[command(
    mut_arg("store", |arg| arg.required(false).required_unless_present("file")),
    mut_arg("dtype", |arg| arg.help(DTYPE)),
    override_usage = "tengen train [OPTIONS] --store <DIR>\n       tengen train [OPTIONS] <FILE> --out <DIR>",
    after_help = "Examples:
  tengen train --store data/runs/five --steps 1000
  tengen train --store data/runs/five --follow
  tengen train --store data/runs/five --steps 1000 --cache /scratch
  tengen data import games/ --store data/mine
  tengen train mine.toml --find-rate
  tengen train mine.toml --out models/mine

Run it with --follow alongside `tengen selfplay --follow` and `tengen gate
--follow` in other processes or on other machines with the same store. --cache
keeps the unpacked games on another disk. Processes that torchrun or srun
starts train one network together, each on a part of every batch.

mine.toml for imported 9x9 games; configs/all-keys.toml explains every key:
  name = \"mine\"
  rules = \"tromp_taylor\"
  network = { blocks = 6, channels = 48 }
  selfplay.boards = [{ size = \"9x9\" }]
  [[train.from]]
  store = \"data/mine\""
)]
pub(crate) struct Args {
    /// A configuration whose [[train.from]] names the games to train on
    #[arg(conflicts_with_all = ["store", "config", "steps", "follow", "scratch"])]
    file: Option<PathBuf>,
    /// Folder for the model and its checkpoints: new, empty, or of the same training
    #[arg(long, value_name = "DIR", requires = "file", required_unless_present_any = ["store", "find_rate", "judge"])]
    out: Option<PathBuf>,
    /// Begin with this model, model:PATH or store:DIR, instead of random weights; it grows if `[network]` is larger
    #[arg(long, value_parser = crate::arguments::origin, value_name = "MODEL", requires = "file")]
    init: Option<PlayerSpec>,
    /// Try learning rates from low to high, print the losses and a suggestion, and write nothing
    #[arg(long, requires = "file", conflicts_with = "out")]
    find_rate: bool,
    /// Train nothing: print how well this model, model:PATH or store:DIR, predicts the held-out games
    #[arg(long, value_name = "MODEL", requires = "file", conflicts_with_all = ["out", "init", "find_rate"])]
    judge: Option<PlayerSpec>,
    #[command(flatten)]
    stage: StageArgs,
    /// Number of steps to train, regardless of the reuse ratio
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "follow")]
    steps: Option<u64>,
    /// Train for workers until the run's budget is spent
    #[arg(long)]
    follow: bool,
    /// Where this machine keeps the unpacked games of the window: `auto` (STORE/cache, or the temp folder if the store
    /// is not a local folder or with FILE), `memory`, or a folder; overrides the configuration's `samples.cache`
    #[arg(long, value_name = "PLACE")]
    cache: Option<CachePlace>,
    /// Print what was done as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Trains until the requested steps are done, the games are used up, or the user stops it.
pub(crate) fn run(mut args: Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen("Stopping after writing a checkpoint…")?;
    args.stage.on_one_device()?;
    let precision = args.stage.take_dtype();
    if let Some(file) = &args.file {
        return on_games(&args, file, precision, &interrupt);
    }
    let ranks = Ranks::meet()?;
    let is_first = ranks.as_ref().is_none_or(|ranks| ranks.is_first());
    let mut run = Ranks::open(ranks, || match args.follow {
        true => args.stage.open_patiently(&interrupt),
        false => args.stage.check_games().and_then(|()| args.stage.open(&interrupt)),
    })?;
    if let Some(cache) = args.cache {
        run.config.samples.cache = cache;
        run.config.samples.validate()?;
    }
    if let Some(precision) = precision {
        run.config.training.precision = precision;
        run.config.training.validate()?;
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
    match args.json {
        _ if !is_first => {}
        true => crate::output::json(&learned.summary())?,
        false => result(learned.in_words()),
    }
    interrupt.outcome_if(learned.stopped && !args.follow)
}

/// Trains on the games that a file names, or tries learning rates or a model on them.
fn on_games(args: &Args, file: &Path, precision: Option<PrecisionChoice>, interrupt: &Interrupt) -> anyhow::Result<()> {
    let mut config = RunConfig::load(file, &args.stage.overrides)?;
    config.samples.cache = args.cache.clone().unwrap_or(config.samples.cache);
    config.samples.validate()?;
    config.training.precision = precision.unwrap_or(config.training.precision);
    config.training.validate()?;
    let setup = args.stage.setup(interrupt);
    let init = args.init.as_ref().map(Origin::load).transpose()?;
    let mut has_model = false;
    let (json, words) = match (&args.out, &args.judge) {
        (Some(out), _) => {
            let taught = tengen_teach::teach(&config, init.as_ref(), out, &setup, &mut step_bar())?;
            has_model = taught.model.is_some();
            (serde_json::to_value(&taught)?, taught.in_words())
        }
        (None, Some(model)) => {
            let held_out = tengen_teach::judge_model(&config, &Origin::load(model)?, &setup)?;
            (serde_json::to_value(held_out)?, held_out.in_words())
        }
        (None, None) => {
            let trial = tengen_teach::find_rate(&config, init.as_ref(), &setup, &mut step_bar())?;
            (serde_json::to_value(&trial)?, trial.in_words())
        }
    };
    match args.json {
        true => crate::output::json(&json)?,
        false => result(words),
    }
    interrupt.outcome_if(interrupt.requested() && !has_model)
}

/// A progress bar for training on games.
pub(crate) fn step_bar() -> impl FnMut(Step) {
    let mut bar = None;
    move |step| {
        let bar: &mut ProgressBar = bar.get_or_insert_with(|| progress(Some(step.of)));
        bar.set_position(step.step);
        bar.set_message(format!("loss {:.3}", step.losses.total));
        if step.step == step.of {
            bar.finish_and_clear();
        }
    }
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
