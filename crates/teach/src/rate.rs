//! Which learning rate suits the games? A short trial in which the rate rises from step to step (Smith, 2017).

use std::sync::atomic::Ordering;

use serde::Serialize;

use tengen_run::{RunConfig, Setup};
use tengen_trainer::{Schedule, Trainer, TrainerConfig, TrainerError};

use crate::material::Material;
use crate::start::{Origin, weights};
use crate::teach::{Step, device, say_device, train_once};

/// The lowest and the highest rate of a trial.
const RATES: (f64, f64) = (1e-5, 1.0);

/// Steps of a trial.
const STEPS: usize = 150;

/// Weight of the earlier steps in the smoothed loss.
const SMOOTHING: f64 = 0.9;

/// A trial ends when the smoothed loss exceeds the lowest one by this factor.
const TOO_HIGH: f64 = 1.5;

/// The suggestion is this share of the rate with the lowest loss: at that rate, the loss is about to rise.
const SHARE: f64 = 0.1;

/// One step of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatePoint {
    /// The learning rate.
    pub rate: f64,
    /// The mean loss of the latest steps, newer ones more, before the weights changed at this rate.
    pub loss: f64,
}

/// A trial of learning rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The steps, in order of ascending rates, up to where the loss rises.
    pub points: Vec<RatePoint>,
    /// The suggested `training.learning_rate`; `None` if the loss did not fall.
    pub suggestion: Option<f64>,
}

/// Tries learning rates on games, beginning with the weights that training would begin with. Writes nothing. `show` is
/// told each step.
///
/// # Errors
/// If the games cannot be read or teach nothing, or a step fails other than by diverging.
pub fn find_rate(
    config: &RunConfig,
    origin: Option<&Origin>,
    setup: &Setup,
    show: &mut dyn FnMut(Step),
) -> anyhow::Result<Trial> {
    let material = Material::gather(config, &*setup.watch)?;
    setup.watch.say(&material.in_words());
    let settings = TrainerConfig {
        warmup_steps: 0,
        schedule: Schedule::Constant,
        ..config.training.clone()
    };
    let weights = weights(config, origin, &*setup.watch)?;
    let mut trainer = Trainer::from_weights(&weights, settings, device(config, setup))?;
    say_device(&trainer, setup);
    let (mut points, mut smooth) = (Vec::new(), Smooth::default());
    for step in 0..STEPS {
        let rate = rate_at(step);
        trainer.set_learning_rate(rate);
        let losses = match train_once(&mut trainer, &material, config) {
            Err(error) if matches!(error.downcast_ref(), Some(TrainerError::Diverged { .. })) => break,
            losses => losses?,
        };
        show(Step {
            step: step as u64 + 1,
            of: STEPS as u64,
            losses,
        });
        let loss = smooth.add(losses.total);
        points.push(RatePoint { rate, loss });
        if setup.stop.load(Ordering::SeqCst) || loss > TOO_HIGH * lowest(&points).map_or(loss, |point| point.loss) {
            break;
        }
    }
    Ok(Trial {
        suggestion: suggestion(&points),
        points,
    })
}

/// The rate of a step; rates rise by the same factor from step to step.
fn rate_at(step: usize) -> f64 {
    let (low, high) = RATES;
    low * (high / low).powf(step as f64 / (STEPS - 1) as f64)
}

fn lowest(points: &[RatePoint]) -> Option<&RatePoint> {
    points.iter().min_by(|a, b| a.loss.total_cmp(&b.loss))
}

/// The rate to train with, rounded to two digits.
fn suggestion(points: &[RatePoint]) -> Option<f64> {
    let (first, best) = (points.first()?, lowest(points)?);
    if best.loss >= 0.98 * first.loss {
        return None;
    }
    let rate = best.rate * SHARE;
    let unit = 10f64.powf(rate.log10().floor() - 1.0);
    Some((rate / unit).round() * unit)
}

/// A mean of losses in which older ones count less, without the pull towards zero at its beginning.
#[derive(Default)]
struct Smooth {
    sum: f64,
    weight: f64,
}

impl Smooth {
    fn add(&mut self, loss: f64) -> f64 {
        self.sum = SMOOTHING * self.sum + (1.0 - SMOOTHING) * loss;
        self.weight = SMOOTHING * self.weight + (1.0 - SMOOTHING);
        self.sum / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(losses: &[f64]) -> Vec<RatePoint> {
        let point = |(step, &loss): (usize, &f64)| RatePoint {
            rate: 10f64.powi(step as i32 - 4),
            loss,
        };
        losses.iter().enumerate().map(point).collect()
    }

    #[test]
    fn the_suggestion_lies_below_the_lowest_loss() {
        assert_eq!(suggestion(&points(&[4.0, 3.0, 2.0, 3.0])), Some(0.001));
        assert_eq!(
            suggestion(&points(&[4.0, 4.0, 3.99, 9.0])),
            None,
            "the loss did not fall"
        );
        assert_eq!(suggestion(&[]), None);
    }

    #[test]
    fn rates_rise_evenly_between_their_ends() {
        assert_eq!(rate_at(0), RATES.0);
        assert!((rate_at(STEPS - 1) / RATES.1 - 1.0).abs() < 1e-12);
        let factor = rate_at(1) / rate_at(0);
        assert!((rate_at(100) / rate_at(99) - factor).abs() < 1e-12);
    }

    #[test]
    fn the_smoothed_loss_of_equal_losses_is_that_loss() {
        let mut smooth = Smooth::default();
        assert!((0..20).all(|_| (smooth.add(3.5) - 3.5).abs() < 1e-12));
    }
}
