//! Which games does the trainer learn from? The newest shards, told by their names alone.

use serde::{Deserialize, Serialize};

use crate::shards::ShardInfo;

/// How far back the window reaches.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WindowConfig {
    /// Positions that are always in the window, newest first. Usual: 3000 on 5x5, 10000 on 9x9. More forgets less and
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
    /// Positions the window should hold when `total` positions were published.
    pub fn target_positions(&self, total: u64) -> u64 {
        let share = self.fraction.clamp(0.0, 1.0);
        self.base_positions.saturating_add((total as f64 * share) as u64)
    }
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
    /// Positions in all shards of the listing.
    pub total_positions: u64,
}

impl Window {
    /// Takes whole shards from the end of the listing (the newest) until the wanted number of positions is reached.
    pub fn select(shards: &[ShardInfo], config: WindowConfig) -> Window {
        let total_positions = shards.iter().map(ShardInfo::positions).sum();
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
        }
    }
}
