//! Measures how well the network predicts positions that it is not trained on.

use tch::{Kind, Tensor};

use tengen_encoding::TrainingBatch;
use tengen_network::{NetworkInputs, Outputs, Value};

use crate::loss::Losses;
use crate::targets::Targets;

/// Number of bins of predicted scores, of equal width, for the calibration error.
const BINS: usize = 10;

/// Final margins and komi are multiples of half a point, so a margin after komi this close to zero is a tie.
const TIE: f32 = 0.25;

/// How well the averaged weights predict positions. A score is 1 for a win of the side to move, ½ for a tie, and 0 for
/// a loss. Unlike training targets, scores here are the results of games alone, except that a game that was not scored
/// counts with its value target if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validation {
    /// The losses, as in training; there is no gradient, so its norm is 0.
    pub losses: Losses,
    /// Share of the positions in which the network's most probable move is that of the search, 0 to 1; NaN if no
    /// position was searched.
    pub policy_top1: f64,
    /// Brier score (Brier, 1950): mean squared difference between the predicted score and the game's, 0 to 1. Always
    /// predicting ½ gives 0.25 without ties. NaN if no result is known.
    pub brier: f64,
    /// Expected calibration error (Naeini et al., 2015): mean distance between predicted and actual scores in ten bins
    /// of predicted scores, weighted by the positions in each, 0 to 1. NaN if no result is known.
    pub calibration_error: f64,
    /// Mean distance between the expected and the actual margin after komi, in points; NaN if no game was scored.
    pub margin_error: f64,
}

/// What was predicted and what happened for a set of positions.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    losses: Vec<(Losses, f64)>,
    hits: Vec<f32>,
    of_policy: Vec<f32>,
    /// Predicted and actual scores, and the weights of those that are known.
    scores: Vec<f32>,
    actual: Vec<f32>,
    of_value: Vec<f32>,
    /// Expected and actual margins after komi, and the weights of those that are known.
    margins: Vec<f32>,
    after: Vec<f32>,
    of_result: Vec<f32>,
}

impl Judged {
    /// Adds the positions of a batch.
    pub(crate) fn add(
        &mut self,
        losses: Losses,
        outputs: &Outputs,
        inputs: &NetworkInputs,
        targets: &Targets,
        batch: &TrainingBatch,
    ) {
        let value = Value::of(&outputs.margins, inputs.komi());
        let hits = outputs
            .policy
            .argmax(-1, false)
            .eq_tensor(&targets.policy.argmax(-1, false));
        self.losses.push((losses, batch.len() as f64));
        self.hits.extend(numbers(&hits));
        self.of_policy
            .extend(numbers(&(&targets.weight * &targets.policy_weight)));
        self.of_result
            .extend(numbers(&(&targets.weight * &targets.result_weight)));
        self.of_value
            .extend(numbers(&(&targets.weight * &targets.value_weight)));
        self.scores.extend(numbers(&score(&value)));
        self.margins.extend(numbers(&value.margin));
        let margins = batch.board_margin.iter().zip(batch.inputs.komi());
        let scored = batch.result_weight.iter().zip(batch.value.outer_iter());
        for ((&margin, &komi), (&is_scored, value)) in margins.zip(scored) {
            let after = margin as f32 + komi;
            self.after.push(after);
            self.actual.push(match is_scored > 0.0 {
                true => score_of(after),
                false => value[0] + 0.5 * value[1],
            });
        }
    }
}

impl Validation {
    /// Compares predictions with what happened.
    pub(crate) fn of(judged: &Judged) -> Validation {
        let Judged {
            scores,
            actual,
            of_value,
            ..
        } = judged;
        let all: f64 = judged.losses.iter().map(|(_, samples)| samples).sum();
        let mut terms = [0.0; 7];
        for (losses, samples) in &judged.losses {
            for (sum, term) in terms.iter_mut().zip(losses.terms()) {
                *sum += term * (samples / all);
            }
        }
        let rate = judged.losses.first().map_or(0.0, |(losses, _)| losses.learning_rate);
        Validation {
            losses: Losses::new(terms, rate),
            policy_top1: mean(&judged.hits, &judged.of_policy),
            brier: mean(&differences(scores, actual, |d| d * d), of_value),
            calibration_error: calibration_error(scores, actual, of_value),
            margin_error: mean(
                &differences(&judged.margins, &judged.after, f32::abs),
                &judged.of_result,
            ),
        }
    }
}

/// The expected scores of the sides to move.
pub(crate) fn chances(outputs: &Outputs, inputs: &NetworkInputs) -> Vec<f32> {
    numbers(&score(&Value::of(&outputs.margins, inputs.komi())))
}

fn score(value: &Value) -> Tensor {
    (&value.win - &value.loss) * 0.5 + 0.5
}

/// The score of a margin after komi.
fn score_of(after: f32) -> f32 {
    match after {
        after if after > TIE => 1.0,
        after if after < -TIE => 0.0,
        _ => 0.5,
    }
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    let tensor = tensor.to_kind(Kind::Float).contiguous();
    let mut values = vec![0.0; tensor.numel()];
    let count = values.len();
    tensor.copy_data(&mut values, count);
    values
}

fn differences(a: &[f32], b: &[f32], of: fn(f32) -> f32) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| of(a - b)).collect()
}

/// Weighted mean; NaN if all weights are 0.
fn mean(values: &[f32], weights: &[f32]) -> f64 {
    let pairs = || {
        values
            .iter()
            .zip(weights)
            .map(|(&value, &weight)| (f64::from(value), f64::from(weight)))
    };
    pairs().map(|(value, weight)| value * weight).sum::<f64>() / pairs().map(|(_, weight)| weight).sum::<f64>()
}

/// See [`Validation::calibration_error`].
fn calibration_error(predicted: &[f32], actual: &[f32], weights: &[f32]) -> f64 {
    let mut differences = [0.0; BINS];
    let mut total = 0.0;
    for ((&predicted, &actual), &weight) in predicted.iter().zip(actual).zip(weights) {
        let bin = ((predicted * BINS as f32) as usize).min(BINS - 1);
        differences[bin] += f64::from(weight) * f64::from(predicted - actual);
        total += f64::from(weight);
    }
    differences.into_iter().map(f64::abs).sum::<f64>() / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_compares_each_bin_with_what_happened() {
        // Two predictions of 0.75, of which half came true, and one of 0 that did.
        let error = calibration_error(&[0.75, 0.75, 0.0], &[1.0, 0.0, 0.0], &[1.0; 3]);
        assert!((error - 2.0 * 0.25 / 3.0).abs() < 1e-9, "{error}");
        assert_eq!(calibration_error(&[1.0, 0.0], &[1.0, 0.0], &[1.0; 2]), 0.0);
        // Opposite errors in different bins do not cancel.
        assert!(calibration_error(&[1.0, 0.0], &[0.0, 1.0], &[1.0; 2]) > 0.99);
        assert!(calibration_error(&[0.5], &[1.0], &[0.0]).is_nan(), "nothing was scored");
    }

    #[test]
    fn means_are_weighted() {
        assert_eq!(mean(&[1.0, 5.0], &[3.0, 1.0]), 2.0);
        assert!(mean(&[], &[]).is_nan());
    }

    #[test]
    fn margins_within_half_a_point_are_ties() {
        assert_eq!([0.5, 0.0, -0.5].map(score_of), [1.0, 0.5, 0.0]);
    }
}
