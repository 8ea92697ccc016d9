//! Which games does the trainer learn from? The newest shards, told by their names alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tengen_rules::{SettingError, check_setting};

use crate::shards::ShardInfo;

/// How much of a window may be damaged before training stops.
const MAX_DAMAGED_SHARE: f64 = 0.01;

/// How far back the window reaches.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WindowConfig {
    /// Positions that are always in the window, newest first; 1 or more. Usual: 3000 on 5x5, 10000 on 9x9. More forgets less and
    /// learns slower from the newest games.
    pub base_positions: u64,
    /// Share of all positions ever published that is added to the base, 0 to 1. Usual: 0.12.
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

    /// Positions the window should hold when `total` positions were published.
    pub fn target_positions(&self, total: u64) -> u64 {
        let share = self.fraction.clamp(0.0, 1.0);
        self.base_positions.saturating_add((total as f64 * share) as u64)
    }
}

/// More of a window is damaged than training bears.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{bad} of the window's {all} shards are damaged, expected at most 1 % (for example {first}; quarantine/ has the \
     reason of each): find out what damages files there before training goes on"
)]
pub struct WindowDamage {
    /// Damaged shards among the window's games.
    pub bad: usize,
    /// All shards of the window's games, good and bad.
    pub all: usize,
    /// Path of one that is damaged.
    pub first: String,
}

/// The newest shards of a store, oldest of them first.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The shards, in the order of the listing.
    pub shards: Vec<ShardInfo>,
    /// Positions in these shards.
    pub positions: u64,
    /// Games in these shards.
    pub games: u64,
    /// Positions in all shards of the listing and in what was pruned before.
    pub total_positions: u64,
    /// Whether these are all shards of the listing.
    pub is_all: bool,
}

impl Window {
    /// How many of these damaged shards belong among the window's: all of them when it holds all shards,
    /// else those that are not older than its oldest.
    pub fn damaged<'a>(&self, damaged: impl IntoIterator<Item = &'a ShardInfo>) -> usize {
        let oldest = self.shards.first().map(ShardInfo::order);
        let inside = |shard: &&ShardInfo| self.is_all || oldest.is_some_and(|oldest| shard.order() >= oldest);
        damaged.into_iter().filter(inside).count()
    }

    /// Refuses a window of which more than 1 % is damaged; a single damaged shard is always borne.
    ///
    /// # Errors
    /// [`WindowDamage`] with the counts and the first of the damaged shards.
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

    /// Takes whole shards from the end of the listing (the newest) until the wanted number of positions is reached.
    pub fn select(shards: &[ShardInfo], config: WindowConfig) -> Window {
        Window::select_after(0, shards, config)
    }

    /// [`Window::select`] where `pruned_positions` came before the listing and count for the window's size.
    pub fn select_after(pruned_positions: u64, shards: &[ShardInfo], config: WindowConfig) -> Window {
        let total_positions = pruned_positions + shards.iter().map(ShardInfo::positions).sum::<u64>();
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
