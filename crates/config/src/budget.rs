//! The limits at which a run ends.

use serde::{Deserialize, Serialize};

use tengen_rules::{SettingError, check_setting};

use crate::ledger::Ledger;

/// When a run ends: at the first limit reached. Limits count from the start of the run, across all resumes; 0 means no
/// limit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetConfig {
    /// Minutes of self-play and training, without pauses between resumes.
    pub minutes: f64,
    /// Maximum number of finished self-play games.
    pub games: u64,
    /// Maximum number of network evaluations in self-play.
    pub evaluations: u64,
    /// Maximum number of training steps.
    pub steps: u64,
    /// Seconds of CPU time of all threads together.
    pub cpu_seconds: f64,
}

impl BudgetConfig {
    /// The share of the budget that is spent, from 0 to 1 or more, for the limit closest to being reached; 0 without
    /// limits.
    pub fn spent(&self, ledger: &Ledger, games: u64, steps: u64) -> f64 {
        let shares = [
            (ledger.elapsed_seconds, self.minutes * 60.0),
            (games as f64, self.games as f64),
            (ledger.evaluations as f64, self.evaluations as f64),
            (steps as f64, self.steps as f64),
            (ledger.cpu_seconds, self.cpu_seconds),
        ];
        let limited = shares.iter().filter(|(_, limit)| *limit > 0.0);
        limited.map(|(spent, limit)| spent / limit).fold(0.0, f64::max)
    }

    /// Whether any limit is set, so that the run ends by itself.
    pub fn is_limited(&self) -> bool {
        self.minutes > 0.0 || self.games > 0 || self.evaluations > 0 || self.steps > 0 || self.cpu_seconds > 0.0
    }

    /// Checks every setting's range.
    pub(crate) fn validate(&self) -> Result<(), SettingError> {
        check_setting("budget.minutes", self.minutes, 0.0..=1e9)?;
        check_setting("budget.cpu_seconds", self.cpu_seconds, 0.0..=1e12)
    }
}
