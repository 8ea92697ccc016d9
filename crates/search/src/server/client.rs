//! The client through which one thread sends its batches to a server; it is a predictor.

use std::sync::mpsc::{Receiver, Sender, channel};

use tengen_encoding::InputBatch;
use tengen_rules::Size;

use super::line::{Answer, Waiting};
use super::{ServedNetwork, ended};
use crate::predictor::{Job, PredictError, Predictions, Predictor};

/// Jobs that a client should keep in flight: one being predicted and one in the queue.
const DEPTH: usize = 2;

/// The fewest searches worth a job of their own: the server joins the jobs of all clients into larger batches.
const LEAST_PART: usize = 24;

/// Sends the batches of one thread to a server, as a [`Predictor`].
#[derive(Debug)]
pub struct Client {
    served: ServedNetwork,
    /// Cloned for every job, so that the client gets an answer even if the server drops the job.
    sender: Sender<Answer>,
    answers: Receiver<Answer>,
    /// Jobs in flight.
    away: usize,
    /// Memory for [`Predictor::predict`].
    spare: Option<Job>,
}

impl Client {
    pub(super) fn new(served: ServedNetwork) -> Client {
        let (sender, answers) = channel();
        Client {
            served,
            sender,
            answers,
            away: 0,
            spare: None,
        }
    }
}

impl Predictor for Client {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        let mut job = self.spare.take().unwrap_or_else(|| Job {
            ticket: 0,
            inputs: self.new_batch(inputs.canvas()),
            predictions: Predictions::default(),
        });
        job.inputs.copy_rows(inputs, 0..inputs.len());
        std::mem::swap(&mut job.predictions, out);
        // Uses its own answer channel, since other jobs may be in flight.
        let (sender, answer) = channel();
        self.served.send(job, sender)?;
        let mut job = answer.recv().map_err(|_| ended())??;
        std::mem::swap(&mut job.predictions, out);
        self.spare = Some(job);
        Ok(())
    }

    fn name(&self) -> String {
        self.served.name.clone()
    }

    fn new_batch(&self, canvas: Size) -> InputBatch {
        InputBatch::with_planes(canvas, self.served.network.plane_set)
    }

    fn preferred_batch(&self) -> usize {
        self.served.network.preferred_batch
    }

    fn least_part(&self) -> usize {
        self.preferred_batch().min(LEAST_PART)
    }

    fn submit(&mut self, job: Job) -> Result<Option<Job>, PredictError> {
        self.served.send(job, self.sender.clone())?;
        self.away += 1;
        Ok(None)
    }

    fn collect(&mut self) -> Result<Option<Job>, PredictError> {
        if self.away == 0 {
            return Ok(None);
        }
        self.away -= 1;
        self.answers.recv().map_err(|_| ended())?.map(Some)
    }

    fn depth(&self) -> usize {
        DEPTH
    }
}

impl ServedNetwork {
    fn send(&self, job: Job, answer: Sender<Answer>) -> Result<(), PredictError> {
        let waiting = Waiting {
            network: self.network.clone(),
            job: Some(job),
            answer,
        };
        let mut line = self.shared.line();
        if line.closed {
            return Err(ended());
        }
        line.waiting.push_back(waiting);
        drop(line);
        self.shared.changed.notify_one();
        Ok(())
    }
}
