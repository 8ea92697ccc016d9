//! What the single stages of a run, each a process of its own, have in common.

use crate::config::RunConfig;
use crate::players::DeviceArgs;
use crate::run::Opened;
use std::path::PathBuf;

/// Which run a stage works for.
#[derive(clap::Args)]
pub(crate) struct StageArgs {
    /// The run's store: a folder or an address
    #[arg(long, value_name = "DIR")]
    store: String,
    /// Begin the run with this configuration, or go on under it; without it the store's own counts
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override a value of --config; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "config")]
    overrides: Vec<String>,
    /// Local folder for what is not in the store: games that wait while it is away; metrics, where it is no folder
    /// [default: a folder of its own below ~/.local/state/tengen]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgs,
}

impl StageArgs {
    /// Opens the run, beginning it where there is none and a configuration is given.
    pub(crate) fn open(&self) -> anyhow::Result<Opened> {
        let scratch = self.scratch.as_deref();
        let run = match &self.config {
            Some(path) => {
                let config = RunConfig::load(path, &self.overrides)?;
                Opened::open(&config, &self.store, &self.device, scratch)?
            }
            None => Opened::existing(&self.store, &self.device, scratch)?,
        };
        run.first_model()?;
        Ok(run)
    }
}
