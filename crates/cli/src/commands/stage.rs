//! Arguments shared by the stages of a run that can each run as a separate process.

use std::path::PathBuf;
use std::sync::Arc;

use tengen_run::Opened;
use tengen_run::{RunConfig, Setup};

use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::screen::Terminal;

/// The run that a stage works for.
#[derive(clap::Args)]
pub(crate) struct StageArgs {
    /// The run's store: a folder or an address
    #[arg(long, value_name = "DIR")]
    store: String,
    /// Start or continue the run with this configuration [default: the one in the store]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override a value of --config; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "config")]
    overrides: Vec<String>,
    /// Local folder for what is not in the store: games waiting while the store is unreachable, and for stores that are
    /// not folders also metrics [default: a separate folder under ~/.local/state/tengen]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgs,
}

impl StageArgs {
    /// Checks that a stage that computes on one device gets no more.
    ///
    /// # Errors
    /// If several devices are named.
    pub(crate) fn on_one_device(&self) -> anyhow::Result<()> {
        self.device.check_one()
    }

    /// Opens the run, or starts one if there is none and a configuration is given.
    ///
    /// `interrupt` ends the stage cleanly, including calls that wait for an unreachable store.
    pub(crate) fn open(&self, interrupt: &Interrupt) -> anyhow::Result<Opened> {
        let setup = Setup {
            devices: self.device.device,
            dtype: self.device.dtype,
            scratch: self.scratch.clone(),
            watch: Arc::new(Terminal::default()),
            stop: interrupt.flag(),
            ..Setup::default()
        };
        let run = match &self.config {
            Some(path) => {
                let config = RunConfig::load(path, &self.overrides)?;
                Opened::open(&config, &self.store, &setup)?
            }
            None => Opened::existing(&self.store, &setup)?,
        };
        run.first_model()?;
        Ok(run)
    }
}
