//! The replay window: the newest shards, selected by their names alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use tengen_rules::{SettingError, check_setting};
use tengen_store::ShardInfo;

/// Maximum share of a window that may be damaged before training stops.
const MAX_DAMAGED_SHARE: f64 = 0.01;

/// How far back the window reaches.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WindowConfig {
    /// Positions that are always in the window, newest first. 1 or more; usually 3000 on 5x5, 40000 on 9x9. A larger
    /// base forgets less but learns more slowly from the newest games.
    pub base_positions: u64,
    /// Share of all positions ever published that is added to the base, 0 to 1. Usually 0.12.
    pub fraction: f64,
}

impl Default for WindowConfig {
    fn default() -> WindowConfig {
        WindowConfig {
            base_positions: 3000,
            fraction: 0.12,
        }
    }
}

impl WindowConfig {
    /// Checks every setting's range.
    ///
    /// # Errors
    /// [`SettingError`] naming the first setting out of its range.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("window.base_positions", self.base_positions, 1..)?;
        check_setting("window.fraction", self.fraction, 0.0..=1.0)
    }

    /// Number of positions the window should hold after `total` positions were published.
    pub fn target_positions(&self, total: u64) -> u64 {
        let share = self.fraction.clamp(0.0, 1.0);
        self.base_positions.saturating_add((total as f64 * share) as u64)
    }
}

/// Too much of a window is damaged to continue training.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{bad} of the window's {all} shards are damaged, expected at most 1% (for example {first}; quarantine/ has the \
     reasons): find out what damages files there before you resume training"
)]
pub struct WindowDamage {
    /// Number of damaged shards in the window.
    pub bad: usize,
    /// Number of all shards in the window, good and bad.
    pub all: usize,
    /// Path of one damaged shard.
    pub first: String,
}

/// The newest shards of a store, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The shards, in the order of the listing.
    pub shards: Vec<ShardInfo>,
    /// Number of positions in the window's shards.
    pub positions: u64,
    /// Number of games in the window's shards.
    pub games: u64,
    /// Positions in all shards of the listing plus those pruned before.
    pub total_positions: u64,
    /// Whether the window contains all shards of the listing.
    pub is_all: bool,
}

impl Window {
    /// How many of these damaged shards belong to the window: all of them if it contains all shards, otherwise those
    /// not older than its oldest shard.
    pub fn damaged<'a>(&self, damaged: impl IntoIterator<Item = &'a ShardInfo>) -> usize {
        let oldest = self.shards.first().map(ShardInfo::order);
        let inside = |shard: &&ShardInfo| self.is_all || oldest.is_some_and(|oldest| shard.order() >= oldest);
        damaged.into_iter().filter(inside).count()
    }

    /// Rejects a window with more than 1% of its shards damaged; a single damaged shard is always tolerated.
    ///
    /// # Errors
    /// [`WindowDamage`] with the counts and the path of one damaged shard.
    pub fn check_damage<'a>(
        &self,
        damaged: impl IntoIterator<Item = &'a ShardInfo> + Clone,
    ) -> Result<(), WindowDamage> {
        let bad = self.damaged(damaged.clone());
        let paths: BTreeSet<&str> = damaged.into_iter().map(|shard| shard.path.as_str()).collect();
        let good = self.shards.iter().filter(|shard| !paths.contains(shard.path.as_str()));
        let all = good.count() + bad;
        if bad <= 1 || bad as f64 <= all as f64 * MAX_DAMAGED_SHARE {
            return Ok(());
        }
        let first = paths.iter().next_back().copied().unwrap_or_default().to_owned();
        Err(WindowDamage { bad, all, first })
    }

    /// Takes whole shards from the end of the listing (the newest) until the target number of positions is reached.
    pub fn select(shards: &[ShardInfo], config: WindowConfig) -> Window {
        Window::select_after(0, shards, config)
    }

    /// [`Window::select`] if `pruned_positions` preceded the listing and count toward the window size.
    pub fn select_after(pruned_positions: u64, shards: &[ShardInfo], config: WindowConfig) -> Window {
        let total = pruned_positions + shards.iter().map(ShardInfo::positions).sum::<u64>();
        Window::select_of(total, shards, config)
    }

    /// [`Window::select_after`] if the total number of positions is already known; it then visits only the window's
    /// shards.
    pub fn select_of(total_positions: u64, shards: &[ShardInfo], config: WindowConfig) -> Window {
        let wanted = config.target_positions(total_positions);
        let mut first = shards.len();
        let mut positions = 0;
        while first > 0 && positions < wanted {
            first -= 1;
            positions += shards[first].positions();
        }
        let shards = shards[first..].to_vec();
        let games = shards.iter().map(ShardInfo::games).sum();
        Window {
            shards,
            positions,
            games,
            total_positions,
            is_all: first == 0,
        }
    }
}
