//! Reads the parts of a prediction that a search uses, from the network or the cache.

use tengen_encoding::canvas_index;
use tengen_rules::{ImageTable, Symmetry};

use super::descent::Waiting;
use super::{Request, Search};
use crate::cache::{CachedPrediction, Evaluation, EvaluationCache};
use crate::numeric;
use crate::predictor::{PredictError, Prediction};

impl Search {
    /// Evaluates the pending position from the cache, or turns it into a request.
    pub(super) fn look_up(&mut self, cache: &mut EvaluationCache) -> Option<Request> {
        let Some(evaluation) = self.read_cached(cache) else {
            return Some(self.now.request());
        };
        self.finish_evaluation(evaluation);
        None
    }

    /// Reads the pending position's prediction from the cache.
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

    /// Reads the predictions for all images of the current descent's position and caches their average.
    pub(super) fn read<'a>(
        &mut self,
        predictions: impl IntoIterator<Item = Prediction<'a>>,
        cache: &mut EvaluationCache,
    ) -> Result<Evaluation, PredictError> {
        let images = self.now.view.images;
        let mut predictions = predictions.into_iter();
        self.priors.clear();
        self.predicted_ownership.clear();
        let mut evaluation = Evaluation {
            value: 0.0,
            margin: 0.0,
        };
        for (image, &symmetry) in images.iter().enumerate() {
            let prediction = predictions.next().expect("one prediction for each image");
            self.read_priors(image, symmetry, prediction)?;
            self.read_ownership(image, symmetry, prediction);
            evaluation.value += prediction.win - prediction.loss;
            evaluation.margin += prediction.margin;
        }
        if images.len() > 1 {
            let share = 1.0 / images.len() as f32;
            let sums = self.priors.iter_mut().chain(&mut self.predicted_ownership);
            sums.for_each(|sum| *sum *= share);
            evaluation.value *= share;
            evaluation.margin *= share;
        }
        let kept = CachedPrediction {
            evaluation,
            priors: &self.priors,
            ownership: self.config.ownership.then_some(&self.predicted_ownership),
        };
        cache.insert(self.now.view.key, kept);
        Ok(evaluation)
    }

    /// Reads the priors of the legal moves from one image's prediction, and adds them to those of earlier images.
    fn read_priors(
        &mut self,
        image: usize,
        symmetry: Symmetry,
        prediction: Prediction<'_>,
    ) -> Result<(), PredictError> {
        let (size, canvas, logits) = (self.position.size(), prediction.canvas, prediction.policy_logits);
        let points = self.now.view.image_points.iter().map(|&point| usize::from(point));
        let priors = match image {
            0 => &mut self.priors,
            _ => &mut self.image_priors,
        };
        priors.clear();
        match (image, size == canvas) {
            (0, true) => priors.extend(points.map(|point| logits[point])),
            (0, false) => priors.extend(points.map(|point| logits[canvas_index(size, canvas, point)])),
            _ => {
                let map = ImageTable::of(size).map_of(symmetry).points();
                let point = |point: usize| canvas_index(size, canvas, usize::from(map[point]));
                priors.extend(points.map(|of_first| logits[point(of_first)]));
            }
        }
        priors.push(logits[canvas.area()]);
        if !numeric::softmax(priors) {
            return Err(PredictError::NotFinite {
                array: "policy_logits",
                row: image,
            });
        }
        if image > 0 {
            let pairs = self.priors.iter_mut().zip(&self.image_priors);
            pairs.for_each(|(sum, prior)| *sum += prior);
        }
        Ok(())
    }

    /// Reads the ownership from one image's prediction, if the settings request it and the network predicts it, and
    /// adds it to that of earlier images.
    fn read_ownership(&mut self, image: usize, symmetry: Symmetry, prediction: Prediction<'_>) {
        if !self.config.ownership || prediction.ownership.is_empty() {
            return;
        }
        let size = self.position.size();
        let map = ImageTable::of(size).map_of(symmetry).points();
        let owner = |point: &u16| prediction.ownership[canvas_index(size, prediction.canvas, usize::from(*point))];
        match image {
            0 => self.predicted_ownership.extend(map.iter().map(owner)),
            _ => {
                let pairs = self.predicted_ownership.iter_mut().zip(map.iter().map(owner));
                pairs.for_each(|(sum, owner)| *sum += owner);
            }
        }
    }

    /// Adds the ownership of the pending position, mapped back to the board's orientation.
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
