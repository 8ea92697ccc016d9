//! Answers analysis queries: searches the positions of open ones, several in parallel.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};

use tengen_gtp::PositionAnalysis;
use tengen_gtp::json::{Job, Query, QueryQueue};
use tengen_rng as rng;
use tengen_rules::Move;
use tengen_search::{EvaluationCache, Lockstep, Predictor, Search, SearchConfig, SearchMethod};

use crate::analysis::{analysis_of, random_ownership, root_moves};
use crate::lines::LONGEST_LINE;

/// Memory for the cache of evaluations, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// When all trees together exceed this many bytes, the largest tree stops growing.
const TREE_BYTES: usize = 1 << 30;

/// Visits of every position between two checks of the input and the clock, unless more leaves are evaluated at once.
const SLICE: u32 = 4;

/// Maximum number of lines read before the searches continue.
const MOST_LINES: usize = 256;

/// Seed of the random games that estimate ownership when no network does.
const SEED: u64 = 1;

/// Answers the queries of a queue.
pub struct Analyzer {
    queue: QueryQueue,
    write: fn(&[String]) -> bool,
    predictor: Box<dyn Predictor>,
    parallel: usize,
    leaves: usize,
    started: BTreeMap<u64, StartedSearch>,
    cache: EvaluationCache,
    lockstep: Lockstep,
}

/// A position whose search has started.
struct StartedSearch {
    search: Search,
    /// Visits below the position at which the search ends.
    wanted: u32,
    until: Option<Instant>,
    report_every: Option<Duration>,
    reported: Instant,
}

/// The outcome of checking the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
    /// The reader of the answers has disconnected.
    Disconnected,
}

impl Analyzer {
    /// An analyzer that searches this many positions in parallel, and evaluates this many leaves of each at once.
    ///
    /// `write` sends whole lines to the client at once and is false if the client has disconnected.
    pub fn new(
        queue: QueryQueue,
        predictor: Box<dyn Predictor>,
        (parallel, leaves): (usize, usize),
        write: fn(&[String]) -> bool,
    ) -> Analyzer {
        Analyzer {
            write,
            queue,
            predictor,
            parallel,
            leaves,
            started: BTreeMap::new(),
            cache: EvaluationCache::new(CACHE_BYTES),
            lockstep: Lockstep::new(),
        }
    }

    /// Answers lines until the input has ended and, unless `quit_at_once`, every query is answered, or until the reader
    /// disconnects.
    pub fn work(&mut self, lines: &Receiver<Vec<u8>>, quit_at_once: bool) {
        let mut input = Input::Open;
        loop {
            if input == Input::Open {
                input = self.read(lines);
            }
            let done = match input {
                Input::Open => false,
                Input::Ended => quit_at_once || self.queue.is_empty(),
                Input::Disconnected => true,
            };
            if done || !self.search_slice() {
                return;
            }
        }
    }

    /// Takes the available lines; waits for one if there is nothing else to do.
    fn read(&mut self, lines: &Receiver<Vec<u8>>) -> Input {
        for number in 0..MOST_LINES {
            let line = match number == 0 && self.queue.is_empty() {
                true => lines.recv().map_err(|_| TryRecvError::Disconnected),
                false => lines.try_recv(),
            };
            match line {
                Ok(line) if !self.take(&line) => return Input::Disconnected,
                Ok(_) => {}
                Err(TryRecvError::Empty) => return Input::Open,
                Err(TryRecvError::Disconnected) => return Input::Ended,
            }
        }
        Input::Open
    }

    /// Takes one line; false if the reader has disconnected.
    fn take(&mut self, line: &[u8]) -> bool {
        if line.len() >= LONGEST_LINE {
            return (self.write)(&[self.queue.reject_long_line(LONGEST_LINE)]);
        }
        let handled = self.queue.handle(line);
        if handled.clear_cache {
            self.cache.clear();
        }
        (self.write)(&handled.replies)
    }

    /// Adds some visits to the first positions in line and answers finished ones; false if the reader has disconnected.
    fn search_slice(&mut self) -> bool {
        if !(self.write)(&self.end_stopped()) {
            return false;
        }
        let numbers = self.queue.most_urgent(self.parallel);
        let mut slice: Vec<(u64, StartedSearch)> = numbers
            .into_iter()
            .map(|number| (number, self.started_search(number)))
            .collect();
        let visits = SLICE.max(self.leaves as u32);
        for (_, started) in &mut slice {
            let next = started.search.visits_done().saturating_add(visits).min(started.wanted);
            started.search.set_visits(next);
        }
        let mut searches: Vec<&mut Search> = slice.iter_mut().map(|(_, started)| &mut started.search).collect();
        let run = self
            .lockstep
            .run(&mut searches, self.predictor.as_mut(), &mut self.cache);
        if let Err(error) = run {
            let reason = format!("the position could not be evaluated: {error}");
            let lines = slice.iter().filter_map(|(number, _)| self.queue.fail(*number, &reason));
            return (self.write)(&lines.collect::<Vec<_>>());
        }
        let now = Instant::now();
        let mut lines = Vec::new();
        for (number, started) in slice {
            lines.extend(self.line_due(number, started, now));
        }
        lines.extend(self.end_largest());
        (self.write)(&lines)
    }

