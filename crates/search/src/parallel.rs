//! A predictor that splits each batch among several threads.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use ndarray::s;

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use crate::predictor::{PredictError, Predictions, Predictor};

/// Several predictors with the same network, each on its own thread, that split every batch.
///
/// For programs that run one batch at a time and would otherwise leave CPU cores idle.
pub struct ParallelPredictor {
    first: Box<dyn Predictor>,
    others: Vec<Other>,
    /// The minimum number of positions per thread.
    fewest: usize,
    inputs: InputBatch,
    predictions: Predictions,
}

/// A predictor on another thread.
struct Other {
    /// `None` ends the thread.
    jobs: Option<Sender<Job>>,
    answers: Receiver<(Job, Result<(), PredictError>)>,
    thread: Option<JoinHandle<()>>,
    /// The memory of the last job.
    spare: Option<Job>,
}

/// Part of a batch, and room for its predictions.
struct Job {
    inputs: InputBatch,
    predictions: Predictions,
}

impl ParallelPredictor {
    /// Splits batches among `first`, which runs on the calling thread, and all `others`, with at least `fewest` (1 or
    /// more) positions each. If the system starts fewer threads, those split the batches.
    ///
    /// # Panics
    /// If `fewest` is 0.
    pub fn new(first: Box<dyn Predictor>, others: Vec<Box<dyn Predictor + Send>>, fewest: usize) -> ParallelPredictor {
        assert!(fewest > 0, "a thread needs a position");
        let smallest = Size::new(1, 1).expect("1x1 is a board");
        ParallelPredictor {
            inputs: first.new_batch(smallest),
            first,
            fewest,
            others: others.into_iter().map_while(|other| Other::start(other).ok()).collect(),
            predictions: Predictions::default(),
        }
    }

    /// Joins the predictions of the first part and the others.
    fn join(&self, inputs: &InputBatch, busy: usize, out: &mut Predictions) {
        let canvas = inputs.canvas();
        out.reset(inputs.len(), canvas);
        let with_ownership = !self.predictions.ownership.is_empty();
        if with_ownership {
            out.reset_ownership(canvas);
        }
        let others = self.others[..busy].iter().filter_map(|other| other.spare.as_ref());
        let mut start = 0;
        for part in std::iter::once(&self.predictions).chain(others.map(|job| &job.predictions)) {
            let rows = start..start + part.win.len();
            out.policy_logits
                .slice_mut(s![rows.clone(), ..])
                .assign(&part.policy_logits);
            out.win.slice_mut(s![rows.clone()]).assign(&part.win);
            out.loss.slice_mut(s![rows.clone()]).assign(&part.loss);
            out.margin.slice_mut(s![rows.clone()]).assign(&part.margin);
            if with_ownership {
                out.ownership
                    .slice_mut(s![rows.clone(), .., ..])
                    .assign(&part.ownership);
            }
            start = rows.end;
        }
        debug_assert_eq!(start, inputs.len(), "the parts make up the batch");
    }
}

impl Predictor for ParallelPredictor {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        let parts = (inputs.len() / self.fewest).clamp(1, self.others.len() + 1);
        if parts == 1 {
            return self.first.predict(inputs, out);
        }
        let bounds = |part: usize| inputs.len() * part / parts;
        for (number, other) in self.others.iter_mut().enumerate().take(parts - 1) {
            other.begin(inputs, bounds(number + 1)..bounds(number + 2))?;
        }
        self.inputs.copy_rows(inputs, 0..bounds(1));
        let mut result = self.first.predict(&self.inputs, &mut self.predictions);
        // Wait for every answer, even after an error, so that none is mistaken for one of a later batch.
        for (number, other) in self.others.iter_mut().enumerate().take(parts - 1) {
            let answer = other
                .finish()
                .map_err(|error| error.at_row(|row| bounds(number + 1) + row));
            result = result.and(answer);
        }
        result?;
        self.predictions.check(bounds(1), inputs.canvas())?;
        for (number, other) in self.others.iter().enumerate().take(parts - 1) {
            let rows = bounds(number + 2) - bounds(number + 1);
            let job = other.spare.as_ref().ok_or_else(ended)?;
            let checked = job.predictions.check(rows, inputs.canvas());
            checked.map_err(|error| error.at_row(|row| bounds(number + 1) + row))?;
        }
        self.join(inputs, parts - 1, out);
        Ok(())
    }

    fn name(&self) -> String {
        self.first.name()
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        self.first.new_batch(canvas)
    }

    fn preferred_batch(&self) -> usize {
        self.first.preferred_batch() * (self.others.len() + 1)
    }
}

impl Other {
    fn start(mut predictor: Box<dyn Predictor + Send>) -> std::io::Result<Other> {
        let (jobs, taken) = channel::<Job>();
        let (answer, answers) = channel();
        let smallest = Size::new(1, 1).expect("1x1 is a board");
        let spare = Job {
            inputs: predictor.new_batch(smallest),
            predictions: Predictions::default(),
        };
        let work = move || {
            for mut job in taken {
                let result = predictor.predict(&job.inputs, &mut job.predictions);
                if answer.send((job, result)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("predictor".to_owned()).spawn(work)?;
        Ok(Other {
            jobs: Some(jobs),
            answers,
            thread: Some(thread),
            spare: Some(spare),
        })
    }

    /// Starts predicting these rows of a batch.
    fn begin(&mut self, inputs: &InputBatch, rows: std::ops::Range<usize>) -> Result<(), PredictError> {
        let mut job = self.spare.take().ok_or_else(ended)?;
        job.inputs.copy_rows(inputs, rows);
        let jobs = self.jobs.as_ref().ok_or_else(ended)?;
        jobs.send(job).map_err(|_| ended())
    }

    /// Waits for the prediction that was started.
    fn finish(&mut self) -> Result<(), PredictError> {
        let (job, result) = self.answers.recv().map_err(|_| ended())?;
        self.spare = Some(job);
        result
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was already reported when its answer did not arrive.
            let _ = thread.join();
        }
    }
}

/// The error after a thread has panicked.
fn ended() -> PredictError {
    PredictError::Failed("a thread of the predictor has ended".to_owned())
}
