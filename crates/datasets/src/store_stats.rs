//! Statistics over the games of a store, with its shards read in parallel, one at a time per thread.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use tengen_records::{GameKind, GameStats, StatsCollector, TreeShape, share};
use tengen_store::{GameTotals, ShardInfo, ShardReadError, Store, StoreError};

use crate::dataset::DatasetFilter;

/// Statistics over the games and shards of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreStats {
    /// Number of shards read.
    pub shards: u64,
    /// Number of quarantined shards, including those found by this call.
    pub quarantined: u64,
    /// Totals of the pruned games, which are not part of the statistics.
    pub pruned: GameTotals,
    /// Total size of the shards read, in bytes.
    pub bytes: u64,
    /// Average bytes per position on disk.
    pub bytes_per_position: f64,
    /// Statistics of the games themselves.
    pub games: GameStats,
}

/// Partial statistics of some shards.
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

/// The shards that may hold games selected by a filter, oldest first (by generation, then name), and what was
/// pruned.
///
/// # Errors
/// As [`Games::list`](tengen_store::Games::list).
pub fn shards_of(store: &Store, filter: &DatasetFilter) -> Result<(Vec<ShardInfo>, GameTotals), StoreError> {
    let mut listing = store.games().list(&filter.games)?;
    listing.shards.retain(|shard| filter.takes_shard(shard));
    Ok((listing.shards, listing.pruned))
}

/// Statistics of the store's games. Damaged shards are quarantined and skipped. `progress` is called after every
/// shard, from any thread, with the number done and the total.
///
/// # Errors
/// [`StoreError`] if the store fails.
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
        quarantined: store.games().quarantine_notes()?.len() as u64,
        pruned,
        bytes: read.bytes,
        bytes_per_position: share(read.bytes as f64, read.positions),
        games: read.games.finish(shape),
    })
}

fn add_shard(store: &Store, shard: &ShardInfo, filter: &DatasetFilter, read: &mut Read) -> Result<(), StoreError> {
    let games = match store.games().read(shard) {
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
