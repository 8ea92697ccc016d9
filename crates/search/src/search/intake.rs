//! Reading the parts of a prediction that a search uses, from the network or the cache.

use super::descent::Waiting;
use super::{Request, Search};
use crate::cache::{Evaluation, EvaluationCache};
use crate::numeric;
use crate::predictor::{PredictError, Prediction};

impl Search {
    /// Evaluates the awaited position from the cache, or turns it into a request.
    pub(super) fn look_up(&mut self, cache: &mut EvaluationCache) -> Option<Request> {
        let Some(evaluation) = self.read_cached(cache) else {
            return Some(self.now.request());
        };
        self.finish_evaluation(evaluation);
        None
    }

    /// Reads the awaited position's prediction from the cache.
    pub(super) fn read_cached(&mut self, cache: &mut EvaluationCache) -> Option<Evaluation> {
        let view = &self.now.view;
        let kept = cache.get(view.key, view.moves.len(), self.config.ownership)?;
        self.priors.clear();
        self.priors.extend_from_slice(kept.priors);
        self.predicted_ownership.clear();
        self.predicted_ownership
            .extend_from_slice(kept.ownership.unwrap_or_default());
        Some(kept.evaluation)
    }

    /// Reads the priors of the legal moves from a prediction.
    pub(super) fn read_priors(&mut self, prediction: Prediction<'_>) -> Result<(), PredictError> {
        let (size, canvas, logits) = (self.position.size(), prediction.canvas, prediction.policy_logits);
        let points = self.now.view.image_points.iter().map(|&point| usize::from(point));
        self.priors.clear();
        if size == canvas {
            self.priors.extend(points.map(|point| logits[point]));
        } else {
            self.priors
                .extend(points.map(|point| logits[tengen_encoding::canvas_index(size, canvas, point)]));
        }
        self.priors.push(logits[canvas.area()]);
        if numeric::softmax(&mut self.priors) {
            Ok(())
        } else {
            Err(PredictError::NotFinite {
                array: "policy_logits",
                row: 0,
            })
        }
    }

    /// Reads the ownership from a prediction, if the settings request it and the network predicts it.
    pub(super) fn read_ownership(&mut self, prediction: Prediction<'_>) {
        self.predicted_ownership.clear();
        if self.config.ownership && !prediction.ownership.is_empty() {
            let size = self.position.size();
            let on_canvas = |image| tengen_encoding::canvas_index(size, prediction.canvas, image);
            let image = (0..size.area()).map(|image| prediction.ownership[on_canvas(image)]);
            self.predicted_ownership.extend(image);
        }
    }

    /// Adds the ownership of the awaited position, mapped back to the orientation of the board.
    pub(super) fn add_ownership(&mut self) {
        if self.predicted_ownership.is_empty() {
            return;
        }
        // The path has one node for each ply between the root and the position.
        let below = matches!(self.now.waiting, Waiting::Leaf { .. } | Waiting::Known { .. });
        let sign = if below && self.now.path.len() % 2 == 1 {
            -1.0
        } else {
            1.0
        };
        self.ownership.set_root_move(self.now.root_move);
        let originals = self.now.view.originals(self.position.size()).iter();
        let map = originals.zip(&self.predicted_ownership);
        self.ownership.add(
            below,
            self.position.size().area(),
            map.map(|(&original, &value)| (usize::from(original), sign * value)),
        );
    }
}
