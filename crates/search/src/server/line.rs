//! A server's queue: the oldest job is next, together with the jobs that can share its batch.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tengen_encoding::InputBatch;

use super::network::Network;
use super::{ServerSetup, ended};
use crate::predictor::{Job, PredictError};

/// A job with its predictions, or the error.
pub(super) type Answer = Result<Job, PredictError>;

/// What a server's threads and clients share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) line: Mutex<Line>,
    pub(super) changed: Condvar,
    pub(super) setup: ServerSetup,
    pub(super) batches: AtomicU64,
    pub(super) jobs: AtomicU64,
    pub(super) positions: AtomicU64,
    pub(super) busy_ns: AtomicU64,
    /// The most positions to predict at once.
    pub(super) most_rows: AtomicUsize,
    /// How often `most_rows` fell.
    pub(super) halved: AtomicU64,
}

/// The queued jobs, oldest first.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) closed: bool,
}

/// A queued job. Dropping it without an answer sends its client an error.
pub(super) struct Waiting {
    pub(super) network: Arc<Network>,
    pub(super) job: Option<Job>,
    pub(super) answer: Sender<Answer>,
}

impl Shared {
    pub(super) fn new(setup: ServerSetup) -> Shared {
        Shared {
            line: Mutex::default(),
            changed: Condvar::new(),
            setup,
            batches: AtomicU64::new(0),
            jobs: AtomicU64::new(0),
            positions: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            most_rows: AtomicUsize::new(usize::MAX),
            halved: AtomicU64::new(0),
        }
    }

    pub(super) fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn close(&self) {
        let mut line = self.line();
        line.closed = true;
        line.waiting.clear();
        drop(line);
        self.changed.notify_all();
    }

    /// The most positions to predict at once, as far as is known.
    pub(super) fn most_rows(&self) -> usize {
        self.most_rows.load(Ordering::Relaxed)
    }

    /// Waits for jobs and dequeues the oldest with all others that can share its batch; none once the server is closed.
    pub(super) fn next(&self, taken: &mut Vec<Waiting>) {
        let mut line = self.line();
        while line.waiting.is_empty() && !line.closed {
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(first) = line.waiting.pop_front() else { return };
        let most = self.setup.most_positions.min(self.most_rows());
        let mut positions = first.positions();
        taken.push(first);
        let mut number = 0;
        while number < line.waiting.len() && positions < most {
            let next = &line.waiting[number];
            let fits = positions + next.positions() <= most;
            if fits && next.can_join(&taken[0]) {
                positions += next.positions();
                taken.extend(line.waiting.remove(number));
            } else {
                number += 1;
            }
        }
        if !line.waiting.is_empty() {
            self.changed.notify_one();
        }
    }
}

impl Waiting {
    fn inputs(&self) -> Option<&InputBatch> {
        self.job.as_ref().map(|job| &job.inputs)
    }

    pub(super) fn positions(&self) -> usize {
        self.inputs().map_or(0, InputBatch::len)
    }

    /// Whether a batch of both gives each the predictions that it would get alone. A network needs no mask if all
    /// boards fill the canvas, and then rounds differently.
    fn can_join(&self, other: &Waiting) -> bool {
        let alike = |(a, b): (&InputBatch, &InputBatch)| a.is_like(b) && a.uniform() == b.uniform();
        self.inputs().zip(other.inputs()).is_some_and(alike) && Arc::ptr_eq(&self.network, &other.network)
    }

    pub(super) fn finish(mut self, result: Result<(), PredictError>) {
        if let Some(job) = self.job.take() {
            // A client that is gone needs no answer.
            let _ = self.answer.send(result.map(|()| job));
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.job.take().is_some() {
            let _ = self.answer.send(Err(ended()));
        }
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} positions for {}", self.positions(), self.network.name)
    }
}
