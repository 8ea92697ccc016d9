//! The settings of a search.

use serde::{Deserialize, Serialize};

use tengen_rules::{SettingError, check_setting};

use crate::method::SearchMethod;

/// How a search spends its visits and what it maximizes.
///
/// With the defaults, training from zero solved 5x5 in under a minute on two cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// Visits below the root per search (not counting the evaluation of the root itself). Usual: 8 to 16 in self-play,
    /// 64 or more in matches; 0 plays the network's policy without search. More is stronger and slower.
    pub visits: u32,
    /// The rule that distributes visits. Usual: `gumbel`, which is strong with few; `puct` suits many.
    pub method: SearchMethod,
    /// The number of moves that `gumbel` tries at the root. The pass is always one of them if there are four or more
    /// (two or more after a pass). Usual: 8 to 16. More widens the search, with fewer visits for each move; never more
    /// than `visits`.
    pub candidates: u32,
    /// The constant c_visit in sigma(q) = (c_visit + most visits of a move) × c_scale × q (Danihelka et al., 2022,
    /// section 5), in visits. Usual: 50. Larger gives values more weight relative to priors while visits are few.
    pub c_visit: f32,
    /// The factor c_scale in sigma(q), where q is between 0 and 1. Usual: 0.5 with `c_visit` 50 on
    /// small boards, 1 on 9x9. Larger gives values more weight relative to priors, both in the choice of moves and in
    /// the policy target.
    pub c_scale: f32,
    /// The exploration constant of `puct`: a move's bonus is this × prior × √(visits of the parent) / (1 + own visits),
    /// where utilities are between −1 and 1. Usual: 1. Larger tries more moves before searching deeper.
    pub c_puct: f32,
    /// For `puct`, the assumed value of an unvisited move is that of its parent minus this × √(total prior of the moves
    /// visited so far). Usual: 0.2. Larger makes the search widen later; 0 values unvisited moves like their parent.
    pub fpu_reduction: f32,
    /// The factor k of forced playouts with `puct` and noise (Wu 2019, section 3.2): a root move that is tried gets at
    /// least √(k × prior × visits of the root) visits, and those that only force explains are left out of the policy
    /// target. Usual: 0 (none), or 2 as in KataGo. Larger explores moves with small priors longer.
    pub forced_playouts: f32,
    /// For `puct`, the number of standard errors by which a lower bound lies below a move's utility. The move to play
    /// is the one with the highest lower bound among those with at least 15% of the most visits. Usual: 0, which plays
    /// the most visited move, in self-play; 2 in matches. Larger favors moves with many visits.
    pub lcb: f32,
    /// The weight of the expected margin in the utility that the search maximizes, 0 to 1:
    /// Q = (1 − share) × (P(win) − P(loss)) + share × margin / area. Usual: 0.3. Larger plays for points even when the
    /// game is decided; 0 only plays to win.
    pub margin_share: f32,
    /// Whether to add noise at the root for exploration: Gumbel noise with `gumbel`; with `puct` a quarter of each
    /// prior comes from a Dirichlet distribution with total concentration 10.83. Usual: true in self-play, false in
    /// matches, where `gumbel` then tries the moves with the highest priors.
    pub noise: bool,
    /// Whether every position is mapped to the smallest of its symmetric images before evaluation. Usual: true, so that
    /// symmetric positions share one evaluation and the network has to learn only one orientation.
    pub canonical: bool,
    /// The number of mirror images of a position, including its own, over which each prediction is averaged, 1 to 8; on
    /// a board that is not square at most 4. Usual: 1. Each costs an evaluation, and only networks trained on random
    /// images know all of them.
    pub images: u32,
    /// The same for the root alone, where priors matter most; the larger of the two applies. Usual: 1.
    pub root_images: u32,
    /// Whether the result includes an ownership map: the mean of the network's maps over the root and every position
    /// evaluated in the search. Usual: false; true takes about twice the memory for every cached evaluation.
    pub ownership: bool,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            visits: 8,
            method: SearchMethod::default(),
            candidates: 8,
            c_visit: 50.0,
            c_scale: 0.5,
            c_puct: 1.0,
            fpu_reduction: 0.2,
            forced_playouts: 0.0,
            lcb: 0.0,
            margin_share: 0.3,
            noise: true,
            canonical: true,
            images: 1,
            root_images: 1,
            ownership: false,
        }
    }
}

impl SearchConfig {
    /// The settings for competitive play with this many visits: without noise, and with more weight on values when the
    /// move to play is chosen, by `c_scale` with `gumbel` and by `lcb` with `puct`, which is stronger on 9x9.
    pub fn for_play(visits: u32) -> Self {
        Self {
            visits,
            noise: false,
            c_scale: 1.0,
            lcb: 2.0,
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
        check_setting("forced_playouts", self.forced_playouts, 0.0..=1e6)?;
        check_setting("lcb", self.lcb, 0.0..=1e6)?;
        check_setting("images", self.images, 1..=8)?;
        check_setting("root_images", self.root_images, 1..=8)?;
        check_setting("margin_share", self.margin_share, 0.0..=1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validation_names_the_invalid_field() {
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
