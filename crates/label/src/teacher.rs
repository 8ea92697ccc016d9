//! Who judges the positions: a network behind the search, or another engine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender};
use serde_json::{Value, json};

use tengen_search::{PredictError, Predictor, SearchConfig};

use crate::chunk::{Label, Task};
use crate::engine::EngineTeacher;
use crate::error::LabelError;
use crate::worker::Worker;

/// Makes the predictor of one thread, in that thread.
pub type PredictorFactory = Box<dyn Fn(usize) -> Result<Box<dyn Predictor>, PredictError> + Send + Sync>;

/// A network and how it is searched.
pub struct NetworkTeacher {
    /// The model's name.
    pub name: String,
    /// SHA-256 of the weights file; `None` if it is unknown or there is no network.
    pub weights_sha256: Option<String>,
    /// The number format that the network runs in.
    pub precision: String,
    /// How every position is searched.
    pub search: SearchConfig,
    /// The strength of the noise if `search` asks for it, 0 to 1.
    pub noise: f32,
    /// Threads, each with its own predictor.
    pub threads: usize,
    /// Makes the predictors.
    pub predictors: PredictorFactory,
}

/// Who judges the positions.
pub enum Teacher {
    /// A network behind the search.
    Network(NetworkTeacher),
    /// An engine that speaks KataGo's analysis protocol.
    Engine(EngineTeacher),
}

/// What a thread of a teacher reports.
pub(crate) enum Report {
    /// The thread takes this many positions at a time.
    Capacity(usize),
    /// A label has been found.
    Label {
        chunk: u64,
        game: usize,
        ply: usize,
        label: Label,
    },
    /// A game cannot be labelled; the thread continues with the others.
    Refused {
        chunk: u64,
        game: usize,
        reason: LabelError,
    },
    /// The thread has failed, and ends.
    Failed(LabelError),
}

/// What all threads have done together.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) evaluations: AtomicU64,
    pub(crate) cache_hits: AtomicU64,
    pub(crate) batches: AtomicU64,
}

/// How a thread gets its work and reports results.
#[derive(Clone)]
pub(crate) struct Desk<'a> {
    pub(crate) tasks: Receiver<Task>,
    pub(crate) reports: Sender<Report>,
    pub(crate) counts: &'a Counts,
    pub(crate) stop: &'a AtomicBool,
    /// Seed of the searches.
    pub(crate) seed: u64,
}

impl Desk<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Passes a label on; the receiver is gone only if the labelling has ended.
    pub(crate) fn deliver(&self, task: &Task, label: Label) {
        let _ = self.reports.send(Report::Label {
            chunk: task.chunk,
            game: task.game,
            ply: task.ply,
            label,
        });
    }

    /// Reports why there is no label, if the reason concerns only the position's game.
    ///
    /// # Errors
    /// Any other reason.
    pub(crate) fn refuse(&self, task: &Task, reason: LabelError) -> Result<(), LabelError> {
        if !reason.is_of_one_game() {
            return Err(reason);
        }
        let _ = self.reports.send(Report::Refused {
            chunk: task.chunk,
            game: task.game,
            reason,
        });
        Ok(())
    }
}

impl Teacher {
    /// What identifies the teacher and its settings, as recorded with every labelled game.
    pub fn identity(&self) -> Value {
        match self {
            Teacher::Network(network) => {
                let mut identity = json!({
                    "name": network.name,
                    "weights_sha256": network.weights_sha256,
                    "precision": network.precision,
                    "search": network.search,
                });
                if network.search.noise {
                    identity["noise"] = json!(network.noise);
                }
                identity
            }
            Teacher::Engine(engine) => engine.identity(),
        }
    }

    pub(crate) fn threads(&self) -> usize {
        match self {
            Teacher::Network(network) => network.threads.max(1),
            Teacher::Engine(_) => 1,
        }
    }

    /// Labels positions until there are no more, or it is stopped.
    pub(crate) fn work(&self, thread: usize, desk: &Desk<'_>) -> Result<(), LabelError> {
        match self {
            Teacher::Network(network) => {
                let predictor = (network.predictors)(thread)?;
                Ok(Worker::new(predictor, network, desk).work()?)
            }
            Teacher::Engine(engine) => engine.work(desk),
        }
    }
}
