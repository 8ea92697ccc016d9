//! Counters of self-play that can be read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The counters of all groups and workers that share them; they only increase.
#[derive(Debug, Default)]
pub struct Counters {
    pub(crate) games: AtomicU64,
    pub(crate) unfinished: AtomicU64,
    pub(crate) positions: AtomicU64,
    pub(crate) plies: AtomicU64,
    pub(crate) visits: AtomicU64,
    pub(crate) evaluations: AtomicU64,
    pub(crate) cache_hits: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) descend_ns: AtomicU64,
    pub(crate) predict_ns: AtomicU64,
    pub(crate) absorb_ns: AtomicU64,
}

/// How one worker spends its time; only increases.
#[derive(Debug, Default)]
pub(crate) struct Times {
    pub(crate) descend_ns: AtomicU64,
    pub(crate) predict_ns: AtomicU64,
    pub(crate) absorb_ns: AtomicU64,
}

/// How one worker has spent its time so far, in seconds. The rest is waiting for the trainer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerTimes {
    /// Descending to positions and encoding them.
    pub descend: f64,
    /// Predicting, or waiting for predictions computed elsewhere.
    pub predict: f64,
    /// Passing predictions to searches.
    pub absorb: f64,
}

impl Times {
    pub(crate) fn values(&self) -> WorkerTimes {
        let seconds = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64 * 1e-9;
        WorkerTimes {
            descend: seconds(&self.descend_ns),
            predict: seconds(&self.predict_ns),
            absorb: seconds(&self.absorb_ns),
        }
    }
}

impl WorkerTimes {
    /// The times since `before`.
    #[must_use]
    pub fn since(&self, before: &WorkerTimes) -> WorkerTimes {
        WorkerTimes {
            descend: self.descend - before.descend,
            predict: self.predict - before.predict,
            absorb: self.absorb - before.absorb,
        }
    }
}

/// The values of the counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Games that ended and have a score.
    pub games: u64,
    /// Games abandoned at the ply limit.
    pub unfinished: u64,
    /// Searched positions of games with a score, which can be used for training.
    pub positions: u64,
    /// Searched positions of all games, including those in flight.
    pub plies: u64,
    /// Visits of all finished searches.
    pub visits: u64,
    /// Positions evaluated by the network.
    pub evaluations: u64,
    /// Positions whose evaluation was cached.
    pub cache_hits: u64,
    /// Number of network calls, each with a batch of positions.
    pub batches: u64,
    /// Time that all workers spent descending to positions and encoding them, in nanoseconds.
    pub descend_ns: u64,
    /// Time that all workers spent predicting or waiting for predictions, in nanoseconds.
    pub predict_ns: u64,
    /// Time that all workers spent passing predictions to searches, in nanoseconds.
    pub absorb_ns: u64,
}

impl CounterValues {
    /// The mean number of positions per network call; 0 before the first call.
    pub fn mean_batch(&self) -> f64 {
        self.evaluations as f64 / self.batches.max(1) as f64
    }
}

impl CounterValues {
    /// What was counted since `before`.
    pub fn since(&self, before: CounterValues) -> CounterValues {
        CounterValues {
            games: self.games - before.games,
            unfinished: self.unfinished - before.unfinished,
            positions: self.positions - before.positions,
            plies: self.plies - before.plies,
            visits: self.visits - before.visits,
            evaluations: self.evaluations - before.evaluations,
            cache_hits: self.cache_hits - before.cache_hits,
            batches: self.batches - before.batches,
            descend_ns: self.descend_ns - before.descend_ns,
            predict_ns: self.predict_ns - before.predict_ns,
            absorb_ns: self.absorb_ns - before.absorb_ns,
        }
    }
}

impl Counters {
    /// Counters that are all 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads all counters; each value is exact, but they are not read at exactly the same moment.
    pub fn values(&self) -> CounterValues {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CounterValues {
            games: read(&self.games),
            unfinished: read(&self.unfinished),
            positions: read(&self.positions),
            plies: read(&self.plies),
            visits: read(&self.visits),
            evaluations: read(&self.evaluations),
            cache_hits: read(&self.cache_hits),
            batches: read(&self.batches),
            descend_ns: read(&self.descend_ns),
            predict_ns: read(&self.predict_ns),
            absorb_ns: read(&self.absorb_ns),
        }
    }

    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// Adds the time since `start` to these nanosecond counters.
    pub(crate) fn add_time(counters: [&AtomicU64; 2], start: Instant) {
        let time = start.elapsed().as_nanos() as u64;
        counters.into_iter().for_each(|counter| Self::add(counter, time));
    }
}
