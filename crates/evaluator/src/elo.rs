//! The Elo difference that a score shows, and its uncertainty.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF, Normal};

use crate::null_as_nan::null_as_nan;
use crate::pentanomial::Pentanomial;
use crate::result::WinTieLoss;

/// Quantile of the normal distribution for a 95% interval.
pub(crate) const Z95: f64 = 1.959_963_984_540_054;

/// Player A's strength over player B with its 95% interval.
///
/// - `elo` is the logistic Elo difference of the mean score. The score is kept half a point away from both 0 and the
///   maximum, counted over one more game than was played: a match of 100 games, all won, gives +920, not infinity.
/// - The interval is Wilson's (1927) for the score, with an effective number of independent results: the number of
///   pairs divided by their variance as a share of the largest possible (see [`Pentanomial`]; one won and one lost pair
///   are added for that share only). Near a score of 0 or 1 the outer end of Wilson's interval is too close, so it is
///   replaced by Clopper and Pearson's exact one (1934) if that is farther out. A match that one side won completely
///   does not bound the difference on that side: no number of wins in a row rules out an even stronger winner.
/// - `los` is the likelihood of superiority: the probability that A's true score is above ½, from the same variance and
///   the normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredEstimate")]
pub struct EloEstimate {
    /// Elo difference, positive when A is stronger. Always finite.
    pub elo: f64,
    /// Lower end of the 95% interval; `None` if there is none, because A has not scored at all.
    pub elo_low: Option<f64>,
    /// Upper end of the 95% interval; `None` if there is none, because B has not scored at all.
    pub elo_high: Option<f64>,
    /// Likelihood of superiority, 0 to 1.
    pub los: f64,
}

/// An estimate as read from a file. Version 0.1.0 ended the interval of a one-sided match at the estimate itself, which
/// no other interval does, so such an end is read as unbounded.
#[derive(Deserialize)]
struct StoredEstimate {
    #[serde(deserialize_with = "null_as_nan")]
    elo: f64,
    elo_low: Option<f64>,
    elo_high: Option<f64>,
    #[serde(deserialize_with = "null_as_nan")]
    los: f64,
}

impl From<StoredEstimate> for EloEstimate {
    fn from(stored: StoredEstimate) -> EloEstimate {
        let StoredEstimate {
            elo,
            elo_low,
            elo_high,
            los,
        } = stored;
        EloEstimate {
            elo,
            elo_low: elo_low.filter(|&low| low < elo),
            elo_high: elo_high.filter(|&high| high > elo),
            los,
        }
    }
}

impl EloEstimate {
    /// The estimate from all games, whether or not their pair is complete, with the variance of the pairs.
    ///
    /// Without pairs, the variance of single games is estimated from `wins`, `ties`, and `losses` in the same way.
    pub fn of(wins: u64, ties: u64, losses: u64, pairs: &Pentanomial) -> EloEstimate {
        let all = WinTieLoss { wins, ties, losses };
        EloEstimate::without_repeats(&all, &all, pairs)
    }

