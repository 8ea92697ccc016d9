//! How much of a run's effort goes into its old games.

use serde::{Deserialize, Serialize};

use tengen_rules::{SettingError, check_setting};

/// Searching old games again. Off by default.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReanalysisConfig {
    /// Share of the training samples that are positions of old games, searched again with the newest network and the
    /// visits of self-play, 0 to 0.9. Usually 0, which reanalyzes nothing; 0.1 is a little. A higher share plays fewer
    /// new games for the same number of training steps.
    pub share: f64,
}

impl ReanalysisConfig {
    /// Checks the range.
    ///
    /// # Errors
    /// [`SettingError`] if the share is out of range.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("reanalysis.share", self.share, 0.0..=0.9)
    }

    /// Whether old games are reanalyzed.
    pub fn is_on(&self) -> bool {
        self.share > 0.0
    }

    /// Number of positions to reanalyze for each position of self-play to train on, so that all of them are drawn
    /// equally often.
    pub fn per_row(&self) -> f64 {
        self.share / (1.0 - self.share)
    }

    /// Number of samples drawn in all for each sample drawn from self-play.
    pub fn draws(&self) -> f64 {
        1.0 / (1.0 - self.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_fifth_reanalyzes_one_position_for_four_played() {
        let config = ReanalysisConfig { share: 0.2 };
        assert!(config.validate().is_ok() && config.is_on());
        assert!((config.per_row() - 0.25).abs() < 1e-12);
        assert!((config.draws() - 1.25).abs() < 1e-12);
        assert!(!ReanalysisConfig::default().is_on());
        assert!(ReanalysisConfig { share: 1.0 }.validate().is_err());
    }
}
