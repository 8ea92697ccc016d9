//! Publishes finished games: gathers them briefly, then publishes one shard for each generation.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tengen_records::GameRecord;
use tengen_store::{Collection, GameTotals, SealedShard, ShardInfo};

use crate::outbox::Outbox;
use tengen_config::LoopConfig;

/// Finished games may hold `loop.lead_positions` divided by this before they are published. Otherwise, fast self-play
/// would use up its lead with games that the trainer has not seen, and both would wait until the shard is old enough.
const SHARE_OF_LEAD: u64 = 4;

/// Gathers games and publishes them as shards once there are enough or they are old enough.
pub struct Publisher {
    outbox: Outbox,
    worker: String,
    sequence: u64,
    max_age: Duration,
    max_positions: u64,
    waiting: BTreeMap<u32, Vec<GameRecord>>,
    positions: u64,
    since: Instant,
    /// Shards that were made since the last call of [`Publisher::take_sealed`].
    sealed: Vec<ShardInfo>,
    /// Totals of the shards that have reached the store.
    published: GameTotals,
}

impl Publisher {
    /// Publishes through `outbox`, under a name that no other process of the run has.
    pub fn new(outbox: Outbox, config: &LoopConfig, worker: &str) -> Publisher {
        Publisher {
            outbox,
            worker: worker.to_owned(),
            sequence: 0,
            max_age: Duration::from_secs_f64(config.shard_seconds),
            max_positions: config
                .shard_positions
                .min(config.lead_positions.div_ceil(SHARE_OF_LEAD)),
            waiting: BTreeMap::new(),
            positions: 0,
            since: Instant::now(),
            sealed: Vec::new(),
            published: GameTotals::default(),
        }
    }

    /// Adds a game to the next shard of `generation`.
    pub fn add(&mut self, generation: u32, game: GameRecord) {
        if self.positions == 0 {
            self.since = Instant::now();
        }
        self.positions += game.plies.len() as u64;
        self.waiting.entry(generation).or_default().push(game);
    }

    /// How long the oldest gathered game may still wait.
    pub fn patience(&self) -> Duration {
        match self.positions {
            0 => self.max_age,
            _ => self.max_age.saturating_sub(self.since.elapsed()),
        }
    }

    /// Publishes if it is due; returns the shards that have now reached the store.
    ///
    /// # Errors
    /// See [`Outbox::send`].
    pub fn publish_if_due(&mut self) -> anyhow::Result<Vec<ShardInfo>> {
        let due = self.positions > 0 && (self.positions >= self.max_positions || self.patience().is_zero());
        let shards = if due { self.publish() } else { self.outbox.flush() }?;
        self.published = self.published.plus(GameTotals::of(&shards));
        Ok(shards)
    }

    /// Publishes everything gathered; returns the shards that have now reached the store.
    ///
    /// # Errors
    /// See [`Outbox::send`].
    pub(crate) fn publish(&mut self) -> anyhow::Result<Vec<ShardInfo>> {
        let mut shards = self.outbox.flush()?;
        while let Some(shard) = self.seal()? {
            shards.extend(self.outbox.send(shard)?);
        }
        Ok(shards)
    }

    /// Publishes everything gathered at the end of the process, or leaves it in the spool.
    ///
    /// # Errors
    /// See [`Outbox::close`].
    pub fn close(&mut self) -> anyhow::Result<()> {
        while let Some(shard) = self.seal()? {
            self.outbox.hold(shard);
        }
        self.outbox.close()
    }

    /// Makes a shard of the games gathered for the oldest generation.
    fn seal(&mut self) -> anyhow::Result<Option<SealedShard>> {
        let Some((&generation, games)) = self.waiting.first_key_value() else {
            self.positions = 0;
            return Ok(None);
        };
        let collection = Collection::SelfPlay { generation };
        let shard = SealedShard::new(&collection, &self.worker, self.sequence, games)?;
        // Removed only now, so that games that cannot be sealed are not lost silently.
        self.waiting.remove(&generation);
        self.sequence += 1;
        self.sealed.push(shard.info.clone());
        Ok(Some(shard))
    }

    /// The shards made since the last call, whether or not they have reached the store.
    pub fn take_sealed(&mut self) -> Vec<ShardInfo> {
        std::mem::take(&mut self.sealed)
    }

    /// Totals of the shards that have reached the store, without those of the last [`Publisher::close`].
    pub fn published(&self) -> GameTotals {
        self.published
    }

    /// Whether every gathered game is in the store or safe on this machine's disk.
    pub fn is_safe(&self) -> bool {
        self.waiting.is_empty() && self.outbox.is_safe()
    }

    /// What keeps shards from reaching the store, as text; usually `None`.
    pub fn trouble(&self) -> Option<String> {
        self.outbox.in_words()
    }
}

/// The positions of a game that self-play's counters include.
pub fn searched_positions(game: &GameRecord) -> u64 {
    if game.is_finished() {
        (game.plies.len() - usize::from(game.opening_plies)) as u64
    } else {
        0
    }
}
