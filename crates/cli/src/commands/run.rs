//! `tengen run`: the whole loop on one machine.

use crate::config::RunConfig;
use crate::interrupt::Interrupt;
use crate::players::DeviceArgs;
use crate::run;
use std::path::PathBuf;

/// Train a network from zero: self-play, training and gate side by side, until the budget is spent
///
/// Everything the run makes goes into its store. The same command again goes on where the last one stopped, also after
/// kill -9. Ctrl-C once ends cleanly, twice at once.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen run configs/5x5.toml
  tengen run configs/9x9.toml --store /data/nine --device cuda
  tengen run configs/5x5.toml --set budget.minutes=1 --set training.learning_rate=0.002")]
pub(crate) struct Args {
    /// The experiment's TOML file; configs/ holds examples, and configs/all-keys.toml explains every key
    config: PathBuf,
    /// The run's store, a folder or an address [default: data/runs/NAME, NAME from the config]
    #[arg(long, value_name = "DIR")]
    store: Option<String>,
    /// Override a config value; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Local folder for what is not in the store: games that wait while it is away; metrics and report, where it is no
    /// folder [default: a folder of its own below ~/.local/state/tengen]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print the final summary as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Runs until the budget is spent or somebody stops it.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let config = RunConfig::load(&args.config, &args.overrides)?;
    let location = args.store.unwrap_or_else(|| format!("data/runs/{}", config.name));
    let interrupt = Interrupt::listen("Stopping: publishing games and writing a checkpoint…")?;
    let again = std::env::args().collect::<Vec<_>>().join(" ");
    let summary = run::run(&config, &location, &args.device, args.scratch.as_deref(), &interrupt)?;
    match summary {
        Some(summary) if args.json => crate::output::json(&summary),
        Some(summary) => {
            crate::output::result(summary.in_words());
            Ok(())
        }
        None => {
            crate::output::say(format!("Stopped. To go on: {again}"));
            Ok(())
        }
    }
}
