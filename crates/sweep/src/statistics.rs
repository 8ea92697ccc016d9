//! Means over runs that differ only in their seed, with intervals.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean or a difference of means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Lower end of the 95% interval; `None` if there are too few samples for one.
    pub low: Option<f64>,
    /// Upper end of the 95% interval.
    pub high: Option<f64>,
}

impl Estimate {
    /// An estimate with Student's interval: `error` is its standard error, `freedom` its degrees of freedom.
    pub(crate) fn with_error(value: f64, error: f64, freedom: f64) -> Estimate {
        let t = StudentsT::new(0.0, 1.0, freedom).ok().map(|t| t.inverse_cdf(0.975));
        let half = t.map(|t| t * error).filter(|half| half.is_finite());
        Estimate {
            value,
            low: half.map(|half| value - half),
            high: half.map(|half| value + half),
        }
    }

    /// An estimate without an interval.
    pub(crate) fn alone(value: f64) -> Estimate {
        Estimate {
            value,
            low: None,
            high: None,
        }
    }
}

/// The mean of some samples with Student's 95% interval; `None` without samples, and no interval for one.
pub fn mean(samples: &[f64]) -> Option<Estimate> {
    let Moments { mean, error, freedom } = Moments::of(samples)?;
    Some(match freedom > 0.0 {
        true => Estimate::with_error(mean, error.sqrt(), freedom),
        false => Estimate::alone(mean),
    })
}

/// The mean of `samples` minus that of `others`, with Welch's 95% interval (1947), which does not assume equal
/// variances. No interval if one of the two has fewer than two samples.
pub fn difference(samples: &[f64], others: &[f64]) -> Option<Estimate> {
    let (a, b) = (Moments::of(samples)?, Moments::of(others)?);
    let value = a.mean - b.mean;
    if a.freedom < 1.0 || b.freedom < 1.0 {
        return Some(Estimate::alone(value));
    }
    let error = a.error + b.error;
    let freedom = error.powi(2) / (a.error.powi(2) / a.freedom + b.error.powi(2) / b.freedom);
    Some(match error > 0.0 {
        true => Estimate::with_error(value, error.sqrt(), freedom),
        false => Estimate::alone(value),
    })
}

/// The mean of samples, the squared standard error of that mean, and the degrees of freedom.
struct Moments {
    mean: f64,
    error: f64,
    freedom: f64,
}

impl Moments {
    fn of(samples: &[f64]) -> Option<Moments> {
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        (count > 0.0).then(|| Moments {
            mean,
            error: squares / (count - 1.0).max(1.0) / count,
            freedom: count - 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_has_students_interval() {
        // Mean 3, s² = 2.5, standard error √0.5, t(0.975, 4) = 2.776445.
        let estimate = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(estimate.value, 3.0);
        assert!(
            (estimate.high.unwrap() - 3.0 - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-5,
            "{estimate:?}"
        );
        assert!((estimate.low.unwrap() + estimate.high.unwrap() - 6.0).abs() < 1e-9);
        assert_eq!(
            mean(&[7.0]),
            Some(Estimate {
                value: 7.0,
                low: None,
                high: None
            })
        );
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn the_difference_has_welchs_interval() {
        // Standard error 2, 16 / (1.6667² / 3 + 2.3333² / 2) = 4.38579 degrees of freedom, for which t(0.975) by
        // numeric integration is 2.682730.
        let estimate = difference(&[5.0, 7.0, 9.0, 11.0], &[1.0, 2.0, 6.0]).unwrap();
        assert_eq!(estimate.value, 5.0);
        let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
        assert!((low - (5.0 - 2.0 * 2.682_730)).abs() < 1e-4 && (low + high - 10.0).abs() < 1e-9);
        assert_eq!(difference(&[1.0], &[2.0, 3.0]).unwrap().low, None);
        assert_eq!(difference(&[], &[2.0]), None);
    }
}
