//! Confidence sequences: bounds on a score that hold no matter how often one looks.
//!
//! The method bets on the mean, as in Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
//! betting" (Journal of the Royal Statistical Society B 86, 2024), with a fixed mixture of constant bets instead of
//! predictable ones, as in Orabona and Jun, "Tight concentrations and confidence sequences from the regret of universal
//! portfolio" (IEEE Transactions on Information Theory 70, 2024). A gambler who bets a share f of their wealth that
//! scores x in 0..1 exceed the mean m multiplies the wealth by 1 + f (x / m − 1) with each score. If m is the true
//! mean, the wealth is a martingale, and by Ville's inequality (1939) the probability that it ever reaches 1 / δ is at
//! most δ. Means against which the mixture has won 1 / δ are therefore rejected. The same bets on 1 − x give the upper
//! bound.

use serde::{Deserialize, Serialize};

use crate::elo::elo_of_score;
use crate::null_as_nan::null_as_nan;
use crate::pentanomial::{Pentanomial, SCORES};

/// Bounds on a score that hold at all moments of a match simultaneously, with a probability of at least 95%: one may
/// look after every pair and stop at any moment for any reason. They are wider than an interval for a single look at a
/// moment fixed in advance.
///
/// Each bound alone fails with a probability of at most 2.5%. The bounds depend only on the counts of pairs, which are
/// independent of each other; they use no normal approximation and need no minimum number of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceSequence {
    /// Lower bound of player A's mean score, 0 to 1.
    #[serde(deserialize_with = "null_as_nan")]
    pub score_low: f64,
    /// Upper bound of player A's mean score, 0 to 1.
    #[serde(deserialize_with = "null_as_nan")]
    pub score_high: f64,
    /// The lower bound as an Elo difference; `None` when the score is 0, which no Elo difference predicts.
    pub elo_low: Option<f64>,
    /// The upper bound as an Elo difference; `None` when the score is 1, which no Elo difference predicts.
    pub elo_high: Option<f64>,
}

/// Probability that each of the two bounds fails.
const DELTA: f64 = 0.025;
/// Bisection steps in the search for a bound, which give it to within 10⁻¹² of the score.
const HALVINGS: usize = 40;
/// Number of bets in the mixture, each starting with an equal part of the wealth. Their shares go from 0.01 to 0.99
/// with a fixed ratio: small shares work best for long matches, large shares for short and one-sided ones.
const SHARES: usize = 48;

impl Default for ConfidenceSequence {
    /// The bounds before any game, which exclude no score.
    fn default() -> ConfidenceSequence {
        ConfidenceSequence {
            score_low: 0.0,
            score_high: 1.0,
            elo_low: None,
            elo_high: None,
        }
    }
}

impl ConfidenceSequence {
    /// The bounds after these pairs.
    pub fn of(pairs: &Pentanomial) -> ConfidenceSequence {
        let counts = pairs.counts.map(|count| count as f64);
        let mut mirrored = counts;
        mirrored.reverse();
        let (score_low, score_high) = (lower_bound(&counts), 1.0 - lower_bound(&mirrored));
        ConfidenceSequence {
            score_low,
            score_high,
            elo_low: (score_low > 0.0).then(|| elo_of_score(score_low)),
            elo_high: (score_high < 1.0).then(|| elo_of_score(score_high)),
        }
    }

    /// Whether A (`Some(true)`) or B (`Some(false)`) is clearly stronger; `None` while the bounds include ½.
    pub fn stronger(&self) -> Option<bool> {
        match (self.score_low > 0.5, self.score_high < 0.5) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// The largest mean that is rejected as too low; 0 when none is. The wealth decreases as the mean grows, so bisection
/// finds it.
fn lower_bound(counts: &[f64; 5]) -> f64 {
    let (mut refused, mut possible) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let mean = (refused + possible) / 2.0;
        match log_wealth(counts, &Bets::against(mean)) >= -DELTA.ln() {
            true => refused = mean,
            false => possible = mean,
        }
    }
    refused
}

/// For every share, the logarithm of the factor by which a pair of each score multiplies a bet against a mean.
struct Bets([[f64; 5]; SHARES]);

impl Bets {
    fn against(mean: f64) -> Bets {
        let ratio = (0.99f64 / 0.01).powf(1.0 / (SHARES - 1) as f64);
        let mut share = 0.01 / ratio;
        Bets(std::array::from_fn(|_| {
            share *= ratio;
            SCORES.map(|score| (share * (score / mean - 1.0)).ln_1p())
        }))
    }
}

/// The logarithm of the wealth, which starts at 1.
fn log_wealth(counts: &[f64; 5], bets: &Bets) -> f64 {
    let logs = bets
        .0
        .map(|logs| logs.iter().zip(counts).map(|(log, count)| log * count).sum::<f64>());
    let largest = logs.iter().fold(f64::NEG_INFINITY, |largest, log| largest.max(*log));
    let mean = logs.iter().map(|log| (log - largest).exp()).sum::<f64>() / SHARES as f64;
    largest + mean.ln()
}

#[cfg(test)]
mod tests {
    use tengen_rng as rng;

