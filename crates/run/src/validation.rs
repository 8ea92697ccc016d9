//! Detects memorization: compares the network's predictions on held-out games, which are never trained on, with those
//! on the training window.

use tengen_report::metrics;
use tengen_trainer::Validation;

use crate::random_games::Blindness;

/// Positions of each kind per validation.
pub(crate) const SAMPLES: usize = 512;

/// Fewer held-out games than this say more about themselves than about the network.
const MIN_GAMES: usize = 3;

/// Validations before the first warning.
const MIN_LOOKS: u32 = 5;

/// Weight of the newest figure in a running mean.
const RATE: f64 = 0.2;

/// The mean gap, as a share of the loss on the window, from which the network counts as memorizing if there are many
/// held-out games. With a reuse of 50, runs of `configs/5x5.toml` exceeded 0.5 within a minute.
const WARN_FROM: f64 = 0.25;

/// What is added to that for one held-out game; for more games, it falls with the square root of their number. In 16
/// sound runs of `configs/5x5.toml`, single gaps with 21 to 50 games had a standard deviation of 0.11, and mean gaps
/// came to 0.28.
const CHANCE: f64 = 0.65;

/// One comparison of the network's predictions.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    pub(crate) step: u64,
    /// On positions of held-out games.
    pub(crate) held_out: Validation,
    /// On positions of the training window.
    pub(crate) window: Validation,
    /// Brier score at the end of random games.
    pub(crate) random_brier: f64,
    /// Held-out games in the window.
    pub(crate) games: usize,
    /// Positions of those games.
    pub(crate) positions: u64,
}

impl Comparison {
    /// How much larger the loss is on held-out games, as a share of the loss on the window.
    fn gap(&self) -> f64 {
        self.held_out.losses.total / self.window.losses.total - 1.0
    }

    /// The comparison as an event for the run's metrics.
    pub fn event(&self) -> metrics::Validation {
        let (held_out, window) = (&self.held_out, &self.window);
        metrics::Validation {
            step: self.step,
            held_out_games: self.games as u64,
            held_out_positions: self.positions,
            total_loss: held_out.losses.total,
            policy_loss: held_out.losses.policy,
            value_loss: held_out.losses.value,
            margin_loss: held_out.losses.margin,
            ownership_loss: held_out.losses.ownership,
            policy_top1: held_out.policy_top1,
            brier: held_out.brier,
            calibration_error: held_out.calibration_error,
            margin_error: held_out.margin_error,
            window_total_loss: window.losses.total,
            window_policy_loss: window.losses.policy,
            window_value_loss: window.losses.value,
            window_margin_loss: window.losses.margin,
            window_ownership_loss: window.losses.ownership,
            window_policy_top1: window.policy_top1,
            window_brier: window.brier,
            window_calibration_error: window.calibration_error,
            window_margin_error: window.margin_error,
            random_brier: self.random_brier,
        }
    }
}

/// Turns what validations show over time into warnings.
#[derive(Debug, Default)]
pub struct Warnings {
    remembering: Remembering,
    blindness: Blindness,
}

impl Warnings {
    /// Records a comparison. Returns warnings if the network memorizes games or goes blind, each once.
    pub fn look(&mut self, comparison: &Comparison) -> impl Iterator<Item = String> + use<> {
        let remembers = self.remembering.look(comparison);
        remembers
            .into_iter()
            .chain(self.blindness.look(comparison.random_brier))
    }
}

/// A running mean that raises an alarm once if it gets too high.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    /// The running mean.
    pub(crate) mean: f64,
    looks: u32,
    has_rung: bool,
}

impl Alarm {
    /// Records a figure. True the first time that the mean of at least `min_looks` figures reaches `limit`.
    pub(crate) fn rings(&mut self, figure: f64, min_looks: u32, limit: f64) -> bool {
        self.looks += 1;
        self.mean += (figure - self.mean) * RATE.max(1.0 / f64::from(self.looks));
        let rings = !self.has_rung && self.looks >= min_looks && self.mean >= limit;
        self.has_rung |= rings;
        rings
    }
}

/// Watches the gap between the losses on held-out games and on the window, and warns once if it stays wide.
#[derive(Debug, Default)]
pub(crate) struct Remembering {
    gap: Alarm,
}

impl Remembering {
    /// Records a comparison. Returns a warning the first time that the mean gap is wide.
    pub(crate) fn look(&mut self, comparison: &Comparison) -> Option<String> {
        let gap = comparison.gap();
        if comparison.games < MIN_GAMES || !gap.is_finite() {
            return None;
        }
        if !self.gap.rings(gap, MIN_LOOKS, warn_from(comparison.games)) {
            return None;
        }
        Some(format!(
            "warning: the loss on games that are not trained on is {:.0}% higher than on the training window ({:.2} \
             against {:.2} at step {}): the network remembers games instead of learning from them; lower loop.reuse, \
             widen the window, or lower selfplay.full_share",
            100.0 * self.gap.mean,
            comparison.held_out.losses.total,
            comparison.window.losses.total,
            comparison.step
        ))
    }
}

/// The mean gap from which the network counts as memorizing, with this many held-out games in the window.
fn warn_from(games: usize) -> f64 {
    WARN_FROM + CHANCE / (games as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_trainer::Losses;

    fn comparison(held_out: f64, window: f64, games: usize) -> Comparison {
        let validation = |total| Validation {
            losses: Losses {
                total,
                ..Losses::default()
            },
            policy_top1: 0.5,
            brier: 0.2,
            calibration_error: 0.1,
            margin_error: 3.0,
        };
        Comparison {
            step: 100,
            held_out: validation(held_out),
            window: validation(window),
            random_brier: 0.1,
            games,
            positions: 40 * games as u64,
        }
    }

    fn warnings(comparison: &Comparison, looks: usize) -> usize {
        let mut remembering = Remembering::default();
        (0..looks).filter(|_| remembering.look(comparison).is_some()).count()
    }

    #[test]
    fn a_gap_that_stays_wide_is_told_once() {
        assert_eq!(warnings(&comparison(2.8, 2.0, 50), 40), 1);
        assert_eq!(warnings(&comparison(2.8, 2.0, 50), 4), 0, "a few looks prove nothing");
        assert_eq!(warnings(&comparison(2.6, 2.0, 2000), 40), 1);
        assert_eq!(
            warnings(&comparison(2.6, 2.0, 20), 40),
            0,
            "few games may differ by chance"
        );
        assert_eq!(warnings(&comparison(2.4, 2.0, 50), 40), 0, "a narrow gap is usual");
        assert_eq!(warnings(&comparison(3.6, 2.0, 2), 40), 0, "too few games");
        assert_eq!(warnings(&comparison(f64::NAN, 2.0, 50), 40), 0);
    }

    #[test]
    fn a_single_outlier_is_not_told() {
        let mut remembering = Remembering::default();
        for number in 0..40 {
            let held_out = if number == 10 { 3.0 } else { 2.02 };
            assert_eq!(remembering.look(&comparison(held_out, 2.0, 50)), None);
        }
    }
}
