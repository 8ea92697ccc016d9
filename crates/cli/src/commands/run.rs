//! `tengen run`: the whole training loop on one machine.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use tengen_evaluator::PlayerSpec;
use tengen_run::{RunConfig, Setup};
use tengen_teach::Origin;

use crate::arguments;
use crate::commands::stage::this_program;
use crate::commands::train::step_bar;
use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::screen::Terminal;

/// Train a network from zero: self-play, training and gating side by side until the budget is spent
///
/// Everything the run produces goes into its store. Run the same command again to resume where it left off, even after
/// kill -9. Ctrl-C stops cleanly; a second Ctrl-C stops at once. Both exit with 130.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen run configs/5x5.toml
  tengen run configs/9x9.toml --store /data/nine --device cuda
  tengen run configs/5x5.toml --set budget.minutes=1 \\
      --set training.learning_rate=0.002
  tengen run configs/9x9.toml --init store:data/runs/7x7")]
pub(crate) struct Args {
    /// The experiment's TOML file; configs/ has examples, and configs/all-keys.toml explains every key
    config: PathBuf,
    /// The run's store: a folder or an address [default: data/runs/NAME, NAME from the config]
    #[arg(long, value_name = "DIR")]
    store: Option<String>,
    /// Override a config value, or take it out with KEY=unset; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Local folder for what is not in the store: games waiting while the store is unreachable, and for stores that are
    /// not folders, the metrics and the report, too [default: a separate folder under ~/.local/state/tengen]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Begin with this model, model:PATH or store:DIR, instead of random weights. A larger `[network]` grows from it;
    /// any other first learns from the games of [[train.from]] or, without any, from those of the model's store
    #[arg(long, visible_alias = "from", value_parser = arguments::origin, value_name = "MODEL")]
    init: Option<PlayerSpec>,
    /// Games of each of the four matches against random and mcts after the run; 0 plays none [default: 4 to 100,
    /// depending on the board and the length of the run]
    #[arg(long, value_name = "N")]
    closing_games: Option<usize>,
    /// Stop cleanly when the process with this id, which started the run, has ended
    #[arg(long, value_name = "PID", hide = true)]
    ends_with: Option<u32>,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print the final summary as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Runs until the budget is spent or the user stops it.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    refuse_ranks()?;
    let config = RunConfig::load(&args.config, &args.overrides)?;
    let location = args.store.unwrap_or_else(|| format!("data/runs/{}", config.name));
    let interrupt = Interrupt::listen("Stopping; games and a checkpoint are saved")?;
    if let Some(parent) = args.ends_with {
        end_with(parent)?;
    }
    let watch = Arc::new(Terminal::default());
    let setup = Setup {
        devices: args.device.device,
        dtype: args.device.dtype,
        scratch: args.scratch,
        closing_games: args.closing_games,
        program: this_program(),
        watch: watch.clone(),
        stop: interrupt.flag(),
        ..Setup::default()
    };
    let may_run = match &args.init {
        Some(init) => tengen_teach::found(&config, &location, &Origin::load(init)?, &setup, &mut step_bar())?,
        None => true,
    };
    if args.init.is_none() && !config.train.from.is_empty() {
        crate::output::say("this run does not use [[train.from]]: only `tengen train FILE` and --init do");
    }
    let summary = match may_run {
        true => tengen_fleet::run_alone(&config, &location, &setup),
        false => Ok(None),
    };
    watch.close();
    let summary = summary?;
    match summary {
        Some(summary) if args.json => {
            let mut object = serde_json::to_value(&summary)?;
            object["store"] = location.into();
            crate::output::json(&object)
        }
        Some(summary) => {
            crate::output::result(summary.in_words(&location));
            Ok(())
        }
        None => {
            crate::output::say(format!("Stopped. To resume: {}", this_program().command));
            interrupt.outcome()
        }
    }
}

/// Refuses to be one of several processes, because each would be a run of its own, all with the same store.
fn refuse_ranks() -> anyhow::Result<()> {
    let Ok(Some(place)) = tengen_run::Place::from_environment() else {
        return Ok(());
    };
    Err(crate::output::usage(format!(
        "`tengen run` is a whole run in one process, but this one is number {} of {} that torchrun or srun started. \
         Start `tengen train --follow` that way instead, with `tengen selfplay --follow` and `tengen gate --follow` \
         beside it (docs/scaling.md), or start `tengen run` once",
        place.meeting.rank + 1,
        place.meeting.ranks
    )))
}

/// Has the system send SIGTERM to this process when its parent ends, even by `kill -9`.
fn end_with(parent: u32) -> anyhow::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::TERM)).context("cannot watch the parent process")?;
    let is_alive = getppid().is_some_and(|id| u32::try_from(id.as_raw_nonzero().get()) == Ok(parent));
    anyhow::ensure!(is_alive, "the process {parent} that started this run has ended");
    Ok(())
}
