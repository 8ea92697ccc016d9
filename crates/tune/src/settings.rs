//! Settings of self-play, and what was measured with them.

use serde::Serialize;

use tengen_network::Precision;
use tengen_report::thousands;

/// Settings of self-play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Number format of the predictions.
    pub precision: Precision,
    /// `loop.workers`.
    pub workers: usize,
    /// `loop.groups_per_worker`.
    pub groups: usize,
    /// `selfplay.games_per_group`.
    pub games: u32,
}

/// Settings of self-play that were tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// What was tried.
    #[serde(flatten)]
    pub settings: Settings,
    /// Evaluations of the network per second, all workers together.
    pub evaluations_per_second: f64,
    /// Positions played per second, in all searches.
    pub positions_per_second: f64,
}

impl Settings {
    /// Games at a time.
    pub(crate) fn in_flight(&self) -> u64 {
        (self.workers * self.groups) as u64 * u64::from(self.games)
    }

    pub(crate) fn columns(&self) -> String {
        format!(
            "{:<6} {:>7} {:>6} {:>6}",
            self.precision, self.workers, self.groups, self.games
        )
    }
}

impl Trial {
    pub(crate) fn row(&self) -> String {
        format!(
            "{} {:>14} {:>14}",
            self.settings.columns(),
            thousands(self.evaluations_per_second.round() as u64),
            thousands(self.positions_per_second.round() as u64),
        )
    }
}
