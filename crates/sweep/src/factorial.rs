//! Tests many settings with few runs: each run has its own half of them.

use crate::plan::Change;
use crate::statistics::Estimate;

/// A two-level fractional factorial design of resolution IV (Box and Hunter, 1961).
///
/// Every run has about half of the factors, chosen so that any two factors are in a quarter of the runs together. So
/// the runs with a factor and those without differ in nothing else on average, and all runs tell about all factors. An
/// effect that needs two factors at once is not mistaken for that of a single one.
#[derive(Clone, Debug)]
pub struct Factorial {
    /// The factors: changes that a run has or does not have.
    pub factors: Vec<Change>,
}

/// What the factors are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// For each factor, the mean of the runs that have it minus the mean of the others.
    pub factors: Vec<Estimate>,
    /// Standard deviation of what the factors do not explain one by one: luck, and what factors do only together.
    /// `None` if no run is to spare.
    pub deviation: Option<f64>,
}

impl Factorial {
    /// The smallest number of runs; others are multiples of it.
    pub fn smallest(&self) -> usize {
        2 * self.factors.len().next_power_of_two()
    }

    /// Whether a run has a factor. The first run has none. Runs come in pairs, each with the factors that the other one
    /// does not have, so that a machine that gets slower on the way slows both sides alike.
    pub fn has(&self, run: usize, factor: usize) -> bool {
        let runs = self.smallest();
        let (pair, is_second) = (run % runs / 2, run % 2 == 1);
        let row = if is_second { runs - 1 - pair } else { pair };
        is_odd(row & odious(factor))
    }

    /// The factors that a run has.
    pub fn of_run(&self, run: usize) -> impl Iterator<Item = &Change> {
        let has = move |(factor, change)| self.has(run, factor).then_some(change);
        self.factors.iter().enumerate().filter_map(has)
    }

    /// Estimates what each factor adds to a figure of the runs, `values`, with Student's 95% intervals. The error comes
    /// from what the factors do not explain, which includes what they do only together.
    pub fn effects(&self, values: &[f64]) -> Effects {
        let runs = values.len() as f64;
        let worth = |factor: usize| {
            let sum: f64 = values
                .iter()
                .enumerate()
                .map(|(run, value)| if self.has(run, factor) { *value } else { -value })
                .sum();
            sum / (runs / 2.0)
        };
        let worths: Vec<f64> = (0..self.factors.len()).map(worth).collect();
        let mean = values.iter().sum::<f64>() / runs;
        let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let explained: f64 = worths.iter().map(|worth| worth.powi(2) * runs / 4.0).sum();
        let freedom = runs - 1.0 - worths.len() as f64;
        let deviation = (freedom > 0.0).then(|| ((total - explained).max(0.0) / freedom).sqrt());
        let estimate = |worth| match deviation {
            Some(deviation) => Estimate::with_error(worth, 2.0 * deviation / runs.sqrt(), freedom),
            None => Estimate::alone(worth),
        };
        Effects {
            factors: worths.into_iter().map(estimate).collect(),
            deviation,
        }
    }
}

/// The number with this index among those with an odd number of binary ones: 1, 2, 4, 7, 8, 11, ….
fn odious(index: usize) -> usize {
    2 * index + usize::from(!is_odd(index))
}

/// Whether a number has an odd number of binary ones.
fn is_odd(number: usize) -> bool {
    number.count_ones() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(factors: usize) -> Factorial {
        let factor = |index| Change {
            name: format!("factor {index}"),
            set: Default::default(),
        };
        Factorial {
            factors: (0..factors).map(factor).collect(),
        }
    }

    /// 1 for a run that has the factor, -1 for one without.
    fn sign(design: &Factorial, run: usize, factor: usize) -> i32 {
        if design.has(run, factor) { 1 } else { -1 }
    }

    #[test]
    fn no_factor_and_no_pair_of_factors_looks_like_another_factor() {
        for count in 1..=20 {
            let design = design(count);
            let runs = design.smallest();
            let sum = |of: &dyn Fn(usize) -> i32| (0..runs).map(of).sum::<i32>();
            for a in 0..count {
                assert_eq!(
                    sum(&|run| sign(&design, run, a)),
                    0,
                    "half of {runs} runs have factor {a}"
                );
                for b in 0..a {
                    let both = |run| sign(&design, run, a) * sign(&design, run, b);
                    assert_eq!(sum(&both), 0, "{a} and {b} of {count}");
                    for c in 0..count {
                        let like = |run| both(run) * sign(&design, run, c);
                        assert_eq!(sum(&like), 0, "{a} with {b} looks like {c} of {count}");
                    }
                }
            }
            assert_eq!(design.of_run(0).count(), 0, "the first run is the base");
            assert_eq!(design.of_run(1).count(), count, "the second has all factors");
        }
    }

    #[test]
    fn runs_side_by_side_have_opposite_factors_and_more_runs_repeat_the_first() {
        let design = design(6);
        assert_eq!(design.smallest(), 16);
        for run in (0..32).step_by(2) {
            for factor in 0..6 {
                assert_ne!(design.has(run, factor), design.has(run + 1, factor));
                assert_eq!(design.has(run, factor), design.has(run + 16, factor));
            }
        }
    }

    #[test]
    fn effects_are_told_apart_and_have_students_interval() {
        let design = design(3);
        // Factor 0 adds 10, factor 2 takes 4; the second half repeats the first with 1 more or less.
        let value = |run: usize| {
            let at = |factor, worth| if design.has(run, factor) { worth } else { 0.0 };
            100.0 + at(0, 10.0) + at(2, -4.0) + if run < 8 { 1.0 } else { -1.0 }
        };
        let values: Vec<f64> = (0..16).map(value).collect();
        let Effects { factors, deviation } = design.effects(&values);
        let worths: Vec<f64> = factors.iter().map(|effect| effect.value).collect();
        for (worth, expected) in worths.iter().zip([10.0, 0.0, -4.0]) {
            assert!((worth - expected).abs() < 1e-9, "{worths:?}");
        }
        // 16 squares of 1 are left to 12 degrees of freedom; the error is 2 s / √16, and t(0.975, 12) = 2.178813.
        let left = (16.0f64 / 12.0).sqrt();
        assert!((deviation.unwrap() - left).abs() < 1e-9);
        let half = 2.178_813 * 2.0 * left / 4.0;
        assert!((factors[0].high.unwrap() - 10.0 - half).abs() < 1e-5, "{factors:?}");
        assert!((factors[1].low.unwrap() + half).abs() < 1e-5, "{factors:?}");
    }

    #[test]
    fn without_runs_to_spare_there_is_no_interval() {
        let Effects { factors, deviation } = design(1).effects(&[3.0, 8.0]);
        assert_eq!((factors[0], deviation), (Estimate::alone(5.0), None));
    }
}
