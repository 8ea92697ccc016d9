//! The settings of a search.

use serde::{Deserialize, Serialize};
use tengen_rules::{SettingError, check_setting};

/// By which rule visits are shared out among moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMethod {
    /// Gumbel top-k and sequential halving at the root, improved policies below (Danihelka et al., 2022): the budget
    /// must be known when the search begins. Strong with few visits.
    #[default]
    Gumbel,
    /// PUCT everywhere (Silver et al., 2018), with a lowered value for moves without a visit: visits may be added at any
    /// time and flow to the best moves. For live analysis, play by the clock and many visits.
    Puct,
}

/// How a search spends its visits and what it calls good.
///
/// The defaults solved 5x5 from zero in under a minute of two cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// Visits below the root per search (the root's own evaluation is not counted). Usual: 8 to 16 in self-play, 64
    /// and more in matches; 0 plays the network's policy without looking ahead. More is stronger and slower.
    pub visits: u32,
    /// The rule by which visits are shared out: `gumbel` or `puct`.
    pub method: SearchMethod,
    /// Moves tried at the root by `gumbel`, the pass always among them where there are two or more. Usual: 8 to 16. More widens
    /// the search at the cost of visits for each; never more than `visits` are taken.
    pub candidates: u32,
    /// The constant c_visit in sigma(q) = (c_visit + most visits of a move) × c_scale × q (Danihelka et al., 2022,
    /// section 5), in visits. Usual: 50. Larger trusts values more against priors while visits are few.
    pub c_visit: f32,
    /// The factor c_scale in sigma(q), where q lies between 0 and 1. Usual: 0.5 with `c_visit` 50. Larger trusts
    /// values more against priors, in the choice of moves and in the policy target.
    pub c_scale: f32,
    /// The exploration constant of `puct`: a move's bonus is this × prior × √visits of the parent / (1 + own visits), where
    /// utilities lie between −1 and 1. Usual: 1. Larger tries more moves before it goes deep.
    pub c_puct: f32,
    /// `puct` takes the value of a move without a visit to be that of its parent less this × √(prior of the moves visited so
    /// far). Usual: 0.2. Larger widens the search later; 0 trusts unknown moves as much as known ones.
    pub fpu_reduction: f32,
    /// The share of the expected margin in what the search maximises, 0 to 1:
    /// Q = (1 − share) × (P(win) − P(loss)) + share × margin / area. Usual: 0.3. Larger plays for points, also when
    /// the game is decided; 0 plays to win only.
    pub margin_share: f32,
    /// Whether noise explores at the root: Gumbel noise with `gumbel`; with `puct` a quarter of each prior comes from a
    /// Dirichlet distribution of total weight 10.83. Usual: true in self-play, false in matches, where `gumbel` then tries
    /// the moves with the highest priors.
    pub noise: bool,
    /// Whether every position is turned to the smallest of its symmetric images before evaluation. Usual: true; it
    /// lets symmetric positions share one evaluation and gives the network a single frame to learn.
    pub canonical: bool,
    /// Whether the result carries an ownership map: the mean of the network's maps over the root and every position the
    /// search looked at. Usual: false; true takes about twice the memory for every evaluation that the cache keeps.
    pub ownership: bool,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            visits: 8,
            method: SearchMethod::Gumbel,
            candidates: 8,
            c_visit: 50.0,
            c_scale: 0.5,
            c_puct: 1.0,
            fpu_reduction: 0.2,
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
    /// [`SettingError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("candidates", self.candidates, 1..)?;
        check_setting("c_visit", self.c_visit, 0.0..=1e6)?;
        check_setting("c_scale", self.c_scale, 0.0..=1e6)?;
        check_setting("c_puct", self.c_puct, 0.0..=1e6)?;
        check_setting("fpu_reduction", self.fpu_reduction, 0.0..=1e6)?;
        check_setting("margin_share", self.margin_share, 0.0..=1.0)
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
        assert_eq!(bad.validate().unwrap_err().key, "margin_share");
        let bad = SearchConfig {
            c_scale: f32::NAN,
            ..SearchConfig::default()
        };
        assert_eq!(bad.validate().unwrap_err().key, "c_scale");
        let bad = SearchConfig {
            c_puct: -1.0,
            ..SearchConfig::default()
        };
        assert_eq!(bad.validate().unwrap_err().key, "c_puct");
    }
}
