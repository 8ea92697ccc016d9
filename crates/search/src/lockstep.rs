//! Runs many searches that share each network call.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::ops::Range;

use tengen_encoding::{Features, InputBatch};
use tengen_rules::Size;

use crate::cache::{EvaluationCache, KeyHasher};
use crate::predictor::{Job, PredictError, Prediction, Predictions, Predictor};
use crate::search::{Request, Search, Step};

/// A batch of positions for the network and its predictions; reused for every round.
///
/// Requests with equal keys share one row, so that two games in the same position need only one evaluation.
#[derive(Debug, Default)]
pub struct Batch {
    inputs: Option<InputBatch>,
    predictions: Predictions,
    rows: HashMap<u128, u32, BuildHasherDefault<KeyHasher>>,
}

impl Batch {
    /// Creates an empty batch, whose memory grows as needed and is reused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Clears the batch for boards that fit on `canvas` and this predictor.
    pub fn begin<P: Predictor + ?Sized>(&mut self, canvas: Size, predictor: &P) {
        let new = predictor.new_batch(canvas);
        match &mut self.inputs {
            Some(inputs) if inputs.is_like(&new) => inputs.clear(),
            inputs => *inputs = Some(new),
        }
        self.rows.clear();
    }

    /// Adds a position unless the batch already has one with the same key; returns its row.
    ///
    /// # Panics
    /// If [`begin`](Self::begin) was not called or the board does not fit on the canvas.
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

    /// The number of positions in the batch.
    pub fn len(&self) -> usize {
        self.inputs.as_ref().map_or(0, InputBatch::len)
    }

    /// Whether the batch has no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs the network on the batch; does nothing if the batch is empty.
    ///
    /// # Errors
    /// An error of the predictor, or [`PredictError::WrongShape`] or [`PredictError::NotFinite`] for invalid output.
    pub fn predict<P: Predictor + ?Sized>(&mut self, predictor: &mut P) -> Result<(), PredictError> {
        match &self.inputs {
            Some(inputs) if !inputs.is_empty() => {
                predictor.predict(inputs, &mut self.predictions)?;
                self.predictions.check(inputs.len(), inputs.canvas())
            }
            _ => Ok(()),
        }
    }

    /// Takes the positions out as a job with this ticket, to be submitted to a predictor; `None` if there are none.
    pub fn take(&mut self, ticket: usize) -> Option<Job> {
        let inputs = self.inputs.take_if(|inputs| !inputs.is_empty())?;
        let predictions = std::mem::take(&mut self.predictions);
        Some(Job {
            ticket,
            inputs,
            predictions,
        })
    }

    /// Puts back a job that was taken out and has completed.
    ///
    /// # Errors
    /// [`PredictError::WrongShape`] or [`PredictError::NotFinite`] for invalid predictions.
    pub fn put_back(&mut self, job: Job) -> Result<(), PredictError> {
        let checked = job.predictions.check(job.inputs.len(), job.inputs.canvas());
        self.inputs = Some(job.inputs);
        self.predictions = job.predictions;
        checked
    }

    /// The prediction in a row.
    ///
    /// # Panics
    /// If the batch has no predictions yet or no such row.
    pub fn prediction(&self, row: usize) -> Prediction<'_> {
        let inputs = self.inputs.as_ref().expect("a batch is begun before it is read");
        self.predictions.row(row, inputs.canvas())
    }
}

/// One round of many searches in lockstep: each requests its predictions, one network call makes them all, and the
/// searches absorb them. Reused from round to round; both [`Lockstep`] and self-play are loops around it.
#[derive(Debug, Default)]
pub struct Round {
    batch: Batch,
    /// The batch rows of all requests, concatenated.
    rows: Vec<usize>,
    /// For each request: the number of its search, its range in `rows`, and the request itself.
    waiting: Vec<(usize, Range<usize>, Request)>,
}

impl Round {
    /// Creates an empty round, whose memory grows as needed and is reused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a round for boards that fit on `canvas` and this predictor.
    pub fn begin<P: Predictor + ?Sized>(&mut self, canvas: Size, predictor: &P) {
        self.batch.begin(canvas, predictor);
        self.rows.clear();
        self.waiting.clear();
    }

    /// Adds a request of `search`, whose number this is.
    ///
    /// # Panics
    /// If no round was started or the board does not fit on the canvas.
    pub fn ask(&mut self, number: usize, search: &Search, request: Request) {
        let first = self.rows.len();
        search.each_image(&request, |key, features| self.rows.push(self.batch.add(key, features)));
        self.waiting.push((number, first..self.rows.len(), request));
    }

    /// Takes the positions out as a job with this ticket, to be submitted to a predictor; `None` without requests.
    pub fn take(&mut self, ticket: usize) -> Option<Job> {
        self.batch.take(ticket)
    }

    /// Passes the predictions of the completed job to the searches, which are found by their numbers.
    ///
    /// # Errors
    /// [`PredictError::WrongShape`] and [`PredictError::NotFinite`] for broken predictions, with the affected row of
    /// the batch.
    pub fn absorb<S: AsMut<Search>>(
        &mut self,
        job: Job,
        searches: &mut [S],
        cache: &mut EvaluationCache,
    ) -> Result<LockstepStats, PredictError> {
        self.batch.put_back(job)?;
        let stats = LockstepStats {
            evaluations: self.batch.len() as u64,
            cache_hits: (self.rows.len() - self.batch.len()) as u64,
            batches: 1,
        };
        for (number, rows, request) in self.waiting.drain(..) {
            let rows = &self.rows[rows];
            let predictions = rows.iter().map(|&row| self.batch.prediction(row));
            searches[number]
                .as_mut()
                .respond(request, predictions, cache)
                .map_err(|error| error.at_row(|image| rows[image]))?;
        }
        Ok(stats)
    }
}

