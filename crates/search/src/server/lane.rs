//! One thread of a server: batches jobs, predicts them, and answers their clients.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use super::line::{Shared, Waiting};
use super::network::Network;
use super::part::Part;
use crate::predictor::{Job, PredictError, Predictions};

/// One thread of a server.
pub(super) struct Lane {
    number: usize,
    shared: Arc<Shared>,
    taken: Vec<Waiting>,
    joined: InputBatch,
    predictions: Predictions,
    part: Part,
}

impl Lane {
    pub(super) fn new(number: usize, shared: Arc<Shared>) -> Lane {
        Lane {
            number,
            shared,
            taken: Vec::new(),
            joined: InputBatch::new(Size::new(1, 1).expect("1x1 is a board")),
            predictions: Predictions::default(),
            part: Part::new(),
        }
    }

    pub(super) fn work(mut self) {
        loop {
            let shared = self.shared.clone();
            shared.next(&mut self.taken);
            let Some(first) = self.taken.first() else { return };
            let network = first.network.clone();
            let start = Instant::now();
            let positions: usize = self.taken.iter().map(Waiting::positions).sum();
            let result = catch_unwind(AssertUnwindSafe(|| self.predict(&network)));
            let result = result.unwrap_or_else(|_| Err(PredictError::Failed("the network panicked".to_owned())));
            let add = |counter: &AtomicU64, more: u64| counter.fetch_add(more, Ordering::Relaxed);
            add(&shared.batches, 1);
            add(&shared.jobs, self.taken.len() as u64);
            add(&shared.positions, positions as u64);
            add(&shared.busy_ns, start.elapsed().as_nanos() as u64);
            for waiting in self.taken.drain(..) {
                waiting.finish(result.clone());
            }
        }
    }

    /// Predicts the dequeued jobs in one batch.
    fn predict(&mut self, network: &Network) -> Result<(), PredictError> {
        let mut predictor = network.lanes[self.number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut jobs: Vec<&mut Job> = self
            .taken
            .iter_mut()
            .filter_map(|waiting| waiting.job.as_mut())
            .collect();
        let mut predict =
            |inputs: &InputBatch, out: &mut Predictions| self.part.predict(inputs, out, &mut **predictor, &self.shared);
        if let [job] = &mut jobs[..] {
            return predict(&job.inputs, &mut job.predictions);
        }
        let Some(first) = jobs.first() else { return Ok(()) };
        self.joined.copy_rows(&first.inputs, 0..first.inputs.len());
        for job in &jobs[1..] {
            self.joined.append(&job.inputs);
        }
        predict(&self.joined, &mut self.predictions)?;
        self.predictions.check(self.joined.len(), self.joined.canvas())?;
        let mut start = 0;
        for job in jobs {
            let end = start + job.inputs.len();
            job.predictions.copy_rows(&self.predictions, start..end);
            start = end;
        }
        Ok(())
    }
}
