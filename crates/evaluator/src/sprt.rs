//! A sequential probability ratio test, which decides when enough pairs have been played.
//!
//! The generalized SPRT on pentanomial counts as used in chess testing: Michel Van den Bergh, "A practical introduction
//! to the GSPRT" (2020) and fishtest's `LLRcalc.py`. The log-likelihood ratio compares the most likely distributions of
//! pair scores with the mean fixed to either hypothesis; the bounds are Wald's (1945).

use std::ops::Bound;

use serde::{Deserialize, Serialize};

use tengen_rules::{SettingError, check_setting};

use crate::elo::score_of_elo;
use crate::null_as_nan::null_as_nan;
use crate::pentanomial::{Pentanomial, SCORES};

/// Hypotheses and error rates of a sequential test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SprtConfig {
    /// Elo difference of the hypothesis "not stronger". Usual: 0.
    pub elo0: f64,
    /// Elo difference of the hypothesis "stronger". Usual: 50 for gates, or 0 with an `elo0` of -100. Values closer
    /// to `elo0` need more games.
    pub elo1: f64,
    /// Probability of accepting "stronger" when the truth is `elo0`. Usual: 0.05. Smaller values need more games.
    pub alpha: f64,
    /// Probability of accepting "not stronger" when the truth is `elo1`. Usual: 0.05. Smaller values need more games.
    pub beta: f64,
    /// Pairs before the first decision. Usual: 0 to 20. More pairs guard against a few lucky games, the ratio's weak
    /// spot.
    pub min_pairs: u64,
}

impl Default for SprtConfig {
    fn default() -> SprtConfig {
        SprtConfig {
            elo0: 0.0,
            elo1: 50.0,
            alpha: 0.05,
            beta: 0.05,
            min_pairs: 0,
        }
    }
}

impl SprtConfig {
    /// Checks the hypotheses' order and the error rates' range.
    ///
    /// # Errors
    /// [`SettingError`] naming the field that is wrong.
    pub fn validate(&self) -> Result<(), SettingError> {
        let rate = (Bound::Excluded(0.0), Bound::Excluded(0.5));
        check_setting("elo0", self.elo0, -2000.0..=2000.0)?;
        check_setting("elo1", self.elo1, -2000.0..=2000.0)?;
        if self.elo0 >= self.elo1 {
            let expected = format!("more than elo0, which is {}", self.elo0);
            return Err(SettingError::new("elo1", self.elo1, expected));
        }
        check_setting("alpha", self.alpha, rate)?;
        check_setting("beta", self.beta, rate)
    }
}

/// What a sequential test has concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SprtState {
    /// Stronger: the ratio has reached the upper bound.
    Accepted,
    /// Not stronger: the ratio has reached the lower bound.
    Rejected,
    /// Neither hypothesis is accepted yet; more pairs are needed.
    Open,
}

/// The numbers of a sequential test at one look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sprt {
    /// The hypotheses and error rates of the test.
    pub config: SprtConfig,
    /// Log-likelihood ratio of "stronger" to "not stronger".
    #[serde(deserialize_with = "null_as_nan")]
    pub llr: f64,
    /// Lower bound, ln(β / (1 − α)): at or below it, the test accepts "not stronger".
    #[serde(deserialize_with = "null_as_nan")]
    pub lower: f64,
    /// Upper bound, ln((1 − β) / α): at or above it, the test accepts "stronger".
    #[serde(deserialize_with = "null_as_nan")]
    pub upper: f64,
    /// The conclusion at this look.
    pub state: SprtState,
}

impl Sprt {
    /// Runs the test on the counts so far.
    pub fn look(config: SprtConfig, pairs: &Pentanomial) -> Sprt {
        let lower = (config.beta / (1.0 - config.alpha)).ln();
        let upper = ((1.0 - config.beta) / config.alpha).ln();
        let llr = log_likelihood_ratio(pairs, score_of_elo(config.elo0), score_of_elo(config.elo1));
        let state = match llr {
            _ if pairs.pairs() < config.min_pairs => SprtState::Open,
            llr if llr >= upper => SprtState::Accepted,
            llr if llr <= lower => SprtState::Rejected,
            _ => SprtState::Open,
        };
        Sprt {
            config,
            llr,
            lower,
            upper,
            state,
        }
    }
}

/// The generalized log-likelihood ratio of mean score `s1` to `s0`.
fn log_likelihood_ratio(pairs: &Pentanomial, s0: f64, s1: f64) -> f64 {
    if pairs.pairs() == 0 {
        return 0.0;
    }
    // Outcomes never seen count a little so that both hypotheses stay possible (fishtest does the same).
    let counts = pairs.counts.map(|count| if count == 0 { 1e-3 } else { count as f64 });
    let (p0, p1) = (most_likely(&counts, s0), most_likely(&counts, s1));
    (0..5).map(|i| counts[i] * (p1[i] / p0[i]).ln()).sum()
}

/// The most likely distribution over the five scores with mean `mean`, given counts that are all positive.
///
/// By Lagrange multipliers, p_i = p̂_i / (1 + θ (x_i − mean)), where θ solves Σ p̂_i (x_i − mean) / (1 + θ (x_i −
/// mean)) = 0. Between the poles the sum decreases with θ, so bisection finds it.
fn most_likely(counts: &[f64; 5], mean: f64) -> [f64; 5] {
    let total: f64 = counts.iter().sum();
    let p = counts.map(|count| count / total);
    let sum = |theta: f64| -> f64 {
        (0..5)
            .map(|i| p[i] * (SCORES[i] - mean) / (1.0 + theta * (SCORES[i] - mean)))
            .sum()
    };
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if sum(middle) > 0.0 { low = middle } else { high = middle }
    }
    let theta = (low + high) / 2.0;
    std::array::from_fn(|i| p[i] / (1.0 + theta * (SCORES[i] - mean)))
}