    /// [`EloEstimate::of`] if some games are copies of others, which neither `distinct` nor `pairs` contain: the score
    /// is that of all games, but copies do not make it surer.
    pub(crate) fn without_repeats(all: &WinTieLoss, distinct: &WinTieLoss, pairs: &Pentanomial) -> EloEstimate {
        let WinTieLoss { wins, ties, losses } = *distinct;
        let games = distinct.games() as f64;
        if games == 0.0 {
            return EloEstimate {
                elo: 0.0,
                elo_low: None,
                elo_high: None,
                los: 0.5,
            };
        }
        let score = all.points() / all.games() as f64;
        let results = match pairs.pairs() {
            0 => games / single_variance_share(wins, ties, losses),
            _ => games / 2.0 / pairs.variance_share(),
        };
        let margin = 0.5 / (games + 1.0);
        EloEstimate {
            elo: elo_of_score(score.clamp(margin, 1.0 - margin)),
            elo_low: upper_end(1.0 - score, results).map(|high| -elo_of_score(high)),
            elo_high: upper_end(score, results).map(elo_of_score),
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

/// The upper end of the 95% interval of the true score; `None` if the score is 1, which excludes no higher true score.
fn upper_end(score: f64, results: f64) -> Option<f64> {
    if score >= 1.0 {
        return None;
    }
    let z2 = Z95 * Z95 / results;
    let center = (score + z2 / 2.0) / (1.0 + z2);
    let wilson = center + (z2 * (score * (1.0 - score) + z2 / 4.0)).sqrt() / (1.0 + z2);
    let exact = match score > 0.5 {
        true => clopper_pearson(score, results),
        false => 0.0,
    };
    Some(wilson.max(exact))
}

/// The true score that gives at most this many points with a probability of 2.5 %.
fn clopper_pearson(score: f64, results: f64) -> f64 {
    let points = score * results;
    let beta = Beta::new(points + 1.0, results - points).expect("a score below 1 leaves some points");
    beta.inverse_cdf(0.975)
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
        let won_low = won.elo_low.expect("a bound");
        assert!((won.elo - 921.3).abs() < 1.0 && won.elo_high.is_none(), "{won:?}");
        assert!(won_low > 400.0 && won_low < 600.0 && won.los > 0.999_999, "{won:?}");
        let lost = EloEstimate::of(
            0,
            0,
            100,
            &Pentanomial {
                counts: [50, 0, 0, 0, 0],
            },
        );
        let lost_high = lost.elo_high.expect("a bound");
        assert!((lost.elo + won.elo).abs() < 1e-6 && (lost_high + won_low).abs() < 1e-6 && lost.elo_low.is_none());
        let one = EloEstimate::of(1, 0, 0, &Pentanomial::default());
        let low = one.elo_low.expect("a bound");
        assert!(low < 0.0 && one.elo > 0.0 && one.los < 0.95, "{one:?}");
        let none = EloEstimate::of(0, 0, 0, &Pentanomial::default());
        assert_eq!((none.elo, none.elo_low, none.elo_high), (0.0, None, None));
    }

    /// The probability that the interval of `games` independent games without ties contains the true score, exactly:
    /// the sum over all numbers of wins.
    fn coverage(games: u64, truth: f64) -> f64 {
        // From the likelier end, so that no probability underflows.
        let likely = truth.max(1.0 - truth);
        let mut chance = likely.powi(games as i32);
        let mut covered = 0.0;
        for unlikely in 0..=games {
            let wins = if truth > 0.5 { games - unlikely } else { unlikely };
            let estimate = EloEstimate::of(wins, 0, games - wins, &Pentanomial::default());
            let truth_elo = elo_of_score(truth);
            let above = estimate.elo_low.is_none_or(|low| low <= truth_elo);
            let below = estimate.elo_high.is_none_or(|high| truth_elo <= high);
            covered += if above && below { chance } else { 0.0 };
            chance *= (games - unlikely) as f64 / (unlikely + 1) as f64 * (1.0 - likely) / likely;
        }
        covered
    }

    /// An interval cut off at the estimate contained a true score of 0.98 after 20 games with probability 0.
    #[test]
    fn the_interval_contains_extreme_scores_as_often_as_claimed() {
        assert!((coverage(20, 0.98) - 0.993).abs() < 0.001, "{}", coverage(20, 0.98));
        for games in [10, 20, 50, 100, 200] {
            for thousandth in 1..1000 {
                let truth = f64::from(thousandth) / 1000.0;
                let covered = coverage(games, truth);
                assert!(covered > 0.918, "{games} games, true score {truth}: {covered}");
            }
            for truth in [0.98, 0.99, 0.995, 0.999, 0.9999] {
                assert!(coverage(games, truth) > 0.94, "{games} games, true score {truth}");
                assert!((coverage(games, truth) - coverage(games, 1.0 - truth)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn unbounded_ends_are_null_and_old_files_are_understood() {
        let won = EloEstimate::of(20, 0, 0, &Pentanomial::default());
        let text = serde_json::to_value(won).expect("JSON");
        assert!(
            text["elo"].is_f64() && text["elo_low"].is_f64() && text["elo_high"].is_null(),
            "{text}"
        );
        assert_eq!(serde_json::from_value::<EloEstimate>(text).expect("an estimate"), won);
        let old = r#"{"elo": 645.0, "elo_low": 287.0, "elo_high": 645.0, "los": 0.99}"#;
        let old: EloEstimate = serde_json::from_str(old).expect("an estimate");
        assert_eq!((old.elo, old.elo_low, old.elo_high), (645.0, Some(287.0), None));
        let old = r#"{"elo": -645.0, "elo_low": -645.0, "elo_high": -287.0, "los": 0.01}"#;
        let old: EloEstimate = serde_json::from_str(old).expect("an estimate");
        assert_eq!((old.elo, old.elo_low, old.elo_high), (-645.0, None, Some(-287.0)));
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
        let width = |estimate: EloEstimate| estimate.elo_high.expect("a bound") - estimate.elo_low.expect("a bound");
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
                let above = estimate.elo_low.is_none_or(|low| low <= truth);
                inside += u32::from(above && estimate.elo_high.is_none_or(|high| truth <= high));
            }
            assert!(
                (930..=1000).contains(&inside),
                "{strength} {bias} {ties} {pairs}: {inside} of 1000"
            );
        }
    }
}