/// Runs many searches in lockstep: in every round, each unfinished search descends to one position, or several if
/// [`Search::set_leaves`] allows it, and one network call evaluates them all.
///
/// If the predictor computes elsewhere and there are enough searches, they are split into parts with a round each, so
/// that one part descends while another waits for its predictions. The searches' results are independent of each other,
/// unless the network's output depends on the batch.
#[derive(Debug, Default)]
pub struct Lockstep {
    /// One round for each part.
    rounds: Vec<Round>,
}

/// The cost of a lockstep run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockstepStats {
    /// The number of positions that the network evaluated.
    pub evaluations: u64,
    /// The number of positions answered from the evaluation cache or shared with another search in the same round.
    pub cache_hits: u64,
    /// The number of network calls.
    pub batches: u64,
}

impl Lockstep {
    /// A driver with no memory allocated yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs every search to its end. The searches may have different board sizes, komi and budgets.
    ///
    /// # Errors
    /// The first error of the predictor; the searches can then be continued with another predictor, or restarted.
    pub fn run<S: AsMut<Search>, P: Predictor + ?Sized>(
        &mut self,
        searches: &mut [S],
        predictor: &mut P,
        cache: &mut EvaluationCache,
    ) -> Result<LockstepStats, PredictError> {
        self.run_while(|| true, searches, predictor, cache)
    }

    /// Like [`run`](Self::run), but stops early, between two rounds, once `goes_on` is false. The searches can then be
    /// continued or restarted.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub fn run_while<S: AsMut<Search>, P: Predictor + ?Sized>(
        &mut self,
        goes_on: impl Fn() -> bool,
        searches: &mut [S],
        predictor: &mut P,
        cache: &mut EvaluationCache,
    ) -> Result<LockstepStats, PredictError> {
        let hits_before = cache.hits();
        let sizes = searches.iter_mut().map(|search| search.as_mut().position().size());
        let Some(canvas) = canvas_of(sizes) else {
            return Ok(LockstepStats::default());
        };
        let result = self.run_on(canvas, goes_on, searches, predictor, cache);
        if result.is_err() {
            // Drain the jobs in flight, or the next run would mistake them for its own.
            while !matches!(predictor.collect(), Ok(None)) {}
        }
        let mut stats = result?;
        stats.cache_hits += cache.hits() - hits_before;
        Ok(stats)
    }

    fn run_on<S: AsMut<Search>, P: Predictor + ?Sized>(
        &mut self,
        canvas: Size,
        goes_on: impl Fn() -> bool,
        searches: &mut [S],
        predictor: &mut P,
        cache: &mut EvaluationCache,
    ) -> Result<LockstepStats, PredictError> {
        let mut stats = LockstepStats::default();
        let parts = predictor
            .depth()
            .min(searches.len() / predictor.least_part().max(1))
            .max(1);
        self.rounds.resize_with(parts, Round::new);
        let mut descending: VecDeque<usize> = (0..parts).collect();
        let mut away = 0;
        loop {
            let part = if goes_on() { descending.pop_front() } else { None };
            let done = match part {
                Some(part) => {
                    let Some(job) = self.descend(part, canvas, searches, predictor, cache) else {
                        continue;
                    };
                    let done = predictor.submit(job)?;
                    away += usize::from(done.is_none());
                    done
                }
                None if away == 0 => break,
                None => {
                    away -= 1;
                    predictor.collect()?
                }
            };
            if let Some(job) = done {
                descending.push_back(job.ticket);
                let round = self.rounds[job.ticket].absorb(job, searches, cache)?;
                stats.batches += round.batches;
                stats.evaluations += round.evaluations;
                stats.cache_hits += round.cache_hits;
            }
        }
        Ok(stats)
    }

    /// Advances a part's searches to their next requests; `None` if all of them are finished.
    fn descend<S: AsMut<Search>, P: Predictor + ?Sized>(
        &mut self,
        part: usize,
        canvas: Size,
        searches: &mut [S],
        predictor: &P,
        cache: &mut EvaluationCache,
    ) -> Option<Job> {
        let parts = self.rounds.len();
        let round = &mut self.rounds[part];
        round.begin(canvas, predictor);
        for (number, search) in searches.iter_mut().enumerate().skip(part).step_by(parts) {
            let search = search.as_mut();
            search.show_to(predictor);
            if let Step::Evaluate(request) = search.step(cache) {
                round.ask(number, search, request);
                while let Some(request) = search.more(cache) {
                    round.ask(number, search, request);
                }
            }
        }
        round.take(part)
    }
}

/// The smallest canvas that fits boards of all these sizes; `None` for no sizes.
pub fn canvas_of(sizes: impl Iterator<Item = Size>) -> Option<Size> {
    sizes.reduce(|a, b| {
        Size::new(a.width().max(b.width()), a.height().max(b.height())).expect("both sides are sides of boards")
    })
}
