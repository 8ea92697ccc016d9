//! Predictors without a network: one that predicts nothing, and one with made-up but reproducible predictions.

use ndarray::Axis;

use tengen_encoding::InputBatch;
use tengen_rng as rng;

use crate::predictor::{PredictError, Predictions, Predictor};

/// Predicts that every move is equally likely and every game is a tie with margin 0.
///
/// A search with it learns only from the exact scores of finished games.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformPredictor;

impl Predictor for UniformPredictor {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        out.reset(inputs.len(), inputs.canvas());
        Ok(())
    }

    fn name(&self) -> String {
        "uniform".to_owned()
    }
}

/// Makes up predictions as a fixed function of its seed and the network input, to test everything around the network.
///
/// The same position gets the same prediction in any batch and on any canvas; different positions get unrelated ones.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedPredictor {
    seed: u64,
}

impl ScriptedPredictor {
    /// The predictor with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// A hash of one position of the batch that does not depend on the canvas.
    fn hash(&self, inputs: &InputBatch, index: usize) -> u64 {
        let size = inputs.sizes()[index];
        let mut hash = rng::fold(self.seed, &[size.width() as u64, size.height() as u64]);
        for (plane, words) in inputs.planes().index_axis(Axis(0), index).outer_iter().enumerate() {
            for point in 0..size.area() {
                let on_canvas = (point / size.width()) * inputs.canvas().width() + point % size.width();
                if (words[on_canvas / 64] >> (on_canvas % 64)) & 1 == 1 {
                    hash = rng::fold(hash, &[(plane * size.area() + point) as u64]);
                }
            }
        }
        for value in inputs.globals().row(index) {
            hash = rng::fold(hash, &[u64::from(value.to_bits())]);
        }
        rng::fold(hash, &[u64::from(inputs.komi()[index].to_bits())])
    }
}

impl Predictor for ScriptedPredictor {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        let canvas = inputs.canvas();
        out.reset(inputs.len(), canvas);
        out.policy_logits.fill(f32::NEG_INFINITY);
        out.reset_ownership(canvas);
        for index in 0..inputs.len() {
            let size = inputs.sizes()[index];
            let mut rng = rng::stream(self.hash(inputs, index), &[]);
            let mut logits = out.policy_logits.row_mut(index);
            let mut ownership = out.ownership.index_axis_mut(Axis(0), index);
            for point in 0..size.area() {
                let (row, column) = (point / size.width(), point % size.width());
                logits[row * canvas.width() + column] = 4.0 * rng::unit_f64(&mut rng) as f32 - 2.0;
                ownership[[row, column]] = 2.0 * rng::unit_f64(&mut rng) as f32 - 1.0;
            }
            logits[canvas.area()] = 4.0 * rng::unit_f64(&mut rng) as f32 - 2.0;
            let decided = rng::unit_f64(&mut rng) as f32;
            out.win[index] = decided * rng::unit_f64(&mut rng) as f32;
            out.loss[index] = decided - out.win[index];
            out.margin[index] = (rng::unit_f64(&mut rng) as f32 - 0.5) * size.area() as f32;
        }
        Ok(())
    }

    fn name(&self) -> String {
        format!("scripted-{}", self.seed)
    }
}
