//! One worker thread with its groups and its predictor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{SendTimeoutError, Sender};

use tengen_search::{PredictError, Predictor};

use crate::counters::Counters;
use crate::error::GeneratorError;
use crate::group::{FinishedGame, Group};
use crate::lead::Lead;
use crate::model::ModelUpdate;
use crate::panic::catch_panic;
use crate::rotation::Rotation;
use crate::snapshot::GroupSnapshot;

/// The state shared by the workers and their owner.
pub(crate) struct Shared {
    model: Mutex<Arc<ModelUpdate>>,
    /// Counts the updates, so that a worker can detect one without taking the lock.
    version: AtomicU64,
    stop: AtomicBool,
    pub(crate) lead: Lead,
    pub(crate) counters: Arc<Counters>,
}

impl Shared {
    pub(crate) fn new(model: ModelUpdate, lead: Lead, counters: Arc<Counters>) -> Self {
        let model = Mutex::new(Arc::new(model));
        Self {
            model,
            version: AtomicU64::new(1),
            stop: AtomicBool::new(false),
            lead,
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
        self.lead.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// What a worker leaves behind.
pub(crate) struct WorkerEnd {
    pub(crate) groups: Vec<GroupSnapshot>,
    /// Finished games that did not fit into the channel.
    pub(crate) games: Vec<FinishedGame>,
    pub(crate) result: Result<(), GeneratorError>,
}

/// Stops all workers when this worker ends for any reason, including a panic.
struct StopOnDrop<'a>(&'a Shared);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

pub(crate) struct Worker {
    pub(crate) number: usize,
    pub(crate) rotation: Rotation,
    pub(crate) shared: Arc<Shared>,
    pub(crate) games: Sender<FinishedGame>,
}

/// The predictor in use and the update it came with.
#[derive(Default)]
struct InUse {
    predictor: Option<Box<dyn Predictor>>,
    model_id: String,
    version: u64,
}

impl Worker {
    /// Plays until stopped, or until the predictor fails or something panics. The games are always kept: in a group
    /// interrupted by a panic, every game is as it was after its last move.
    pub(crate) fn run(mut self) -> WorkerEnd {
        let shared = self.shared.clone();
        let _stop = StopOnDrop(&shared);
        let worker = self.number;
        let mut unsent = Vec::new();
        let result = match catch_panic(|| self.play(&mut unsent)) {
            Ok(played) => played.map_err(|error| GeneratorError::Predict { worker, error }),
            Err(message) => Err(GeneratorError::Panicked { worker, message }),
        };
        for group in self.rotation.groups_mut() {
            unsent.extend(group.take_finished());
        }
        WorkerEnd {
            groups: self.rotation.groups().iter().map(Group::snapshot).collect(),
            games: unsent,
            result,
        }
    }

    fn play(&mut self, unsent: &mut Vec<FinishedGame>) -> Result<(), PredictError> {
        let mut in_use = InUse::default();
        loop {
            let shared = &self.shared;
            shared
                .lead
                .wait(|| shared.counters.values().positions, || shared.is_stopped());
            if shared.is_stopped() {
                return Ok(());
            }
            let predictor = self.current_predictor(&mut in_use)?;
            let finished = self.rotation.turn(predictor)?;
            self.send(finished, unsent);
        }
    }

    /// The predictor of the newest update; passes a new update on to the groups.
    fn current_predictor<'a>(&mut self, in_use: &'a mut InUse) -> Result<&'a mut Box<dyn Predictor>, PredictError> {
        let version = self.shared.version.load(Ordering::Acquire);
        if version != in_use.version {
            let model = self.shared.model();
            if in_use.predictor.is_none() || in_use.model_id != model.model_id {
                if let Some(old) = &mut in_use.predictor {
                    // The old predictor's last predictions must not reach caches that the new network fills.
                    self.rotation.settle(old)?;
                }
                in_use.predictor = Some((model.predictor)(self.number)?);
                in_use.model_id.clone_from(&model.model_id);
            }
            for group in self.rotation.groups_mut() {
                group.set_model(ModelUpdate::clone(&model));
            }
            in_use.version = version;
        }
        Ok(in_use.predictor.as_mut().expect("the first update makes a predictor"))
    }

    /// Sends finished games; keeps them if the workers are stopped while the channel is full.
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
