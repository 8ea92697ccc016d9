//! One thread that searches many positions at a time with its own predictor, in full batches.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use tengen_rng as rng;
use tengen_rules::{Komi, Size};
use tengen_search::{EvaluationCache, Job, PredictError, Predictor, Request, Round, Search, SearchConfig, Step};

use crate::chunk::{Label, Task};
use crate::owners::percents;
use crate::teacher::{Desk, NetworkTeacher, Report};

/// Memory for the cache of evaluations, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Searches many positions at once. Every batch holds boards of one size, so that a prediction does not depend on the
/// size of the other boards in its batch.
pub(crate) struct Worker<'a> {
    predictor: Box<dyn Predictor>,
    config: SearchConfig,
    noise: f32,
    desk: &'a Desk<'a>,
    slots: Vec<Slot>,
    /// Slots without a position.
    free: Vec<usize>,
    /// Slots whose search can continue.
    ready: Vec<usize>,
    /// Batches submitted to the predictor, by ticket: the round and the slots that wait for it.
    away: HashMap<usize, (Round, Vec<usize>)>,
    spare: Vec<Round>,
    next_ticket: usize,
    cache: EvaluationCache,
    capacity: usize,
}

/// A place for a position, with a search that is used again and again.
struct Slot {
    search: Search,
    task: Option<Task>,
}

impl AsMut<Search> for Slot {
    fn as_mut(&mut self) -> &mut Search {
        &mut self.search
    }
}

impl<'a> Worker<'a> {
    pub(crate) fn new(predictor: Box<dyn Predictor>, teacher: &NetworkTeacher, desk: &'a Desk<'a>) -> Worker<'a> {
        let capacity = predictor.preferred_batch().max(1) * predictor.depth().max(1);
        Worker {
            predictor,
            config: teacher.search.clone(),
            noise: teacher.noise,
            desk,
            slots: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            away: HashMap::new(),
            spare: Vec::new(),
            next_ticket: 0,
            cache: EvaluationCache::new(CACHE_BYTES),
            capacity,
        }
    }

    /// Labels positions until there are no more, or it is stopped.
    pub(crate) fn work(mut self) -> Result<(), PredictError> {
        let _ = self.desk.reports.send(Report::Capacity(self.capacity));
        while !self.desk.is_stopped() && self.fill() {
            match self.away.len() < self.predictor.depth() && !self.ready.is_empty() {
                true => self.descend()?,
                false => self.collect()?,
            }
        }
        Ok(())
    }

    /// Gives every free slot a position; waits for one if there is nothing else to do. Returns false if all work is
    /// done.
    fn fill(&mut self) -> bool {
        while self.busy() < self.capacity {
            let task = match self.busy() {
                0 => self.desk.tasks.recv().ok(),
                _ => self.desk.tasks.try_recv().ok(),
            };
            let Some(task) = task else { break };
            let slot = match self.free.pop() {
                Some(slot) => slot,
                None => self.add_slot(&task),
            };
            self.start(slot, task);
            self.ready.push(slot);
        }
        self.busy() > 0
    }

    fn busy(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn add_slot(&mut self, task: &Task) -> usize {
        let mut search = Search::new(
            self.config.clone(),
            &task.position,
            Komi::from_half_points(0),
            rng::stream(0, &[]),
        );
        search.set_noise(self.noise);
        self.slots.push(Slot { search, task: None });
        self.slots.len() - 1
    }

    /// Starts the search of a position. Its random stream depends only on the seed, the game, and the ply.
    fn start(&mut self, slot: usize, task: Task) {
        let stream = rng::stream(self.desk.seed, &[task.key, task.ply as u64]);
        let slot = &mut self.slots[slot];
        slot.search.show_to(&self.predictor);
        slot.search
            .restart(&task.position, task.record.komi, self.config.visits, stream);
        slot.task = Some(task);
    }

    /// Advances as many searches as fit into a batch to their next request, and submits one batch per board size.
    fn descend(&mut self) -> Result<(), PredictError> {
        let hits_before = self.cache.hits();
        let mut requests: Vec<(Size, usize, Request)> = Vec::new();
        let batch = self.predictor.preferred_batch().max(1);
        let first = self.ready.len().saturating_sub(batch);
        for slot in self.ready.split_off(first) {
            if let Some(request) = self.advance(slot) {
                requests.push((self.slots[slot].search.position().size(), slot, request));
            }
        }
        self.add(&self.desk.counts.cache_hits, self.cache.hits() - hits_before);
        requests.sort_by_key(|(size, slot, _)| (size.width(), size.height(), *slot));
        let mut requests = requests.into_iter().peekable();
        while let Some((size, ..)) = requests.peek() {
            let size = *size;
            let mut round = self.spare.pop().unwrap_or_default();
            let mut waiting = Vec::new();
            round.begin(size, &self.predictor);
            while let Some((_, slot, request)) = requests.next_if(|(next, ..)| *next == size) {
                round.ask(slot, &self.slots[slot].search, request);
                waiting.push(slot);
            }
            self.submit(round, waiting)?;
        }
        Ok(())
    }

    /// Runs a slot until it has a request; `None` if there are no positions left for it.
    fn advance(&mut self, slot: usize) -> Option<Request> {
        while !self.desk.is_stopped() {
            if let Step::Evaluate(request) = self.slots[slot].search.step(&mut self.cache) {
                return Some(request);
            }
            self.deliver(slot);
            match self.desk.tasks.try_recv() {
                Ok(task) => self.start(slot, task),
                Err(_) => break,
            }
        }
        self.free.push(slot);
        None
    }

    /// Passes on the result of a finished search.
    fn deliver(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        if let Some(task) = slot.task.take() {
            let result = slot.search.result();
            let seen_by = task.position.to_move();
            let label = Label {
                expected_ownership: percents(result.ownership.as_deref().unwrap_or_default(), seen_by),
                policy: result.policy,
                value: result.value,
                margin: result.margin,
                visits: result.total_visits,
                network_value: result.network_value,
            };
            self.desk.deliver(&task, label);
        }
    }

    fn submit(&mut self, mut round: Round, waiting: Vec<usize>) -> Result<(), PredictError> {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let Some(job) = round.take(ticket) else {
            self.spare.push(round);
            return Ok(());
        };
        self.away.insert(ticket, (round, waiting));
        match self.predictor.submit(job)? {
            Some(job) => self.absorb(job),
            None => Ok(()),
        }
    }

    /// Waits for a submitted batch.
    fn collect(&mut self) -> Result<(), PredictError> {
        match self.predictor.collect()? {
            Some(job) => self.absorb(job),
            None => Ok(()),
        }
    }

    fn absorb(&mut self, job: Job) -> Result<(), PredictError> {
        let Some((mut round, waiting)) = self.away.remove(&job.ticket) else {
            return Ok(());
        };
        let stats = round.absorb(job, &mut self.slots, &mut self.cache)?;
        self.add(&self.desk.counts.evaluations, stats.evaluations);
        self.add(&self.desk.counts.cache_hits, stats.cache_hits);
        self.add(&self.desk.counts.batches, stats.batches);
        self.ready.extend(waiting);
        self.spare.push(round);
        Ok(())
    }

    fn add(&self, counter: &std::sync::atomic::AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}
