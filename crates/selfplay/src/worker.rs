//! One worker thread: its groups, its predictor, its way to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{SendTimeoutError, Sender};
use tengen_search::{PredictError, Predictor};

use crate::counters::Counters;
use crate::gate::Gate;
use crate::generator::GeneratorError;
use crate::group::{FinishedGame, Group};
use crate::model::ModelUpdate;
use crate::panic::catch_panic;
use crate::snapshot::GroupSnapshot;

/// What the workers and their owner share.
pub(crate) struct Shared {
    model: Mutex<Arc<ModelUpdate>>,
    /// Counts the updates, so that a worker notices one without taking the lock.
    version: AtomicU64,
    stop: AtomicBool,
    pub(crate) gate: Gate,
    pub(crate) counters: Arc<Counters>,
}

impl Shared {
    pub(crate) fn new(model: ModelUpdate, gate: Gate, counters: Arc<Counters>) -> Self {
        let model = Mutex::new(Arc::new(model));
        Self {
            model,
            version: AtomicU64::new(1),
            stop: AtomicBool::new(false),
            gate,
            counters,
        }
    }

    pub(crate) fn set_model(&self, model: ModelUpdate) {
        let mut current = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(model);
        self.version.fetch_add(1, Ordering::Release);
    }

    fn model(&self) -> Arc<ModelUpdate> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.gate.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// What a worker leaves behind.
pub(crate) struct WorkerEnd {
    pub(crate) groups: Vec<GroupSnapshot>,
    /// Finished games that found no place in the channel.
    pub(crate) games: Vec<FinishedGame>,
    pub(crate) result: Result<(), GeneratorError>,
}

/// Stops everybody when the worker ends for whatever reason, a panic among them.
struct StopOnDrop<'a>(&'a Shared);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

pub(crate) struct Worker {
    pub(crate) number: usize,
    pub(crate) groups: Vec<Group>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) games: Sender<FinishedGame>,
}

/// The predictor in use and which update it came with.
#[derive(Default)]
struct InUse {
    predictor: Option<Box<dyn Predictor>>,
    model_id: String,
    version: u64,
}

impl Worker {
    /// Plays until told to stop or until the predictor fails or something panics. Its games are kept in any case: a
    /// group that a panic interrupts holds every game as it was after its last move.
    pub(crate) fn run(mut self) -> WorkerEnd {
        let shared = self.shared.clone();
        let _stop = StopOnDrop(&shared);
        let worker = self.number;
        let mut unsent = Vec::new();
        let result = match catch_panic(|| self.play(&mut unsent)) {
            Ok(played) => played.map_err(|error| GeneratorError::Predict { worker, error }),
            Err(message) => Err(GeneratorError::Panicked { worker, message }),
        };
        for group in &mut self.groups {
            unsent.extend(group.take_finished());
        }
        WorkerEnd {
            groups: self.groups.iter().map(Group::snapshot).collect(),
            games: unsent,
            result,
        }
    }

    fn play(&mut self, unsent: &mut Vec<FinishedGame>) -> Result<(), PredictError> {
        let mut in_use = InUse::default();
        loop {
            for number in 0..self.groups.len() {
                let shared = &self.shared;
                shared
                    .gate
                    .pass(|| shared.counters.values().positions, || shared.is_stopped());
                if shared.is_stopped() {
                    return Ok(());
                }
                let predictor = self.current_predictor(&mut in_use)?;
                let finished = self.groups[number].step(predictor)?;
                self.send(finished, unsent);
            }
        }
    }

    /// The predictor of the newest update; passes the update on to the groups when it is new.
    fn current_predictor<'a>(&mut self, in_use: &'a mut InUse) -> Result<&'a mut Box<dyn Predictor>, PredictError> {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != in_use.version {
            let model = self.shared.model();
            if in_use.predictor.is_none() || in_use.model_id != model.model_id {
                in_use.predictor = Some((model.predictor)(self.number)?);
                in_use.model_id.clone_from(&model.model_id);
            }
            for group in &mut self.groups {
                group.set_model(ModelUpdate::clone(&model));
            }
            in_use.version = version;
        }
        Ok(in_use.predictor.as_mut().expect("the first update makes a predictor"))
    }

    /// Hands finished games over; keeps them when told to stop while the channel is full.
    fn send(&self, finished: Vec<FinishedGame>, unsent: &mut Vec<FinishedGame>) {
        for game in finished {
            let mut game = game;
            loop {
                match self.games.send_timeout(game, Duration::from_millis(50)) {
                    Ok(()) => break,
                    Err(SendTimeoutError::Timeout(back)) if !self.shared.is_stopped() => game = back,
                    Err(SendTimeoutError::Timeout(back) | SendTimeoutError::Disconnected(back)) => {
                        unsent.push(back);
                        break;
                    }
                }
            }
        }
    }
}
