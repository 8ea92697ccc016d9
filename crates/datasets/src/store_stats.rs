//! What do the games of a store look like together? Its shards read side by side, one at a time in each thread.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use crate::dataset::DatasetFilter;
use tengen_records::{GameKind, GameStats, StatsCollector, TreeShape, share};
use tengen_store::{GameTotals, ShardInfo, ShardReadError, Store, StoreError};

/// Figures of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreStats {
    /// Shards read.
    pub shards: u64,
    /// Shards in quarantine, those found now included.
    pub quarantined: u64,
    /// What was pruned before and is not among the figures.
    pub pruned: GameTotals,
    /// Bytes of the shards read.
    pub bytes: u64,
    /// Bytes per position on disk.
    pub bytes_per_position: f64,
    /// The games.
    pub games: GameStats,
}

/// Figures of some shards.
#[derive(Default)]
struct Read {
    shards: u64,
    bytes: u64,
    positions: u64,
    games: StatsCollector,
}

impl Read {
    fn merge(self, other: Read) -> Read {
        Read {
            shards: self.shards + other.shards,
            bytes: self.bytes + other.bytes,
            positions: self.positions + other.positions,
            games: self.games.merge(other.games),
        }
    }
}

/// The shards that can hold games of a filter, oldest first (by generation, then name), and what was pruned.
///
/// # Errors
/// As [`Store::list_games`].
pub fn shards_of(store: &Store, filter: &DatasetFilter) -> Result<(Vec<ShardInfo>, GameTotals), StoreError> {
    let mut listing = store.list_games(&filter.games)?;
    listing.shards.retain(|shard| filter.takes_shard(shard));
    Ok((listing.shards, listing.pruned))
}

/// Figures of the store's games. Damaged shards go into quarantine and are left out. `progress` is called after
/// every shard, from any thread, with the number done and the number of all.
///
/// # Errors
/// [`StoreError`] when the store fails.
pub fn stats(
    store: &Store,
    filter: &DatasetFilter,
    shape: TreeShape,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<StoreStats, StoreError> {
    let (shards, pruned) = shards_of(store, filter)?;
    let done = AtomicUsize::new(0);
    let add = |mut read: Read, shard: &ShardInfo| {
        add_shard(store, shard, filter, &mut read)?;
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, shards.len());
        Ok::<_, StoreError>(read)
    };
    let read = shards
        .par_iter()
        .try_fold(Read::default, add)
        .try_reduce(Read::default, |a, b| Ok(a.merge(b)))?;
    Ok(StoreStats {
        shards: read.shards,
        quarantined: store.quarantine_notes()?.len() as u64,
        pruned,
        bytes: read.bytes,
        bytes_per_position: share(read.bytes as f64, read.positions),
        games: read.games.finish(shape),
    })
}

fn add_shard(store: &Store, shard: &ShardInfo, filter: &DatasetFilter, read: &mut Read) -> Result<(), StoreError> {
    let games = match store.read_shard(shard) {
        Ok(games) => games,
        Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => return Ok(()),
        Err(ShardReadError::Store(error)) => return Err(error),
    };
    read.shards += 1;
    read.bytes += shard.bytes;
    read.positions += shard.positions();
    let generation = (shard.collection.kind() == GameKind::SelfPlay).then_some(shard.generation());
    for game in games.iter().filter(|game| filter.takes(game)) {
        let added = read.games.add(game, generation, filter.full_search_only);
        added.expect("the store has replayed this game");
    }
    Ok(())
}
