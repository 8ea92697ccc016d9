//! Rotates among groups, so that the thread and the network both always have work.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tengen_search::{Job, PredictError, Predictor};

use crate::counters::{Counters, Times};
use crate::group::{FinishedGame, Group};

/// Groups that one thread plays in turn. While a predictor that computes elsewhere has the batches of some, the next
/// one descends.
#[derive(Default)]
pub struct Rotation {
    groups: Vec<Group>,
    /// Groups without a batch in flight, in the order in which their batches came back.
    idle: VecDeque<usize>,
    away: usize,
    times: Arc<Times>,
}

impl Rotation {
    /// A rotation of these groups, which begins with the first.
    pub fn new(groups: Vec<Group>) -> Rotation {
        Rotation {
            idle: (0..groups.len()).collect(),
            groups,
            away: 0,
            times: Arc::default(),
        }
    }

    /// The groups, in the order in which they were given.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The groups, in the order in which they were given.
    pub fn groups_mut(&mut self) -> &mut [Group] {
        &mut self.groups
    }

    /// How the thread that plays the groups spends its time.
    pub(crate) fn times(&self) -> Arc<Times> {
        self.times.clone()
    }

    /// Whether all groups have finished all games of their quotas.
    pub fn is_done(&self) -> bool {
        self.groups.iter().all(Group::is_done)
    }

    /// Advances one idle group and submits its next batch. If it has none, or no group is idle, waits for a batch in
    /// flight and absorbs its predictions. Returns the games that ended in the advanced group.
    ///
    /// # Errors
    /// An error of the predictor. All groups remain valid, for [snapshots](Group::snapshot) or a new rotation.
    pub fn turn<P: Predictor + ?Sized>(&mut self, predictor: &mut P) -> Result<Vec<FinishedGame>, PredictError> {
        let Some(number) = self.idle.pop_front() else {
            self.collect(predictor)?;
            return Ok(Vec::new());
        };
        match self.descend(number, predictor) {
            Some(job) => self.submit(job, predictor)?,
            None => {
                if !self.groups[number].is_done() {
                    self.idle.push_back(number);
                }
                self.collect(predictor)?;
            }
        }
        Ok(self.groups[number].take_finished())
    }

    /// Waits for all batches in flight, so that another predictor or model can take over.
    ///
    /// # Errors
    /// An error of the predictor.
    pub fn settle<P: Predictor + ?Sized>(&mut self, predictor: &mut P) -> Result<(), PredictError> {
        while self.away > 0 {
            self.collect(predictor)?;
        }
        Ok(())
    }

    fn descend<P: Predictor + ?Sized>(&mut self, number: usize, predictor: &P) -> Option<Job> {
        let group = &mut self.groups[number];
        let start = Instant::now();
        let job = group.descend(number, predictor);
        Counters::add_time([&group.counters().descend_ns, &self.times.descend_ns], start);
        job
    }

    fn submit<P: Predictor + ?Sized>(&mut self, job: Job, predictor: &mut P) -> Result<(), PredictError> {
        let counters = self.groups[job.ticket].counters();
        let start = Instant::now();
        let done = predictor.submit(job)?;
        Counters::add_time([&counters.predict_ns, &self.times.predict_ns], start);
        match done {
            Some(job) => self.absorb(job),
            None => {
                self.away += 1;
                Ok(())
            }
        }
    }

    /// Waits for a batch, if any is in flight.
    fn collect<P: Predictor + ?Sized>(&mut self, predictor: &mut P) -> Result<(), PredictError> {
        if self.away == 0 {
            return Ok(());
        }
        let start = Instant::now();
        let job = predictor.collect()?;
        let job = job.ok_or_else(|| PredictError::Failed("the predictor lost a batch".to_owned()))?;
        let counters = self.groups[job.ticket].counters();
        Counters::add_time([&counters.predict_ns, &self.times.predict_ns], start);
        self.away -= 1;
        self.absorb(job)
    }

    fn absorb(&mut self, job: Job) -> Result<(), PredictError> {
        let number = job.ticket;
        let group = &mut self.groups[number];
        let start = Instant::now();
        group.absorb(job)?;
        Counters::add_time([&group.counters().absorb_ns, &self.times.absorb_ns], start);
        self.idle.push_back(number);
        Ok(())
    }
}
