//! Arguments shared by the stages of a run that can each run as a separate process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tengen_model::PrecisionChoice;
use tengen_run::{LoopConfig, Opened, Program, RunConfig, Setup};
use tengen_store::StoreError;

use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::output::{duration, say};
use crate::screen::Terminal;

/// The run that a stage works for.
#[derive(clap::Args)]
pub(crate) struct StageArgs {
    /// The run's store: a folder or an address
    #[arg(long, value_name = "DIR", required = true)]
    store: Option<String>,
    /// Start or continue the run with this configuration [default: the one in the store]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override a value of the configuration file, or take it out with KEY=unset; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Local folder for what is not in the store: games waiting while the store is unreachable, and for stores that are
    /// not folders also metrics [default: a separate folder under ~/.local/state/tengen]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgs,
}

impl StageArgs {
    /// Checks, for a stage that computes on one device, that no more are named.
    ///
    /// # Errors
    /// If several devices are named.
    pub(crate) fn on_one_device(&self) -> anyhow::Result<()> {
        self.device.check_one()
    }

    /// Takes the number format that the user names, if any, so that it no longer says how networks play.
    pub(crate) fn take_dtype(&mut self) -> Option<PrecisionChoice> {
        self.device.dtype.take()
    }

    /// Refuses to train on a store without games before anything is written there.
    pub(crate) fn check_games(&self) -> anyhow::Result<()> {
        tengen_fleet::check_games(self.location(), self.config.is_some())
    }

    fn location(&self) -> &str {
        self.store.as_deref().unwrap_or_default()
    }

    /// Where and how the stage works; `interrupt` ends it cleanly.
    pub(crate) fn setup(&self, interrupt: &Interrupt) -> Setup {
        Setup {
            devices: self.device.device,
            dtype: self.device.dtype,
            scratch: self.scratch.clone(),
            program: this_program(),
            watch: Arc::new(Terminal::default()),
            stop: interrupt.flag(),
            ..Setup::default()
        }
    }

    /// Opens the run, or starts one if there is none and a configuration is given.
    ///
    /// `interrupt` ends the stage cleanly, including calls that wait for an unreachable store.
    pub(crate) fn open(&self, interrupt: &Interrupt) -> anyhow::Result<Opened> {
        let setup = self.setup(interrupt);
        let run = match &self.config {
            Some(path) => {
                let config = RunConfig::load(path, &self.overrides)?;
                Opened::open(&config, self.location(), &setup)?
            }
            None if !self.overrides.is_empty() => {
                return Err(crate::output::usage(
                    "--set changes the values of a file: name it with --config",
                ));
            }
            None => Opened::existing(self.location(), &setup)?,
        };
        run.first_model()?;
        Ok(run)
    }

    /// Like [`StageArgs::open`], for a process that nobody looks after: if the store cannot be reached, tries again for
    /// as long as a run would wait. Missing credentials or buckets are errors at once.
    pub(crate) fn open_patiently(&self, interrupt: &Interrupt) -> anyhow::Result<Opened> {
        let patience = Duration::from_secs_f64(LoopConfig::default().patience_seconds);
        let began = Instant::now();
        let mut said = false;
        loop {
            let error = match self.open(interrupt) {
                Err(error) if began.elapsed() < patience && !interrupt.requested() => error,
                opened => return opened,
            };
            match error.downcast_ref::<StoreError>() {
                Some(away) if away.may_pass() && !away.is_setup() => {}
                _ => return Err(error),
            }
            if !said {
                said = true;
                say(format!(
                    "{error:#}; trying again for up to {}",
                    duration(patience.as_secs_f64())
                ));
            }
            std::thread::sleep(Duration::from_secs(2));
        }
    }
}

/// This process: its version, and its command line, quoted for a shell.
pub(crate) fn this_program() -> Program {
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Program {
        version: env!("TENGEN_VERSION").to_owned(),
        command: shlex::try_join(words.iter().map(String::as_str)).expect("arguments contain no NUL"),
    }
}
