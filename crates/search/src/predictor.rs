//! The interface between search and network: a batch of encoded positions in, a batch of predictions out.

use std::ops::Range;

use ndarray::{Array, Array1, Array2, Array3, Axis, Dimension, IntoDimension, s};
use thiserror::Error;

use tengen_encoding::InputBatch;
use tengen_rules::Size;

/// Turns a batch of encoded positions into predictions.
///
/// Implementations are deterministic: the same batch gives the same predictions.
pub trait Predictor {
    /// Fills `out` with one prediction per position of `inputs`, in the same order.
    ///
    /// # Errors
    /// [`PredictError::OutOfMemory`] if a GPU has too little memory for this batch, and [`PredictError::Failed`] if the
    /// network cannot be run on it for another reason.
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError>;

    /// A name for users and records, such as a model ID.
    fn name(&self) -> String;

    /// An empty batch with the input planes that the predictor sees, for boards that fit on `canvas`. Callers reuse a
    /// batch as long as [`InputBatch::is_like`] finds it equivalent to a new one.
    fn new_batch(&self, canvas: Size) -> InputBatch {
        InputBatch::new(canvas)
    }

    /// The batch size above which throughput no longer increases noticeably.
    fn preferred_batch(&self) -> usize {
        64
    }

    /// The fewest searches worth a batch of their own, so that one batch can be prepared while another is predicted.
    fn least_part(&self) -> usize {
        self.preferred_batch()
    }

    /// Submits a batch. A predictor that computes on the calling thread returns it with its predictions. One that
    /// computes elsewhere keeps it, so the caller can prepare the next batch until it [collects](Self::collect) this
    /// one.
    ///
    /// # Errors
    /// Same as [`predict`](Self::predict); the job is then lost.
    fn submit(&mut self, mut job: Job) -> Result<Option<Job>, PredictError> {
        self.predict(&job.inputs, &mut job.predictions)?;
        Ok(Some(job))
    }

    /// Waits until any one of the submitted jobs that the predictor [kept](Self::submit) is done; `None` if it keeps
    /// none.
    ///
    /// # Errors
    /// Same as [`predict`](Self::predict); one of the jobs is then lost, but the others can still be collected.
    fn collect(&mut self) -> Result<Option<Job>, PredictError> {
        Ok(None)
    }

    /// How many jobs a caller should keep in flight so that the predictor never idles: 1 if it computes on the calling
    /// thread.
    fn depth(&self) -> usize {
        1
    }
}

/// A batch in flight.
#[derive(Debug)]
pub struct Job {
    /// The caller's number for this job.
    pub ticket: usize,
    /// The positions.
    pub inputs: InputBatch,
    /// One prediction per position once the job is done; before that, memory to reuse.
    pub predictions: Predictions,
}

/// Predictors behind a pointer are predictors.
macro_rules! predict_through {
    ($pointer:ty) => {
        impl<P: Predictor + ?Sized> Predictor for $pointer {
            fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
                (**self).predict(inputs, out)
            }

            fn name(&self) -> String {
                (**self).name()
            }

            fn new_batch(&self, canvas: Size) -> InputBatch {
                (**self).new_batch(canvas)
            }

            fn preferred_batch(&self) -> usize {
                (**self).preferred_batch()
            }

            fn least_part(&self) -> usize {
                (**self).least_part()
            }

            fn submit(&mut self, job: Job) -> Result<Option<Job>, PredictError> {
                (**self).submit(job)
            }

            fn collect(&mut self) -> Result<Option<Job>, PredictError> {
                (**self).collect()
            }

            fn depth(&self) -> usize {
                (**self).depth()
            }
        }
    };
}

predict_through!(Box<P>);
predict_through!(&mut P);

/// A network's predictions for a batch of `B` positions on one canvas of `H` rows and `W` columns, `A = H * W`; reused
/// for every call. Arrays are in C order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictions {
    /// Unnormalized log-probabilities of moves, `[position, move]` = `[B, A + 1]`: the canvas points in reading order,
    /// then the pass. Values at points off the board are never read (negative infinity by convention).
    pub policy_logits: Array2<f32>,
    /// Probability that the side to move wins, `[B]`, 0 to 1.
    pub win: Array1<f32>,
    /// Probability that the side to move loses, `[B]`, 0 to 1; the rest, 1 − win − loss, is the probability of a tie.
    pub loss: Array1<f32>,
    /// Expected final margin after komi, `[B]`, in points from the viewpoint of the side to move.
    pub margin: Array1<f32>,
    /// Expected final ownership, `[position, row, column]` = `[B, H, W]`, −1 (opponent) to 1 (side to move); empty if
    /// not predicted.
    pub ownership: Array3<f32>,
}

