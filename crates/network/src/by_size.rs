//! Boards of several sizes in one batch, those of each size on a canvas of their own.
//!
//! On the common canvas, a small board costs as much as a large one, and every layer needs a mask. On a CPU, where a
//! smaller batch costs little more per position, calls without either are faster.

use std::collections::BTreeSet;

use tengen_encoding::InputBatch;
use tengen_rules::Size;
use tengen_search::Predictions;

/// The boards of one size and their predictions; kept for its memory.
#[derive(Debug)]
pub(crate) struct BySize {
    boards: InputBatch,
    predictions: Predictions,
}

impl BySize {
    /// No boards; allocates nothing.
    pub(crate) fn new() -> BySize {
        BySize {
            boards: InputBatch::new(Size::square(1).expect("1x1 is a board")),
            predictions: Predictions::default(),
        }
    }

    /// Calls `predict` with the boards of each size and room for their predictions, and writes these to `out`, which
    /// has room for the batch and its ownership.
    ///
    /// # Errors
    /// The first error of `predict`.
    pub(crate) fn predict<E>(
        &mut self,
        inputs: &InputBatch,
        out: &mut Predictions,
        mut predict: impl FnMut(&InputBatch, &mut Predictions) -> Result<(), E>,
    ) -> Result<(), E> {
        let sizes: BTreeSet<Size> = inputs.sizes().iter().copied().collect();
        for size in sizes {
            self.boards.copy_boards(inputs, size);
            self.predictions.reset(self.boards.len(), size);
            self.predictions.reset_ownership(size);
            predict(&self.boards, &mut self.predictions)?;
            out.write_boards((inputs.rows_of(size), inputs.canvas()), (&self.predictions, size));
        }
        Ok(())
    }
}
