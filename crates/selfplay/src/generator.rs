//! Self-play that goes on for as long as it is wanted, on several threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;
use tengen_rules::SettingError;
use tengen_search::PredictError;
use thiserror::Error;

use crate::config::{SelfPlayConfig, Settings};
use crate::counters::{CounterValues, Counters};
use crate::game::RunIdentity;
use crate::gate::Gate;
use crate::group::{FinishedGame, Group, GroupSetup};
use crate::model::ModelUpdate;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::worker::{Shared, Worker, WorkerEnd};

/// How a [`Generator`] is laid out.
#[derive(Clone, Debug)]
pub struct GeneratorSetup {
    /// What all games have in common.
    pub run: RunIdentity,
    /// A number that no earlier start of the same run had; it keeps the games of different starts apart, also after a
    /// crash that left no snapshot.
    pub session: u64,
    /// Worker threads, each with a predictor of its own.
    pub threads: usize,
    /// Groups per worker; more than one only pays where one group can be prepared while another is on a device.
    pub groups_per_thread: usize,
    /// Finished games that may wait to be received before workers wait too.
    pub channel_capacity: usize,
    /// The bound on positions; [`Gate::open`] for none.
    pub first_limit: u64,
}

/// Worker threads that play without end. Dropping it stops them and loses their games in flight;
/// [`stop`](Self::stop) keeps them.
pub struct Generator {
    shared: Arc<Shared>,
    games: Receiver<FinishedGame>,
    workers: Vec<JoinHandle<WorkerEnd>>,
}

/// What is left when a [`Generator`] has been stopped.
#[derive(Debug)]
pub struct Stopped {
    /// Finished games that were not received yet.
    pub games: Vec<FinishedGame>,
    /// The games in flight.
    pub snapshot: Snapshot,
    /// Why workers stopped by themselves, if one did.
    pub result: Result<(), GeneratorError>,
}

/// Why self-play cannot begin or go on.
#[derive(Debug, Error)]
pub enum GeneratorError {
    /// A setting cannot be used.
    #[error(transparent)]
    Config(#[from] SettingError),
    /// The games in flight of the last stop cannot be gone on with.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The network failed in a worker.
    #[error("self-play worker {worker} stopped: {error}")]
    Predict {
        /// The worker's number.
        worker: usize,
        /// What the predictor said.
        error: PredictError,
    },
    /// A worker broke down; its games in flight are lost.
    #[error("self-play worker {worker} broke down: {message}")]
    Panicked {
        /// The worker's number.
        worker: usize,
        /// The panic's message.
        message: String,
    },
    /// A thread could not be started.
    #[error("starting self-play worker {worker}: {error}")]
    Spawn {
        /// The worker's number.
        worker: usize,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Generator {
    /// Starts the workers with this model, going on with the games of `in_flight` first.
    ///
    /// The number of threads and groups may differ from that of the start that left the snapshot: its games are dealt
    /// out to the groups there are.
    ///
    /// # Errors
    /// [`GeneratorError::Config`], [`GeneratorError::Snapshot`], [`GeneratorError::Spawn`]. A network that cannot be
    /// made is told by [`stop`](Self::stop), like any later failure.
    pub fn start(
        config: &SelfPlayConfig,
        setup: GeneratorSetup,
        model: ModelUpdate,
        in_flight: Option<&Snapshot>,
    ) -> Result<Self, GeneratorError> {
        let settings = Arc::new(Settings::for_rules(config, setup.run.rules)?);
        let counters = Arc::new(Counters::new());
        let threads = setup.threads.max(1);
        let mut groups: Vec<Group> = (0..threads * setup.groups_per_thread.max(1))
            .map(|number| {
                let setup = GroupSetup {
                    run: setup.run.clone(),
                    session: setup.session,
                    number: number as u64,
                    quota: None,
                };
                Group::with_settings(settings.clone(), setup, model.clone(), counters.clone())
            })
            .collect();
        deal_out(in_flight, &mut groups)?;
        let shared = Arc::new(Shared::new(model, Gate::until(setup.first_limit), counters));
        let (sender, games) = crossbeam_channel::bounded(setup.channel_capacity.max(1));
        let mut generator = Self {
            shared,
            games,
            workers: Vec::new(),
        };
        for number in 0..threads {
            let rest = groups.split_off(groups.len() / (threads - number));
            let own = std::mem::replace(&mut groups, rest);
            let worker = Worker {
                number,
                groups: own,
                shared: generator.shared.clone(),
                games: sender.clone(),
            };
            let thread = std::thread::Builder::new().name(format!("selfplay-{number}"));
            let handle = thread
                .spawn(move || worker.run())
                .map_err(|error| GeneratorError::Spawn { worker: number, error })?;
            generator.workers.push(handle);
        }
        Ok(generator)
    }

    /// The finished games, as they come. It disconnects when all workers have ended, also by an error that
    /// [`stop`](Self::stop) then tells.
    pub fn games(&self) -> &Receiver<FinishedGame> {
        &self.games
    }

    /// Has all workers play with this model from their next step on; games in flight go on.
    pub fn set_model(&self, model: ModelUpdate) {
        self.shared.set_model(model);
    }

    /// The gate that bounds how far self-play may run ahead.
    pub fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    /// What was done since the start.
    pub fn counters(&self) -> CounterValues {
        self.shared.counters.values()
    }

    /// Whether the workers were stopped or stopped by themselves.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Stops the workers after their present step and gives everything back that is not received yet.
    pub fn stop(mut self) -> Stopped {
        self.shared.stop();
        let mut stopped = Stopped {
            games: Vec::new(),
            snapshot: Snapshot::new(Vec::new()),
            result: Ok(()),
        };
        for (worker, handle) in std::mem::take(&mut self.workers).into_iter().enumerate() {
            let error = match handle.join() {
                Ok(end) => {
                    stopped.snapshot.groups.extend(end.groups);
                    stopped.games.extend(end.games);
                    end.error.map(|error| GeneratorError::Predict { worker, error })
                }
                Err(panic) => Some(GeneratorError::Panicked {
                    worker,
                    message: panic_message(&*panic),
                }),
            };
            if let (Some(error), Ok(())) = (error, &stopped.result) {
                stopped.result = Err(error);
            }
        }
        stopped.games.extend(self.games.try_iter());
        stopped
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.shared.stop();
        for worker in self.workers.drain(..) {
            // What a worker died of was asked for by nobody: `stop` was not called.
            drop(worker.join());
        }
    }
}

/// Gives the games in flight to the groups in turn.
fn deal_out(in_flight: Option<&Snapshot>, groups: &mut [Group]) -> Result<(), SnapshotError> {
    let games = in_flight
        .into_iter()
        .flat_map(|snapshot| &snapshot.groups)
        .flat_map(|group| &group.games);
    let count = groups.len();
    for (number, game) in games.enumerate() {
        groups[number % count].adopt(std::slice::from_ref(game))?;
    }
    Ok(())
}

/// The message of a panic, where it has one.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