impl Predictions {
    /// Resets to `batch` predictions on `canvas`, with all logits, win, loss and margin 0 and no ownership.
    pub fn reset(&mut self, batch: usize, canvas: Size) {
        zero(&mut self.policy_logits, [batch, canvas.area() + 1]);
        for values in [&mut self.win, &mut self.loss, &mut self.margin] {
            zero(values, [batch]);
        }
        zero(&mut self.ownership, [0, 0, 0]);
    }

    /// Makes room for the ownership of every position on `canvas` after [`reset`](Self::reset), all 0.
    pub fn reset_ownership(&mut self, canvas: Size) {
        zero(&mut self.ownership, [self.win.len(), canvas.height(), canvas.width()]);
    }

    /// Replaces everything by a range of the predictions of another batch.
    ///
    /// # Panics
    /// If the range exceeds the other batch.
    pub fn copy_rows(&mut self, other: &Predictions, rows: Range<usize>) {
        let (count, moves) = (rows.len(), other.policy_logits.ncols());
        let (_, height, width) = other.ownership.dim();
        resize(&mut self.policy_logits, [count, moves]);
        self.policy_logits
            .assign(&other.policy_logits.slice(s![rows.clone(), ..]));
        let pairs = [
            (&mut self.win, &other.win),
            (&mut self.loss, &other.loss),
            (&mut self.margin, &other.margin),
        ];
        for (own, others) in pairs {
            resize(own, [count]);
            own.assign(&others.slice(s![rows.clone()]));
        }
        if other.ownership.is_empty() {
            return resize(&mut self.ownership, [0, 0, 0]);
        }
        resize(&mut self.ownership, [count, height, width]);
        self.ownership.assign(&other.ownership.slice(s![rows, .., ..]));
    }

    /// Overwrites the predictions from row `start` on with those of a part of the batch.
    ///
    /// # Panics
    /// If the part exceeds the batch or has other arrays.
    pub fn write_rows(&mut self, start: usize, part: &Predictions) {
        let rows = start..start + part.win.len();
        let mut logits = self.policy_logits.slice_mut(s![rows.clone(), ..]);
        logits.assign(&part.policy_logits);
        let pairs = [
            (&mut self.win, &part.win),
            (&mut self.loss, &part.loss),
            (&mut self.margin, &part.margin),
        ];
        for (own, others) in pairs {
            own.slice_mut(s![rows.clone()]).assign(others);
        }
        if !part.ownership.is_empty() {
            self.ownership.slice_mut(s![rows, .., ..]).assign(&part.ownership);
        }
    }

    /// Overwrites rows of a batch on `canvas` with predictions for boards of one size in its top left corner. The
    /// logits of all other points become negative infinity, and their ownership 0.
    ///
    /// # Panics
    /// If the boards do not fit on the canvas, or there are not as many rows.
    pub fn write_boards(
        &mut self,
        (rows, canvas): (impl Iterator<Item = usize>, Size),
        (boards, size): (&Predictions, Size),
    ) {
        let mut written = 0;
        for (board, row) in rows.enumerate() {
            let (mut logits, from) = (self.policy_logits.row_mut(row), boards.policy_logits.row(board));
            logits.fill(f32::NEG_INFINITY);
            logits[canvas.area()] = from[size.area()];
            for y in 0..size.height() {
                let to = y * canvas.width();
                let (first, end) = (y * size.width(), (y + 1) * size.width());
                logits
                    .slice_mut(s![to..to + size.width()])
                    .assign(&from.slice(s![first..end]));
            }
            self.win[row] = boards.win[board];
            self.loss[row] = boards.loss[board];
            self.margin[row] = boards.margin[board];
            if !boards.ownership.is_empty() {
                let mut ownership = self.ownership.index_axis_mut(Axis(0), row);
                ownership.fill(0.0);
                ownership
                    .slice_mut(s![..size.height(), ..size.width()])
                    .assign(&boards.ownership.index_axis(Axis(0), board));
            }
            written += 1;
        }
        assert_eq!(written, boards.win.len(), "a row for every board");
    }

