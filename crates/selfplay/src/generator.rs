//! Self-play on several threads that continues until stopped.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;

use crate::config::{SelfPlayConfig, Settings};
use crate::counters::{CounterValues, Counters, Times, WorkerTimes};
use crate::error::GeneratorError;
use crate::game::RunIdentity;
use crate::group::{FinishedGame, Group, GroupSetup};
use crate::lead::Lead;
use crate::model::ModelUpdate;
use crate::rotation::Rotation;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::worker::{Shared, Worker, WorkerEnd};

/// The settings of a [`Generator`].
#[derive(Clone, Debug)]
pub struct GeneratorSetup {
    /// The identity shared by all games.
    pub run: RunIdentity,
    /// A number that no earlier start of the same run had; it tells the games of different starts apart, even after a
    /// crash that left no snapshot.
    pub session: u64,
    /// The number of worker threads, each with its own predictor.
    pub threads: usize,
    /// The number of groups per worker. With a predictor that computes elsewhere, two or more let the worker prepare
    /// one group's batch while another's is in flight.
    pub groups_per_thread: usize,
    /// The number of finished games that may wait to be received before workers block.
    pub channel_capacity: usize,
    /// The initial limit of the [`Lead`], in positions; `u64::MAX` for no limit.
    pub first_limit: u64,
}

/// Worker threads that play games until stopped. Dropping the generator stops them and loses their games in flight;
/// [`stop`](Self::stop) keeps those games.
pub struct Generator {
    shared: Arc<Shared>,
    games: Receiver<FinishedGame>,
    workers: Vec<JoinHandle<WorkerEnd>>,
    /// How each worker spends its time.
    times: Vec<Arc<Times>>,
}

/// What a stopped [`Generator`] leaves behind.
#[derive(Debug)]
pub struct Stopped {
    /// Finished games that have not been received yet.
    pub games: Vec<FinishedGame>,
    /// The games in flight, which a later start can resume.
    pub snapshot: Snapshot,
    /// The error of the first worker that failed, if any.
    pub result: Result<(), GeneratorError>,
}

impl Generator {
    /// Starts the workers with this model, resuming the games in `in_flight` first.
    ///
    /// The number of threads and groups may differ from when the snapshot was taken: its games are distributed among
    /// the groups.
    ///
    /// # Errors
    /// [`GeneratorError::Config`], [`GeneratorError::Snapshot`] or [`GeneratorError::Spawn`]. If a predictor cannot be
    /// created, [`stop`](Self::stop) reports that, like any later failure.
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
        distribute(in_flight, &mut groups)?;
        let shared = Arc::new(Shared::new(model, Lead::with_limit(setup.first_limit), counters));
        let (sender, games) = crossbeam_channel::bounded(setup.channel_capacity.max(1));
        let mut generator = Self {
            shared,
            games,
            workers: Vec::new(),
            times: Vec::new(),
        };
        for number in 0..threads {
            let rest = groups.split_off(groups.len() / (threads - number));
            let own = std::mem::replace(&mut groups, rest);
            let worker = Worker {
                number,
                rotation: Rotation::new(own),
                shared: generator.shared.clone(),
                games: sender.clone(),
            };
            generator.times.push(worker.rotation.times());
            let thread = std::thread::Builder::new().name(format!("selfplay-{number}"));
            let handle = thread
                .spawn(move || worker.run())
                .map_err(|error| GeneratorError::Spawn { worker: number, error })?;
            generator.workers.push(handle);
        }
        Ok(generator)
    }

    /// The receiver of finished games. It disconnects when all workers have ended, possibly because of an error that
    /// [`stop`](Self::stop) then reports.
    pub fn games(&self) -> &Receiver<FinishedGame> {
        &self.games
    }

    /// Makes all workers use this model from their next step on; games in flight continue.
    pub fn set_model(&self, model: ModelUpdate) {
        self.shared.set_model(model);
    }

    /// The limit on how far self-play may run ahead of the trainer.
    pub fn lead(&self) -> &Lead {
        &self.shared.lead
    }

    /// The counters since the start.
    pub fn counters(&self) -> CounterValues {
        self.shared.counters.values()
    }

    /// How each worker has spent its time since the start.
    pub fn worker_times(&self) -> Vec<WorkerTimes> {
        self.times.iter().map(|times| times.values()).collect()
    }

    /// Whether the workers have been stopped or have stopped because of an error.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Stops the workers after their current step and returns everything that has not been received yet.
    pub fn stop(mut self) -> Stopped {
        self.shared.stop();
        let mut stopped = Stopped {
            games: Vec::new(),
            snapshot: Snapshot::new(Vec::new()),
            result: Ok(()),
        };
        for handle in std::mem::take(&mut self.workers) {
            let end = handle.join().expect("a worker catches its own panics");
            stopped.snapshot.groups.extend(end.groups);
            stopped.games.extend(end.games);
            stopped.result = stopped.result.and(end.result);
        }
        stopped.games.extend(self.games.try_iter());
        stopped
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.shared.stop();
        for worker in self.workers.drain(..) {
            // Discard the worker's error, since `stop` was not called to ask for it.
            drop(worker.join());
        }
    }
}

/// Distributes the games in flight among the groups in turn, and what the old groups remember of earlier games.
fn distribute(in_flight: Option<&Snapshot>, groups: &mut [Group]) -> Result<(), SnapshotError> {
    let old = in_flight.map_or(&[][..], |snapshot| &snapshot.groups);
    let count = groups.len();
    for (number, game) in old.iter().flat_map(|group| &group.games).enumerate() {
        groups[number % count].adopt(std::slice::from_ref(game))?;
    }
    for (group, old) in groups.iter_mut().zip(old.iter().cycle()) {
        group.remember(old);
    }
    Ok(())
}
