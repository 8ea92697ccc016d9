//! Which Elo difference does a score show, and with what uncertainty?

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::pentanomial::Pentanomial;
use crate::text;

/// Quantile of the normal distribution for a 95% interval.
pub(crate) const Z95: f64 = 1.959_963_984_540_054;

/// Player A's strength over player B with its 95% interval. All numbers are finite.
///
/// - `elo` is the logistic Elo difference of the mean score. The score is kept half a point away from both 0 and the
///   maximum, counted over one more game than was played: a match of 100 games, all won, gives +920, not infinity.
/// - The interval is Wilson's (1927) for the score, with an effective number of independent results: the number of
///   pairs divided by their variance as a share of the largest possible (see [`Pentanomial`]; one won and one lost pair
///   are added for that share only). The ends of the interval are kept away from 0 and 1 in the same way.
/// - `los` is the likelihood of superiority: the probability that A's true score is above ½, from the same variance and
///   the normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EloEstimate {
    /// Elo difference, positive when A is stronger.
    #[serde(deserialize_with = "text::number")]
    pub elo: f64,
    /// Lower end of the 95% interval.
    #[serde(deserialize_with = "text::number")]
    pub elo_low: f64,
    /// Upper end of the 95% interval.
    #[serde(deserialize_with = "text::number")]
    pub elo_high: f64,
    /// Likelihood of superiority, 0 to 1.
    #[serde(deserialize_with = "text::number")]
    pub los: f64,
}

impl EloEstimate {
    /// The estimate from all games, whether or not their pair is complete, with the variance of the pairs.
    ///
    /// Without pairs, the variance of single games is estimated from `wins`, `ties`, and `losses` in the same way.
    pub fn of(wins: u64, ties: u64, losses: u64, pairs: &Pentanomial) -> EloEstimate {
        let games = (wins + ties + losses) as f64;
        if games == 0.0 {
            return EloEstimate {
                elo: 0.0,
                elo_low: elo_of_score(0.25),
                elo_high: elo_of_score(0.75),
                los: 0.5,
            };
        }
        let score = (wins as f64 + ties as f64 / 2.0) / games;
        let results = match pairs.pairs() {
            0 => games / single_variance_share(wins, ties, losses),
            _ => games / 2.0 / pairs.variance_share(),
        };
        let (low, high) = wilson(score, results);
        let margin = 0.5 / (games + 1.0);
        let elo = |score: f64| elo_of_score(score.clamp(margin, 1.0 - margin));
        EloEstimate {
            elo: elo(score),
            elo_low: elo(low),
            elo_high: elo(high),
            los: likelihood_of_superiority(score, results),
        }
    }
}

fn single_variance_share(wins: u64, ties: u64, losses: u64) -> f64 {
    let (wins, ties, losses) = (wins as f64 + 1.0, ties as f64, losses as f64 + 1.0);
    let games = wins + ties + losses;
    let mean = (wins + ties / 2.0) / games;
    let square = (wins + ties / 4.0) / games;
    (square - mean * mean) / (mean * (1.0 - mean))
}

fn wilson(score: f64, results: f64) -> (f64, f64) {
    let z2 = Z95 * Z95 / results;
    let center = (score + z2 / 2.0) / (1.0 + z2);
    let half = (z2 * (score * (1.0 - score) + z2 / 4.0)).sqrt() / (1.0 + z2);
    (center - half, center + half)
}

/// Elo difference of a score between 0 and 1: −400 log₁₀(1 / score − 1).
pub fn elo_of_score(score: f64) -> f64 {
    -400.0 * (1.0 / score - 1.0).log10()
}

/// The score that an Elo difference predicts: 1 / (1 + 10^(−elo / 400)).
pub fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// The probability that the true score is above ½, given a mean score from a number of effective results. Like Wilson's
/// interval, it uses the null hypothesis's variance of ¼ per result, which stays reasonable for scores of 0 and 1.
pub fn likelihood_of_superiority(score: f64, results: f64) -> f64 {
    let z = (score - 0.5) / (0.25 / results).sqrt();
    Normal::standard().cdf(z)
}

#[cfg(test)]
mod tests {
    use tengen_rng as rng;

    use super::*;

    #[test]
    fn elo_and_score_are_inverse() {
        for (score, elo) in [
            (0.5, 0.0),
            (0.75, 190.848_501_9),
            (0.909_090_909, 400.0),
            (0.25, -190.848_501_9),
        ] {
            assert!((elo_of_score(score) - elo).abs() < 1e-4);
            assert!((score_of_elo(elo) - score).abs() < 1e-8);
        }
    }

