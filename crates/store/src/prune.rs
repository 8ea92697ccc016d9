//! Pruning: only whole self-play generations far outside the training window may be dropped.

use std::collections::{BTreeMap, BTreeSet};

use crate::changes::{Change, GameTotals, PrunedGeneration};
use crate::games::{Games, GamesListing};
use crate::lock::RunLock;
use crate::shard_info::{GamesOf, ShardInfo};
use crate::store_error::StoreError;

/// What pruning would drop and keep; nothing is deleted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunePlan {
    /// The generations that would be dropped, oldest first.
    pub generations: Vec<PrunedGeneration>,
    /// Totals of what would remain.
    pub kept: GameTotals,
    /// Number of the newest merge or prune note when the plan was made.
    seen: u32,
}

impl PrunePlan {
    /// Totals of what would be freed.
    pub fn freed(&self) -> GameTotals {
        let totals = self.generations.iter().map(|generation| generation.totals);
        totals.fold(GameTotals::default(), GameTotals::plus)
    }
}

impl Games {
    /// Finds the self-play generations that are older than the newest `keep_positions` positions. The newest generation
    /// always stays. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn plan_prune(&self, keep_positions: u64) -> Result<PrunePlan, StoreError> {
        let listing = self.list(&GamesOf::SelfPlay)?;
        let old = old_generations(&listing, keep_positions);
        let (going, kept): (Vec<_>, Vec<_>) = listing
            .shards
            .into_iter()
            .partition(|shard| old.contains(&shard.generation()));
        let mut generations: BTreeMap<u32, PrunedGeneration> = BTreeMap::new();
        let damaged = listing.damaged.iter().filter(|shard| old.contains(&shard.generation()));
        for (shard, counts) in going
            .iter()
            .map(|shard| (shard, true))
            .chain(damaged.map(|shard| (shard, false)))
        {
            let generation = shard.generation();
            let entry = generations.entry(generation).or_insert_with(|| PrunedGeneration {
                generation,
                totals: GameTotals::default(),
                shards: Vec::new(),
            });
            entry.shards.push(shard.path.clone());
            if counts {
                entry.totals = entry.totals.plus(GameTotals::of([shard]));
            }
        }
        Ok(PrunePlan {
            generations: generations.into_values().collect(),
            kept: GameTotals::of(&kept),
            seen: listing.upkeep,
        })
    }

    /// Drops what was planned. Its counts are kept, so that windows and totals do not shrink. If the process is killed
    /// at any point, the next prune or merge finishes the job.
    ///
    /// # Errors
    /// [`StoreError::Contended`] if the store was merged or pruned after the plan was made; [`StoreError::Write`].
    pub fn prune(&self, plan: &PrunePlan) -> Result<(), StoreError> {
        let _lock = RunLock::of_upkeep(&self.files)?;
        let changes = self.changes()?;
        if changes.upkeep != plan.seen {
            let location = self.files.location().to_owned();
            return Err(StoreError::Contended { location });
        }
        if !plan.generations.is_empty() {
            self.put_change(&changes, &Change::new(Vec::new(), plan.generations.clone()))?;
        }
        self.sweep().map(|_| ())
    }
}

/// Generations whose games are all older than the newest `keep_positions` positions; never the newest one.
pub(crate) fn old_generations(listing: &GamesListing, keep_positions: u64) -> BTreeSet<u32> {
    let mut positions: BTreeMap<u32, u64> = BTreeMap::new();
    for shard in &listing.shards {
        *positions.entry(shard.generation()).or_default() += shard.positions();
    }
    for shard in &listing.damaged {
        positions.entry(ShardInfo::generation(shard)).or_default();
    }
    let mut newer = 0;
    let mut old = BTreeSet::new();
    for (number, (generation, positions)) in positions.into_iter().rev().enumerate() {
        if number > 0 && newer >= keep_positions {
            old.insert(generation);
        }
        newer += positions;
    }
    old
}
