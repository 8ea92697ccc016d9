//! The settings of a search.

use serde::{Deserialize, Serialize};

/// How a search spends its visits and what it calls good.
///
/// The defaults solved 5x5 from zero in under a minute of two cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// Visits below the root per search (the root's own evaluation is not counted). Usual: 8 to 16 in self-play, 64
    /// and more in matches; 0 plays the network's policy without looking ahead. More is stronger and slower.
    pub visits: u32,
    /// Moves tried at the root, the pass always among them where there are two or more. Usual: 8 to 16. More widens
    /// the search at the cost of visits for each; never more than `visits` are taken.
    pub candidates: u32,
    /// The constant c_visit in sigma(q) = (c_visit + most visits of a move) × c_scale × q (Danihelka et al., 2022,
    /// section 5), in visits. Usual: 50. Larger trusts values more against priors while visits are few.
    pub c_visit: f32,
    /// The factor c_scale in sigma(q), where q lies between 0 and 1. Usual: 0.5 with `c_visit` 50. Larger trusts
    /// values more against priors, in the choice of moves and in the policy target.
    pub c_scale: f32,
    /// The share of the expected margin in what the search maximises, 0 to 1:
    /// Q = (1 − share) × (P(win) − P(loss)) + share × margin / area. Usual: 0.3. Larger plays for points, also when
    /// the game is decided; 0 plays to win only.
    pub margin_share: f32,
    /// Whether Gumbel noise explores at the root. Usual: true in self-play, false in matches, where the candidates
    /// are then the moves with the highest priors.
    pub noise: bool,
    /// Whether every position is turned to the smallest of its symmetric images before evaluation. Usual: true; it
    /// lets symmetric positions share one evaluation and gives the network a single frame to learn.
    pub canonical: bool,
    /// Whether the result carries the network's ownership map of the root. Usual: false; true costs one evaluation
    /// per search that the cache could have answered.
    pub ownership: bool,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            visits: 8,
            candidates: 8,
            c_visit: 50.0,
            c_scale: 0.5,
            margin_share: 0.3,
            noise: true,
            canonical: true,
            ownership: false,
        }
    }
}

impl SearchConfig {
    /// The settings for serious play with this many visits: no noise.
    pub fn for_play(visits: u32) -> Self {
        Self {
            visits,
            noise: false,
            ..Self::default()
        }
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    /// A sentence naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), String> {
        if self.candidates == 0 {
            return Err("search.candidates must be at least 1".to_owned());
        }
        for (name, value) in [("c_visit", self.c_visit), ("c_scale", self.c_scale)] {
            if !(0.0..=1e6).contains(&value) {
                return Err(format!("search.{name} must be between 0 and 1000000, found {value}"));
            }
        }
        if !(0.0..=1.0).contains(&self.margin_share) {
            return Err(format!(
                "search.margin_share must be between 0 and 1, found {}",
                self.margin_share
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named() {
        assert_eq!(SearchConfig::default().validate(), Ok(()));
        let bad = SearchConfig {
            margin_share: 1.5,
            ..SearchConfig::default()
        };
        assert!(bad.validate().unwrap_err().contains("margin_share"));
        let bad = SearchConfig {
            c_scale: f32::NAN,
            ..SearchConfig::default()
        };
        assert!(bad.validate().unwrap_err().contains("c_scale"));
    }
}
