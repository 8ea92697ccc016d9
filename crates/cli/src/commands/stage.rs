//! What the single stages of a run, each a process of its own, have in common.

use crate::config::RunConfig;
use crate::players::DeviceArgs;
use crate::run::Opened;
use std::path::PathBuf;

/// Which run a stage works for.
#[derive(clap::Args)]
pub(crate) struct StageArgs {
    /// The run's folder
    #[arg(long, value_name = "DIR")]
    store: String,
    /// Begin the run with this configuration, or go on under it; without it the store's own counts
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override a value of --config; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "config")]
    overrides: Vec<String>,
    #[command(flatten)]
    device: DeviceArgs,
}

impl StageArgs {
    /// Opens the run, beginning it where there is none and a configuration is given.
    pub(crate) fn open(&self) -> anyhow::Result<Opened> {
        let run = match &self.config {
            Some(path) => Opened::open(&RunConfig::load(path, &self.overrides)?, &self.store, &self.device)?,
            None => Opened::existing(&self.store, &self.device)?,
        };
        run.first_model()?;
        Ok(run)
    }
}
