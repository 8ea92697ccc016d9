//! Predicts a batch, in parts if the GPU has too little memory for all of it at once.

use std::sync::atomic::Ordering;

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use super::line::Shared;
use crate::predictor::{PredictError, Predictions, Predictor};

/// The most positions that are not divided further: a GPU pads smaller batches to this size.
const FEWEST: usize = 16;

/// Memory for a part of a batch; none until a batch does not fit.
pub(super) struct Part {
    inputs: InputBatch,
    predictions: Predictions,
}

impl Part {
    pub(super) fn new() -> Part {
        Part {
            inputs: InputBatch::new(Size::new(1, 1).expect("1x1 is a board")),
            predictions: Predictions::default(),
        }
    }

    /// Predicts a batch, all of it at once if the server's row limit allows that. When the GPU runs out of memory, the
    /// limit falls, and the rest of the batch is predicted in parts.
    ///
    /// # Errors
    /// Those of the predictor; running out of memory is an error only if even the fewest positions do not fit.
    pub(super) fn predict(
        &mut self,
        inputs: &InputBatch,
        out: &mut Predictions,
        predictor: &mut dyn Predictor,
        shared: &Shared,
    ) -> Result<(), PredictError> {
        let all = inputs.len();
        let mut refused = None;
        if all <= shared.most_rows() {
            match predictor.predict(inputs, out) {
                Err(PredictError::OutOfMemory(reason)) => refused = shared.lower_limit(all, reason)?,
                result => return result,
            }
        }
        let mut start = 0;
        while start < all {
            let end = all.min(start.saturating_add(shared.most_rows()));
            self.inputs.copy_rows(inputs, start..end);
            match predictor.predict(&self.inputs, &mut self.predictions) {
                Ok(()) => {
                    self.write(start, inputs, out)?;
                    start = end;
                }
                Err(PredictError::OutOfMemory(reason)) => {
                    refused = shared.lower_limit(end - start, reason)?.or(refused)
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(reason) = refused {
            let limit = shared.most_rows();
            tracing::warn!(
                "the GPU has too little memory to predict {all} positions at once; from now on, it predicts at most \
                 {limit} at once ({reason})"
            );
        }
        Ok(())
    }

    /// Writes the predictions of the part that begins in row `start` into those of the whole batch.
    fn write(&self, start: usize, whole: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        let checked = self.predictions.check(self.inputs.len(), whole.canvas());
        checked.map_err(|error| error.at_row(|row| start + row))?;
        if start == 0 {
            out.reset(whole.len(), whole.canvas());
            if !self.predictions.ownership.is_empty() {
                out.reset_ownership(whole.canvas());
            }
        }
        out.write_rows(start, &self.predictions);
        Ok(())
    }
}

impl Shared {
    /// Limits batches to a power of two below `rows`, for which the GPU has too little memory. Returns the reason if
    /// the limit has fallen.
    ///
    /// # Errors
    /// If so few rows cannot be divided further.
    fn lower_limit(&self, rows: usize, reason: String) -> Result<Option<String>, PredictError> {
        if rows <= FEWEST {
            return Err(PredictError::Failed(format!(
                "out of GPU memory even for {FEWEST} positions: use a smaller network ({reason})"
            )));
        }
        let limit = rows.next_power_of_two() / 2;
        let falls = self.most_rows.fetch_min(limit, Ordering::Relaxed) > limit;
        self.halved.fetch_add(u64::from(falls), Ordering::Relaxed);
        Ok(falls.then_some(reason))
    }
}
