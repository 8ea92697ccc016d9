//! Many searches that share each call of the network.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_rules::Size;

use crate::cache::{EvaluationCache, KeyHasher};
use crate::predictor::{PredictError, Prediction, Predictions, Predictor};
use crate::search::{Search, Step};

/// One batch of positions on its way to the network and back; reused from round to round.
///
/// Requests with equal keys share one row, so that two games in the same position cost one evaluation.
#[derive(Debug, Default)]
pub struct Batch {
    inputs: Option<InputBatch>,
    predictions: Predictions,
    rows: HashMap<u128, u32, BuildHasherDefault<KeyHasher>>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the batch for boards that fit on `canvas` and a predictor that sees these planes.
    pub fn begin(&mut self, canvas: Size, plane_set: PlaneSet) {
        match &mut self.inputs {
            Some(inputs) if inputs.canvas() == canvas && inputs.plane_set() == plane_set => inputs.clear(),
            inputs => *inputs = Some(InputBatch::with_planes(canvas, plane_set)),
        }
        self.rows.clear();
    }

    /// Adds a position unless one with the same key is there already; returns its row.
    ///
    /// # Panics
    /// When [`begin`](Self::begin) was not called or the board does not fit on the canvas.
    pub fn add(&mut self, key: u128, features: &Features) -> usize {
        let inputs = self
            .inputs
            .as_mut()
            .expect("a batch is begun before positions are added");
        let next = inputs.len();
        let row = *self.rows.entry(key).or_insert(next as u32) as usize;
        if row == next {
            inputs.push(features);
        }
        row
    }

    /// Positions in the batch.
    pub fn len(&self) -> usize {
        self.inputs.as_ref().map_or(0, InputBatch::len)
    }

    /// Whether the batch holds no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Has the network predict the batch; nothing is called for an empty one.
    ///
    /// # Errors
    /// The predictor's, or [`PredictError::WrongShape`] and [`PredictError::NotFinite`] for broken output.
    pub fn predict<P: Predictor + ?Sized>(&mut self, predictor: &mut P) -> Result<(), PredictError> {
        match &self.inputs {
            Some(inputs) if !inputs.is_empty() => {
                predictor.predict(inputs, &mut self.predictions)?;
                self.predictions.check(inputs.len(), inputs.canvas())
            }
            _ => Ok(()),
        }
    }

    /// The prediction in a row.
    ///
    /// # Panics
    /// When the batch was not predicted or has no such row.
    pub fn prediction(&self, row: usize) -> Prediction<'_> {
        let inputs = self.inputs.as_ref().expect("a batch is begun before it is read");
        self.predictions.row(row, inputs.canvas())
    }
}

/// Runs many searches side by side: in every round each unfinished search descends to one position, and one call of
/// the network evaluates them all.
///
/// What the searches find does not depend on one another, unless the network's output depends on the batch.
#[derive(Debug, Default)]
pub struct Lockstep {
    batch: Batch,
    waiting: Vec<(usize, usize, crate::search::Request)>,
}

/// What a lockstep run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockstepStats {
    /// Positions the network evaluated.
    pub evaluations: u64,
    /// Positions answered by the evaluation cache or by another search of the same round.
    pub cache_hits: u64,
    /// Calls of the network.
    pub batches: u64,
}

impl Lockstep {
    /// A driver without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs every search to its end. The searches may have different board sizes, komi and budgets.
    ///
    /// # Errors
    /// The first error of the predictor; the searches can then be run again with another one, or restarted.
    pub fn run<S: AsMut<Search>, P: Predictor + ?Sized>(
        &mut self,
        searches: &mut [S],
        predictor: &mut P,
        cache: &mut EvaluationCache,
    ) -> Result<LockstepStats, PredictError> {
        let mut stats = LockstepStats::default();
        let hits_before = cache.hits();
        let Some(canvas) = canvas_of(searches.iter_mut().map(|search| search.as_mut().position().size())) else {
            return Ok(stats);
        };
        while self.round(canvas, searches, predictor, cache, &mut stats)? {}
        stats.cache_hits += cache.hits() - hits_before;
        Ok(stats)
    }

    /// One round; false when all searches are finished.
    fn round<S: AsMut<Search>, P: Predictor + ?Sized>(
        &mut self,
        canvas: Size,
        searches: &mut [S],
        predictor: &mut P,
        cache: &mut EvaluationCache,
        stats: &mut LockstepStats,
    ) -> Result<bool, PredictError> {
        self.batch.begin(canvas, predictor.plane_set());
        self.waiting.clear();
        for (index, search) in searches.iter_mut().enumerate() {
            let search = search.as_mut();
            if let Step::Evaluate(request) = search.step(cache) {
                let row = self.batch.add(request.key(), search.features(&request));
                self.waiting.push((index, row, request));
            }
        }
        if self.batch.is_empty() {
            return Ok(false);
        }
        self.batch.predict(predictor)?;
        stats.batches += 1;
        stats.evaluations += self.batch.len() as u64;
        stats.cache_hits += (self.waiting.len() - self.batch.len()) as u64;
        for (index, row, request) in self.waiting.drain(..) {
            searches[index]
                .as_mut()
                .respond(request, self.batch.prediction(row), cache)
                .map_err(|e| at_row(e, row))?;
        }
        Ok(true)
    }
}

/// The smallest canvas that holds boards of all these sizes; none for no board.
pub fn canvas_of(sizes: impl Iterator<Item = Size>) -> Option<Size> {
    sizes.reduce(|a, b| {
        Size::new(a.width().max(b.width()), a.height().max(b.height())).expect("both sides are sides of boards")
    })
}

/// Puts the true row into an error of one position.
fn at_row(error: PredictError, row: usize) -> PredictError {
    match error {
        PredictError::NotFinite { array, .. } => PredictError::NotFinite { array, row },
        other => other,
    }
}