    use super::*;

    fn of(counts: [u64; 5]) -> ConfidenceSequence {
        ConfidenceSequence::of(&Pentanomial { counts })
    }

    #[test]
    fn no_pairs_give_trivial_bounds() {
        let none = of([0; 5]);
        assert_eq!((none.score_low, none.score_high), (0.0, 1.0));
        assert_eq!((none.elo_low, none.elo_high, none.stronger()), (None, None, None));
    }

    #[test]
    fn bounds_narrow_around_the_score_and_are_symmetric() {
        let mut width = 1.0;
        for pairs in [10, 100, 1000, 10_000] {
            let even = of([pairs / 10, pairs / 5, pairs * 2 / 5, pairs / 5, pairs / 10]);
            assert!((even.score_low + even.score_high - 1.0).abs() < 1e-9, "{even:?}");
            assert!(
                even.score_low < 0.5 && even.score_high - even.score_low < width * 0.7,
                "{even:?}"
            );
            width = even.score_high - even.score_low;
        }
        // The interval for one look at 10,000 pairs of this variance (0.075) is 0.0107 wide.
        assert!(width > 0.0107 && width < 0.0107 * 1.8, "{width}");
        let won = of([0, 0, 0, 0, 20]);
        assert!(
            won.score_low > 0.7 && won.score_high > 1.0 - 1e-9 && won.stronger() == Some(true),
            "{won:?}"
        );
        assert!(won.elo_low.is_some_and(|elo| elo > 150.0));
        assert_eq!(of([20, 0, 0, 0, 0]).stronger(), Some(false));
    }

    /// Black wins every game, so all pairs are even, and the score is known more precisely than from single games.
    #[test]
    fn equal_pairs_narrow_the_bounds_sooner() {
        let equal = of([0, 0, 100, 0, 0]);
        let coins = of([25, 0, 50, 0, 25]);
        assert!(
            equal.score_high - equal.score_low < (coins.score_high - coins.score_low) * 0.5,
            "{equal:?} {coins:?}"
        );
    }

    /// Share of 500 matches of 400 pairs in which the bounds, checked after every pair, ever exclude the true mean,
    /// separately for the two bounds.
    fn failures(chances: [f64; 5]) -> [f64; 2] {
        let mean: f64 = chances.iter().zip(SCORES).map(|(chance, score)| chance * score).sum();
        let (low, high) = (Bets::against(mean), Bets::against(1.0 - mean));
        let mut failed = [0, 0];
        for run in 0..500 {
            let mut rng = rng::stream(11, &[run]);
            let (mut counts, mut mirrored) = ([0.0; 5], [0.0; 5]);
            let mut seen = [false, false];
            for _ in 0..400 {
                let mut left = rng::unit_f64(&mut rng);
                let index = chances.iter().position(|chance| {
                    left -= chance;
                    left < 0.0
                });
                let index = index.unwrap_or(4);
                counts[index] += 1.0;
                mirrored[4 - index] += 1.0;
                seen[0] |= log_wealth(&counts, &low) >= -DELTA.ln();
                seen[1] |= log_wealth(&mirrored, &high) >= -DELTA.ln();
            }
            failed
                .iter_mut()
                .zip(seen)
                .for_each(|(failed, seen)| *failed += u32::from(seen));
        }
        failed.map(|failed| f64::from(failed) / 500.0)
    }

    /// 2.5% of 500 matches is 12.5; three standard errors above that is 23.
    #[test]
    fn bounds_checked_after_every_pair_fail_no_more_often_than_claimed() {
        for chances in [
            [0.25, 0.0, 0.5, 0.0, 0.25],
            [0.0, 0.05, 0.9, 0.05, 0.0],
            [0.6, 0.0, 0.37, 0.0, 0.03],
        ] {
            let [low, high] = failures(chances);
            assert!(low <= 0.046 && high <= 0.046, "{chances:?}: {low} {high}");
        }
    }

    /// For comparison: the naive 95% interval, checked as often, fails far more often.
    #[test]
    fn an_interval_for_one_look_fails_when_checked_after_every_pair() {
        let mut failed = 0;
        for run in 0..300 {
            let mut rng = rng::stream(12, &[run]);
            let mut pairs = Pentanomial::default();
            let mut seen = false;
            for _ in 0..300 {
                let game = |rng: &mut _| f64::from(u8::from(rng::unit_f64(rng) < 0.5));
                pairs.add(game(&mut rng), game(&mut rng));
                let n = pairs.pairs() as f64;
                let variance: f64 = SCORES
                    .iter()
                    .zip(pairs.counts)
                    .map(|(score, count)| (score - pairs.score()).powi(2) * count as f64)
                    .sum::<f64>()
                    / n;
                seen |= n >= 10.0 && (pairs.score() - 0.5).abs() > crate::elo::Z95 * (variance / n).sqrt();
            }
            failed += u32::from(seen);
        }
        assert!(failed > 60, "{failed} of 300");
    }
}
