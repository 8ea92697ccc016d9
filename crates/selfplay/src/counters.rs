//! What self-play has done so far, readable at any time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of all groups and workers that share it; they only grow.
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
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Games that ended by two passes and have a score.
    pub games: u64,
    /// Games given up at the ply limit.
    pub unfinished: u64,
    /// Searched positions of games with a score: what can be trained on.
    pub positions: u64,
    /// Searched positions of all games, those in flight among them.
    pub plies: u64,
    /// Visits of all finished searches.
    pub visits: u64,
    /// Positions the network evaluated.
    pub evaluations: u64,
    /// Positions whose evaluation was already known.
    pub cache_hits: u64,
    /// Calls of the network.
    pub batches: u64,
}

impl CounterValues {
    /// Positions per call of the network; 0 before the first.
    pub fn mean_batch(&self) -> f64 {
        self.evaluations as f64 / self.batches.max(1) as f64
    }
}

impl Counters {
    /// All counts 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads all counts; each is exact, but they are not taken at the very same moment.
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
        }
    }

    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }
}