    /// The prediction of the position at `index` in a batch on `canvas`.
    ///
    /// # Panics
    /// If there is no such position or an array is not in C order; [`Predictions::check`] detects that beforehand.
    pub fn row(&self, index: usize, canvas: Size) -> Prediction<'_> {
        let in_order = "the array is in C order";
        let ownership = match self.ownership.is_empty() {
            true => &[],
            false => self.ownership.index_axis(Axis(0), index).to_slice().expect(in_order),
        };
        Prediction {
            canvas,
            policy_logits: self.policy_logits.row(index).to_slice().expect(in_order),
            win: self.win[index],
            loss: self.loss[index],
            margin: self.margin[index],
            ownership,
        }
    }

    /// Checks that a batch filled by a predictor has the expected shapes and finite values.
    ///
    /// # Errors
    /// [`PredictError::WrongShape`] for an array of the wrong shape, [`PredictError::NotFinite`] for a value that is
    /// infinite or NaN.
    pub fn check(&self, batch: usize, canvas: Size) -> Result<(), PredictError> {
        check_shape("policy_logits", &self.policy_logits, &[batch, canvas.area() + 1])?;
        check_shape("win", &self.win, &[batch])?;
        check_shape("loss", &self.loss, &[batch])?;
        check_shape("margin", &self.margin, &[batch])?;
        if !self.ownership.is_empty() {
            check_shape("ownership", &self.ownership, &[batch, canvas.height(), canvas.width()])?;
        }
        for (array, values) in [("win", &self.win), ("loss", &self.loss), ("margin", &self.margin)] {
            if let Some(row) = values.iter().position(|v| !v.is_finite()) {
                return Err(PredictError::NotFinite { array, row });
            }
        }
        Ok(())
    }
}

/// Replaces an array by zeros of this shape, reusing its memory.
fn zero<const N: usize, D: Dimension>(array: &mut Array<f32, D>, shape: [usize; N])
where
    [usize; N]: IntoDimension<Dim = D>,
{
    resize(array, shape);
    array.fill(0.0);
}

/// Gives an array this shape, with any values, reusing its memory.
fn resize<const N: usize, D: Dimension>(array: &mut Array<f32, D>, shape: [usize; N])
where
    [usize; N]: IntoDimension<Dim = D>,
{
    if array.shape() == shape {
        return;
    }
    let (mut values, _) = std::mem::take(array).into_raw_vec_and_offset();
    values.resize(shape.iter().product(), 0.0);
    *array = Array::from_shape_vec(shape, values).expect("the number of values follows from the shape");
}

fn check_shape<D: Dimension>(
    array: &'static str,
    values: &Array<f32, D>,
    expected: &[usize],
) -> Result<(), PredictError> {
    if values.shape() == expected && values.is_standard_layout() {
        return Ok(());
    }
    Err(PredictError::WrongShape {
        array,
        found: values.shape().to_vec(),
        expected: expected.to_vec(),
    })
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

/// Why a batch has no usable predictions.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PredictError {
    /// The network could not be run.
    #[error("the predictor failed: {0}")]
    Failed(String),
    /// A GPU has too little memory for the batch. A smaller one may fit.
    #[error("out of GPU memory ({0})")]
    OutOfMemory(String),
    /// The predictor filled an array of the wrong shape.
    #[error("the predictor returned `{array}` with the shape {found:?}, expected {expected:?} in C order")]
    WrongShape {
        /// Name of the field of [`Predictions`].
        array: &'static str,
        /// The shape found.
        found: Vec<usize>,
        /// The expected shape.
        expected: Vec<usize>,
    },
    /// The predictor returned an infinite value or NaN, which means that the weights are corrupt.
    #[error("the predictor returned a value that is not finite in `{array}` of position {row} of the batch")]
    NotFinite {
        /// Name of the field of [`Predictions`].
        array: &'static str,
        /// The index of the position in its batch.
        row: usize,
    },
}

impl PredictError {
    /// The same error about a batch in which the position has another row.
    pub fn at_row(self, row_of: impl Fn(usize) -> usize) -> PredictError {
        match self {
            PredictError::NotFinite { array, row } => PredictError::NotFinite {
                array,
                row: row_of(row),
            },
            other => other,
        }
    }
}
