//! Finds new games. A quick poll lists only the newest generations, so it costs no more after a year.
//!
//! Workers publish under the generation that the trainer names, so new games are in the newest generation or, from
//! workers that have not switched to it yet, in the one before. An occasional full scan finds games that arrive later,
//! such as those of a worker that was cut off from the store for hours.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use tengen_store::{GamesOf, ShardInfo, Store, StoreError};

/// How often to list all games.
const THOROUGH_EVERY: Duration = Duration::from_secs(600);

/// Finds shards that were not there before.
pub(crate) struct Scout {
    known: HashSet<String>,
    listed_all: Instant,
    /// Sequence number of each worker's newest shard.
    sequences: BTreeMap<String, u64>,
    /// Positions of each generation.
    positions: BTreeMap<u32, u64>,
}

impl Scout {
    /// A scout that knows these shards.
    pub(crate) fn new<'a>(known: impl IntoIterator<Item = &'a ShardInfo>) -> Scout {
        let mut scout = Scout {
            known: HashSet::new(),
            listed_all: Instant::now(),
            sequences: BTreeMap::new(),
            positions: BTreeMap::new(),
        };
        for shard in known {
            scout.learn(shard);
        }
        scout
    }

    /// The shards of the newest generations that were not known yet, oldest first.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn look(&mut self, store: &Store, generation: u32) -> Result<Vec<ShardInfo>, StoreError> {
        let newest = store.games().newest(generation.saturating_sub(1)..=generation)?;
        Ok(self.unknown(newest))
    }

    /// Whether it is time for a full scan.
    pub(crate) fn is_thorough_look_due(&self) -> bool {
        self.listed_all.elapsed() >= THOROUGH_EVERY
    }

    /// The shards of all generations that were not known yet, oldest first.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn look_thoroughly(&mut self, store: &Store) -> Result<Vec<ShardInfo>, StoreError> {
        self.listed_all = Instant::now();
        let all = store.games().list_shards(&GamesOf::SelfPlay)?;
        Ok(self.unknown(all))
    }

    fn unknown(&mut self, mut shards: Vec<ShardInfo>) -> Vec<ShardInfo> {
        // The games of a merged shard are already known from the shards that it replaces.
        shards.retain(|shard| !shard.is_merged() && self.learn(shard));
        shards
    }

    /// Sequence number of the newest shard found from a worker.
    pub(crate) fn sequence(&self, worker: &str) -> Option<u64> {
        self.sequences.get(worker).copied()
    }

    /// Positions of the known games from this generation on.
    pub(crate) fn positions_from(&self, generation: u32) -> u64 {
        self.positions.range(generation..).map(|(_, positions)| positions).sum()
    }

    /// Remembers a shard; false if it was known.
    fn learn(&mut self, shard: &ShardInfo) -> bool {
        let name = &shard.name;
        let last = self.sequences.entry(name.worker.clone()).or_default();
        *last = (*last).max(name.sequence);
        let is_new = self.known.insert(shard.path.clone());
        if is_new {
            *self.positions.entry(shard.generation()).or_default() += shard.positions();
        }
        is_new
    }
}