    /// The search of a job, started if needed.
    fn started_search(&mut self, number: u64) -> StartedSearch {
        self.started.remove(&number).unwrap_or_else(|| {
            let job = self.queue.job(number).expect("the queue has named the job");
            StartedSearch::new(job, self.leaves)
        })
    }

    /// The answer or report that a job owes after its latest visits, if any; keeps the search unless it is finished.
    fn line_due(&mut self, number: u64, mut started: StartedSearch, now: Instant) -> Option<String> {
        if started.is_finished(now) {
            return self.answer(number, &started.search, true);
        }
        let due = started.is_report_due(now);
        let line = due.then(|| self.answer(number, &started.search, false)).flatten();
        self.started.insert(number, started);
        line
    }

    /// Finishes every job that was terminated.
    fn end_stopped(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(number) = self.queue.most_urgent(1).into_iter().next()
            && self.queue.job(number).is_some_and(|job| job.stopped)
        {
            let line = match self.started.remove(&number) {
                Some(started) => self.answer(number, &started.search, true),
                None => self.queue.end_without_results(number),
            };
            lines.extend(line);
        }
        lines
    }

    /// Finishes the largest search if all trees together exceed their memory limit.
    fn end_largest(&mut self) -> Option<String> {
        let total: usize = self.started.values().map(|started| started.search.bytes()).sum();
        let largest = self.started.iter().max_by_key(|(_, started)| started.search.bytes());
        let number = *largest.filter(|_| total > TREE_BYTES)?.0;
        let started = self.started.remove(&number)?;
        self.answer(number, &started.search, true)
    }

    fn answer(&mut self, number: u64, search: &Search, for_good: bool) -> Option<String> {
        let analysis = analysis(self.queue.job(number)?, search);
        self.queue.answer(number, &analysis, for_good)
    }
}

impl StartedSearch {
    fn new(job: &Job, leaves: usize) -> StartedSearch {
        let now = Instant::now();
        let query = &*job.query;
        let allowed = root_moves(&job.position, &query.restrictions);
        // If no move is allowed, only the position itself can be evaluated.
        let nothing_allowed = allowed.is_some_and(|moves| !moves.pass && moves.points.is_empty());
        let mut search = Search::new(config(query), &job.position, query.komi, rng::stream(SEED, &[]));
        search.set_root_moves(allowed);
        search.set_leaves(leaves);
        let until = |seconds: f64| now.checked_add(Duration::try_from_secs_f64(seconds).ok()?);
        StartedSearch {
            search,
            wanted: if nothing_allowed { 0 } else { query.settings.visits - 1 },
            until: query.settings.seconds.and_then(until),
            report_every: query.report_every.map(Duration::from_secs_f64),
            reported: now,
        }
    }

    fn is_finished(&self, now: Instant) -> bool {
        self.search.visits_done() >= self.wanted || self.until.is_some_and(|until| now >= until)
    }

    /// Whether an intermediate report is due; resets the timer.
    fn is_report_due(&mut self, now: Instant) -> bool {
        let due = self.report_every.is_some_and(|every| now - self.reported >= every);
        if due {
            self.reported = now;
        }
        due
    }
}

/// The search settings for a query.
fn config(query: &Query) -> SearchConfig {
    let usual = SearchConfig::for_play(0);
    SearchConfig {
        method: SearchMethod::Puct,
        ownership: query.ownership || query.moves_ownership,
        c_puct: query.settings.c_puct.unwrap_or(usual.c_puct),
        fpu_reduction: query.settings.fpu_reduction.unwrap_or(usual.fpu_reduction),
        ..usual
    }
}

/// Everything a job's query asks to know about its search.
fn analysis(job: &Job, search: &Search) -> PositionAnalysis {
    let (position, query) = (&job.position, &job.query);
    let color = position.to_move();
    let mut candidates = search.candidates();
    let policy = query.policy.then(|| {
        let mut policy = vec![-1.0; query.size.area() + 1];
        candidates
            .iter()
            .for_each(|candidate| policy[candidate.mv.index(query.size)] = candidate.prior);
        policy
    });
    candidates.retain(|candidate| query.restrictions.allow(color, candidate.mv));
    let mut analysis = analysis_of(search, candidates);
    analysis.policy = policy;
    if query.ownership && analysis.ownership.is_none() {
        analysis.ownership = Some(random_ownership(position, color, SEED));
    }
    if query.moves_ownership {
        let after = |mv: Move| {
            search.ownership_after(mv).unwrap_or_else(|| {
                let mut after = position.clone();
                after.play(mv);
                random_ownership(&after, color, SEED)
            })
        };
        let visited = analysis.moves.iter_mut().filter(|mv| mv.visits > 0);
        visited.for_each(|mv| mv.ownership = Some(after(mv.mv)));
    }
    analysis
}