    #[test]
    fn perfect_scores_stay_finite() {
        let won = EloEstimate::of(
            100,
            0,
            0,
            &Pentanomial {
                counts: [0, 0, 0, 0, 50],
            },
        );
        assert!((won.elo - 921.3).abs() < 1.0 && won.elo_high == won.elo, "{won:?}");
        assert!(
            won.elo_low > 400.0 && won.elo_low < 600.0 && won.los > 0.999_999,
            "{won:?}"
        );
        let lost = EloEstimate::of(
            0,
            0,
            100,
            &Pentanomial {
                counts: [50, 0, 0, 0, 0],
            },
        );
        assert!((lost.elo + won.elo).abs() < 1e-6 && (lost.elo_high + won.elo_low).abs() < 1e-6);
        let one = EloEstimate::of(1, 0, 0, &Pentanomial::default());
        assert!(one.elo_low < 0.0 && one.elo > 0.0 && one.los < 0.95, "{one:?}");
        let none = EloEstimate::of(0, 0, 0, &Pentanomial::default());
        assert!(none.elo == 0.0 && none.elo_low < -100.0);
    }

    #[test]
    fn even_pairs_narrow_the_interval() {
        let independent = EloEstimate::of(
            100,
            0,
            100,
            &Pentanomial {
                counts: [25, 0, 50, 0, 25],
            },
        );
        let decided_by_color = EloEstimate::of(
            100,
            0,
            100,
            &Pentanomial {
                counts: [0, 0, 100, 0, 0],
            },
        );
        let linked = EloEstimate::of(
            100,
            0,
            100,
            &Pentanomial {
                counts: [50, 0, 0, 0, 50],
            },
        );
        let width = |estimate: EloEstimate| estimate.elo_high - estimate.elo_low;
        assert!(width(decided_by_color) < width(independent) / 3.0);
        assert!((width(linked) / width(independent) - 2f64.sqrt()).abs() < 0.05);
        // 200 independent games: 1.96 × ½ / √200 = 0.0693 of the score, 48 Elo to each side.
        assert!((width(independent) / 2.0 - 48.0).abs() < 2.0, "{independent:?}");
    }

    /// Draws the results of a pair of games, given A's strength, the opening's bias toward Black, and the chance of a
    /// tie.
    fn draw_pair(rng: &mut rng::Rng, strength: f64, bias: f64, ties: f64) -> (f64, f64) {
        let bonus = if rng::unit_f64(rng) < 0.5 { bias } else { -bias };
        let mut game = |win: f64| match rng::unit_f64(rng) {
            u if u < ties => 0.5,
            _ => f64::from(u8::from(rng::unit_f64(rng) < win)),
        };
        (
            game((strength + bonus).clamp(0.0, 1.0)),
            game((strength - bonus).clamp(0.0, 1.0)),
        )
    }

    #[test]
    fn the_interval_contains_the_truth_as_often_as_claimed() {
        for (strength, bias, ties, pairs) in [
            (0.5, 0.0, 0.0, 50),
            (0.6, 0.3, 0.0, 50),
            (0.7, 0.1, 0.3, 30),
            (0.9, 0.05, 0.0, 100),
            (0.5, 0.5, 0.0, 40),
        ] {
            let truth = elo_of_score(ties / 2.0 + (1.0 - ties) * strength);
            let mut inside = 0;
            for run in 0..1000 {
                let mut rng = rng::stream(11, &[run, pairs]);
                let mut counts = Pentanomial::default();
                let (mut wins, mut tied, mut losses) = (0, 0, 0);
                for _ in 0..pairs {
                    let (first, second) = draw_pair(&mut rng, strength, bias, ties);
                    counts.add(first, second);
                    for points in [first, second] {
                        wins += u64::from(points == 1.0);
                        tied += u64::from(points == 0.5);
                        losses += u64::from(points == 0.0);
                    }
                }
                let estimate = EloEstimate::of(wins, tied, losses, &counts);
                inside += u32::from(estimate.elo_low <= truth && truth <= estimate.elo_high);
            }
            assert!(
                (930..=1000).contains(&inside),
                "{strength} {bias} {ties} {pairs}: {inside} of 1000"
            );
        }
    }
}
