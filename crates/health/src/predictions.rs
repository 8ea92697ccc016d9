//! Detects memorization: compares the network's predictions on held-out games, which are never trained on, with those
//! on the training window.

use tengen_trainer::Validation;

use crate::random_games::Blindness;

/// Fewer held-out games than this say more about themselves than about the network.
const MIN_GAMES: usize = 3;

/// Validations before the first warning, and training steps before it.
const MIN_LOOKS: u32 = 3;
const MIN_STEP: u64 = 500;

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
    /// The training step.
    pub step: u64,
    /// On positions of held-out games.
    pub held_out: Validation,
    /// On positions of the training window.
    pub window: Validation,
    /// Brier score at the end of random games.
    pub random_brier: f64,
    /// Held-out games in the window.
    pub games: usize,
    /// Positions of those games.
    pub positions: u64,
}

impl Comparison {
    /// How much larger the loss is on held-out games, as a share of the loss on the window.
    fn gap(&self) -> f64 {
        self.held_out.losses.total / self.window.losses.total - 1.0
    }

    /// The comparison in one line for the screen; at most 68 characters for usual figures.
    pub fn in_words(&self) -> String {
        let held_out = &self.held_out;
        let decimals = usize::from(held_out.margin_error < 9.95);
        format!(
            "loss {:.2} (window {:.2}), top-1 {:.0}%, Brier {:.2}, ECE {:.2}, margin {:.decimals$}",
            held_out.losses.total,
            self.window.losses.total,
            100.0 * held_out.policy_top1,
            held_out.brier,
            held_out.calibration_error,
            held_out.margin_error
        )
    }

    /// The comparison as an event for the run's metrics.
    pub fn event(&self) -> tengen_metrics::Validation {
        let (held_out, window) = (&self.held_out, &self.window);
        tengen_metrics::Validation {
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

/// Turns what the trainer's window and validations show over time into warnings.
#[derive(Debug, Default)]
pub struct Warnings {
    has_missed_results: bool,
    remembering: Remembering,
    blindness: Blindness,
}

impl Warnings {
    /// Records a comparison. Returns warnings if the network memorizes games or goes blind, each once.
    pub fn look(&mut self, comparison: &Comparison) -> impl Iterator<Item = String> + use<> {
        let remembers = self.remembering.look(comparison);
        remembers
            .into_iter()
            .chain(self.blindness.look(comparison.step, comparison.random_brier))
    }

    /// Records that none of the window's positions can be trained on. Returns a warning the first time.
    pub fn miss_results(&mut self, positions: u64) -> Option<String> {
        let is_first = !std::mem::replace(&mut self.has_missed_results, true);
        is_first.then(|| {
            format!(
                "warning: none of the {positions} newest positions can be trained on: their games reached the ply \
                 limit without a result, or are held out; training waits for a game with a result; if none comes, \
                 raise selfplay.ply_limit_areas, selfplay.search.margin_share, or selfplay.opening.random_share"
            )
        })
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
    /// Records a figure. True the first time that the mean of at least [`MIN_LOOKS`] figures reaches `limit`, unless it
    /// is `too_early`.
    pub(crate) fn rings(&mut self, figure: f64, too_early: bool, limit: f64) -> bool {
        self.looks += 1;
        self.mean += (figure - self.mean) * RATE.max(1.0 / f64::from(self.looks));
        let rings = !self.has_rung && !too_early && self.looks >= MIN_LOOKS && self.mean >= limit;
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
        if !self
            .gap
            .rings(gap, comparison.step < MIN_STEP, warn_from(comparison.games))
        {
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
            step: 500,
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
        assert_eq!(warnings(&comparison(2.8, 2.0, 50), 2), 0, "a few looks prove nothing");
        let early = Comparison {
            step: 499,
            ..comparison(2.8, 2.0, 50)
        };
        assert_eq!(
            warnings(&early, 40),
            0,
            "a network that has hardly trained proves nothing"
        );
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
    fn the_screen_shows_all_figures_in_eighty_columns() {
        let mut comparison = comparison(2.345, 2.2, 50);
        let words = comparison.in_words();
        assert_eq!(
            words,
            "loss 2.35 (window 2.20), top-1 50%, Brier 0.20, ECE 0.10, margin 3.0"
        );
        comparison.held_out.margin_error = 12.3;
        assert!(comparison.in_words().ends_with("margin 12"));
        assert!(words.len() + "  held out  ".len() <= 80);
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
