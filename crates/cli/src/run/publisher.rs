//! Finished games go into the store: gathered for a moment, then published as one shard for each generation.

use crate::config::LoopConfig;
use anyhow::Context;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tengen_records::{Collection, GameRecord, ShardInfo, Store};

/// Gathers games and publishes them as shards when they are old enough or many enough.
pub(crate) struct Publisher {
    store: Store,
    worker: String,
    sequence: u64,
    max_age: Duration,
    max_positions: u64,
    waiting: BTreeMap<u32, Vec<GameRecord>>,
    positions: u64,
    since: Instant,
}

impl Publisher {
    /// Publishes into `store` under this process's name.
    pub(crate) fn new(store: &Store, pace: &LoopConfig) -> Publisher {
        Publisher {
            store: store.clone(),
            worker: format!("p{}", std::process::id()),
            sequence: 0,
            max_age: Duration::from_secs_f64(pace.shard_seconds),
            max_positions: pace.shard_positions,
            waiting: BTreeMap::new(),
            positions: 0,
            since: Instant::now(),
        }
    }

    /// Takes a game played under the models of `generation`.
    pub(crate) fn add(&mut self, generation: u32, game: GameRecord) {
        if self.positions == 0 {
            self.since = Instant::now();
        }
        self.positions += game.plies.len() as u64;
        self.waiting.entry(generation).or_default().push(game);
    }

    /// How long the oldest gathered game may still wait.
    pub(crate) fn patience(&self) -> Duration {
        match self.positions {
            0 => self.max_age,
            _ => self.max_age.saturating_sub(self.since.elapsed()),
        }
    }

    /// Publishes when it is time; returns the new shards.
    ///
    /// # Errors
    /// When the store refuses; the games are kept and the next call tries again.
    pub(crate) fn publish_if_due(&mut self) -> anyhow::Result<Vec<ShardInfo>> {
        let due = self.positions > 0 && (self.positions >= self.max_positions || self.patience().is_zero());
        if due { self.publish() } else { Ok(Vec::new()) }
    }

    /// Publishes everything gathered; returns the new shards.
    ///
    /// # Errors
    /// When the store refuses; the games are kept and the next call tries again.
    pub(crate) fn publish(&mut self) -> anyhow::Result<Vec<ShardInfo>> {
        let mut shards = Vec::new();
        while let Some((&generation, games)) = self.waiting.first_key_value() {
            let collection = Collection::SelfPlay { generation };
            let shard = self
                .store
                .publish_games(&collection, &self.worker, self.sequence, games)
                .with_context(|| {
                    format!(
                        "cannot publish {} games into {}; free space or mend the store, then start again: the games \
                         published so far are safe",
                        games.len(),
                        self.store.location()
                    )
                })?;
            tracing::info!("published {}", shard.name);
            self.sequence += 1;
            self.waiting.pop_first();
            shards.push(shard);
        }
        self.positions = 0;
        Ok(shards)
    }
}