#[cfg(test)]
mod tests {
    use tengen_rng as rng;

    use super::*;

    #[test]
    fn the_most_likely_distribution_has_its_mean() {
        for counts in [
            [10.0, 20.0, 40.0, 20.0, 10.0],
            [1e-3, 1e-3, 1e-3, 1e-3, 50.0],
            [3.0, 1e-3, 1e-3, 1e-3, 9.0],
        ] {
            for mean in [0.3, 0.5, 0.52, 0.9] {
                let p = most_likely(&counts, mean);
                let sum: f64 = p.iter().sum();
                let score: f64 = p.iter().zip(SCORES).map(|(p, score)| p * score).sum();
                assert!(
                    (sum - 1.0).abs() < 1e-6 && (score - mean).abs() < 1e-6,
                    "{counts:?} {mean}: {sum} {score}"
                );
            }
        }
    }

    /// With only two outcomes, the ratio is that of a biased coin: n₁ ln(s1 / s0) + n₀ ln((1 − s1) / (1 − s0)).
    #[test]
    fn two_outcomes_behave_like_a_coin() {
        let pairs = Pentanomial {
            counts: [40, 0, 0, 0, 60],
        };
        let (s0, s1) = (0.5, 0.6);
        let coin = 60.0 * f64::ln(s1 / s0) + 40.0 * f64::ln((1.0 - s1) / (1.0 - s0));
        assert!((log_likelihood_ratio(&pairs, s0, s1) - coin).abs() < 0.01);
    }

    #[test]
    fn bounds_and_states() {
        let look = |counts| Sprt::look(SprtConfig::default(), &Pentanomial { counts });
        let open = look([0; 5]);
        assert!((open.upper - 2.944).abs() < 1e-3 && (open.lower + 2.944).abs() < 1e-3);
        assert_eq!((open.llr, open.state), (0.0, SprtState::Open));
        assert_eq!(look([0, 0, 0, 0, 40]).state, SprtState::Accepted);
        assert_eq!(look([40, 0, 0, 0, 0]).state, SprtState::Rejected);
        assert_eq!(look([5, 0, 10, 0, 5]).state, SprtState::Open);
        let patient = SprtConfig {
            min_pairs: 41,
            ..SprtConfig::default()
        };
        assert_eq!(
            Sprt::look(
                patient,
                &Pentanomial {
                    counts: [0, 0, 0, 0, 40]
                }
            )
            .state,
            SprtState::Open
        );
    }

    #[test]
    fn settings_are_checked() {
        assert!(SprtConfig::default().validate().is_ok());
        for bad in [
            SprtConfig {
                elo0: 50.0,
                ..SprtConfig::default()
            },
            SprtConfig {
                elo1: f64::NAN,
                ..SprtConfig::default()
            },
            SprtConfig {
                alpha: 0.0,
                ..SprtConfig::default()
            },
            SprtConfig {
                beta: 0.5,
                ..SprtConfig::default()
            },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }

    /// Share of 1,000 simulated tests that accept "stronger", looking after every 4 pairs, up to 2,000 pairs.
    fn acceptance(config: SprtConfig, true_elo: f64, bias: f64, ties: f64) -> f64 {
        let strength = (score_of_elo(true_elo) - ties / 2.0) / (1.0 - ties);
        let mut accepted = 0;
        for run in 0..1000 {
            let mut rng = rng::stream(5, &[run]);
            let mut pairs = Pentanomial::default();
            for pair in 1..=2000 {
                let bonus = if rng::unit_f64(&mut rng) < 0.5 { bias } else { -bias };
                let mut game = |win: f64| match rng::unit_f64(&mut rng) < ties {
                    true => 0.5,
                    false => f64::from(u8::from(rng::unit_f64(&mut rng) < win)),
                };
                pairs.add(game(strength + bonus), game(strength - bonus));
                match Sprt::look(config, &pairs).state {
                    SprtState::Accepted if pair % 4 == 0 => {
                        accepted += 1;
                        break;
                    }
                    SprtState::Rejected if pair % 4 == 0 => break,
                    _ => {}
                }
            }
        }
        f64::from(accepted) / 1000.0
    }

    #[test]
    fn error_rates_are_as_low_as_claimed() {
        let config = SprtConfig {
            elo1: 80.0,
            ..SprtConfig::default()
        };
        for (bias, ties) in [(0.0, 0.0), (0.3, 0.0), (0.1, 0.4)] {
            let false_pass = acceptance(config, 0.0, bias, ties);
            let true_pass = acceptance(config, 80.0, bias, ties);
            // Three standard errors of 1,000 runs above the claim is 0.07; overshooting the bounds makes errors rarer.
            assert!(
                (0.005..=0.07).contains(&false_pass),
                "bias {bias}, ties {ties}: {false_pass} false passes"
            );
            assert!(
                (0.93..=0.995).contains(&true_pass),
                "bias {bias}, ties {ties}: {true_pass} true passes"
            );
        }
    }
}
