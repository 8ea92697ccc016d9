//! The interface between search and network: a batch of encoded positions in, a batch of predictions out.

use tengen_encoding::{InputBatch, PlaneSet};
use tengen_rules::Size;
use thiserror::Error;

/// Turns a batch of encoded positions into predictions.
///
/// Implementations are deterministic: the same batch gives the same predictions.
pub trait Predictor {
    /// Fills `out` with one prediction per position of `inputs`, in the same order.
    ///
    /// # Errors
    /// [`PredictError::Failed`] if the network cannot be run on this batch.
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError>;

    /// A name for users and records, such as a model ID.
    fn name(&self) -> String;

    /// The bit planes that the predictor uses as input.
    fn plane_set(&self) -> PlaneSet {
        PlaneSet::Base
    }

    /// The batch size above which throughput no longer increases noticeably.
    fn preferred_batch(&self) -> usize {
        64
    }
}

impl<P: Predictor + ?Sized> Predictor for Box<P> {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        (**self).predict(inputs, out)
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn plane_set(&self) -> PlaneSet {
        (**self).plane_set()
    }

    fn preferred_batch(&self) -> usize {
        (**self).preferred_batch()
    }
}

impl<P: Predictor + ?Sized> Predictor for &mut P {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        (**self).predict(inputs, out)
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn plane_set(&self) -> PlaneSet {
        (**self).plane_set()
    }

    fn preferred_batch(&self) -> usize {
        (**self).preferred_batch()
    }
}

/// A network's predictions for a batch of B positions on one canvas; reused for every call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictions {
    /// Unnormalized log-probabilities of moves, `[B, canvas area + 1]`: the canvas points in reading order, then the
    /// pass. Values at points off the board are never read (negative infinity by convention).
    pub policy_logits: Vec<f32>,
    /// Probability that the side to move wins, `[B]`, 0 to 1.
    pub win: Vec<f32>,
    /// Probability that the side to move loses, `[B]`, 0 to 1; the rest, 1 − win − loss, is the probability of a tie.
    pub loss: Vec<f32>,
    /// Expected final margin after komi, `[B]`, in points from the viewpoint of the side to move.
    pub margin: Vec<f32>,
    /// Expected final ownership, `[B, canvas area]`, −1 (opponent) to 1 (side to move); empty if not predicted.
    pub ownership: Vec<f32>,
}

impl Predictions {
    /// Resets to `batch` predictions on `canvas`, with all logits, win, loss and margin 0 and no ownership.
    pub fn reset(&mut self, batch: usize, canvas: Size) {
        self.policy_logits.clear();
        self.policy_logits.resize(batch * (canvas.area() + 1), 0.0);
        for values in [&mut self.win, &mut self.loss, &mut self.margin] {
            values.clear();
            values.resize(batch, 0.0);
        }
        self.ownership.clear();
    }

    /// The prediction of the position at `index` in a batch on `canvas`.
    ///
    /// # Panics
    /// If there is no such position; [`Predictions::check`] detects missing values beforehand.
    pub fn row(&self, index: usize, canvas: Size) -> Prediction<'_> {
        let area = canvas.area();
        let ownership = match self.ownership.len() {
            0 => &[],
            _ => &self.ownership[index * area..(index + 1) * area],
        };
        Prediction {
            canvas,
            policy_logits: &self.policy_logits[index * (area + 1)..(index + 1) * (area + 1)],
            win: self.win[index],
            loss: self.loss[index],
            margin: self.margin[index],
            ownership,
        }
    }

    /// Checks that a batch filled by a predictor has the expected lengths and finite values.
    ///
    /// # Errors
    /// [`PredictError::WrongLength`] for an array of the wrong length, [`PredictError::NotFinite`] for a value that is
    /// infinite or NaN.
    pub fn check(&self, batch: usize, canvas: Size) -> Result<(), PredictError> {
        let lengths = [
            ("policy_logits", self.policy_logits.len(), batch * (canvas.area() + 1)),
            ("win", self.win.len(), batch),
            ("loss", self.loss.len(), batch),
            ("margin", self.margin.len(), batch),
        ];
        for (array, found, expected) in lengths {
            if found != expected {
                return Err(PredictError::WrongLength { array, found, expected });
            }
        }
        let expected = batch * canvas.area();
        if !self.ownership.is_empty() && self.ownership.len() != expected {
            let (array, found) = ("ownership", self.ownership.len());
            return Err(PredictError::WrongLength { array, found, expected });
        }
        for (array, values) in [("win", &self.win), ("loss", &self.loss), ("margin", &self.margin)] {
            if let Some(row) = values.iter().position(|v| !v.is_finite()) {
                return Err(PredictError::NotFinite { array, row });
            }
        }
        Ok(())
    }
}

/// One row of [`Predictions`], with the same meaning of its fields.
#[derive(Clone, Copy, Debug)]
pub struct Prediction<'a> {
    /// The canvas on which the arrays are laid out; the board is in its top left corner.
    pub canvas: Size,
    /// Unnormalized log-probabilities of moves, `[canvas area + 1]`, the pass last.
    pub policy_logits: &'a [f32],
    /// Probability that the side to move wins, 0 to 1.
    pub win: f32,
    /// Probability that the side to move loses, 0 to 1.
    pub loss: f32,
    /// Expected final margin after komi, in points from the viewpoint of the side to move.
    pub margin: f32,
    /// Expected final ownership, `[canvas area]`, −1 (opponent) to 1 (side to move); empty if not predicted.
    pub ownership: &'a [f32],
}

/// The reason why a batch has no usable predictions.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PredictError {
    /// The network could not be run.
    #[error("the predictor failed: {0}")]
    Failed(String),
    /// The predictor filled an array with the wrong number of values.
    #[error("the predictor returned {found} values in `{array}`, expected {expected}")]
    WrongLength {
        /// The field of [`Predictions`].
        array: &'static str,
        /// The number of values found.
        found: usize,
        /// The number of values expected.
        expected: usize,
    },
    /// The predictor returned an infinite value or NaN, which means that the weights are corrupt.
    #[error("the predictor returned a value that is not finite in `{array}` of position {row} of the batch")]
    NotFinite {
        /// The field of [`Predictions`].
        array: &'static str,
        /// The index of the position in its batch.
        row: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_finds_wrong_lengths_and_invalid_values() {
        let canvas = Size::square(3).unwrap();
        let mut out = Predictions::default();
        out.reset(2, canvas);
        assert_eq!(out.check(2, canvas), Ok(()));
        assert!(matches!(
            out.check(3, canvas),
            Err(PredictError::WrongLength {
                array: "policy_logits",
                ..
            })
        ));
        out.margin[1] = f32::NAN;
        assert_eq!(
            out.check(2, canvas),
            Err(PredictError::NotFinite {
                array: "margin",
                row: 1
            })
        );
        out.margin[1] = 0.0;
        out.ownership = vec![0.0; 9];
        assert!(matches!(
            out.check(2, canvas),
            Err(PredictError::WrongLength { array: "ownership", .. })
        ));
    }

    #[test]
    fn rows_have_the_length_of_the_canvas() {
        let canvas = Size::new(2, 1).unwrap();
        let mut out = Predictions::default();
        out.reset(2, canvas);
        out.policy_logits.copy_from_slice(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        out.win[1] = 0.75;
        let row = out.row(1, canvas);
        assert_eq!(row.policy_logits, [3.0, 4.0, 5.0]);
        assert_eq!(row.win, 0.75);
        assert!(row.ownership.is_empty());
    }
}
