//! Searches the positions that queries ask for, several side by side.

use crate::analysis::{analysis_of, random_ownership, root_moves};
use crate::lines::LONGEST_LINE;
use crossbeam_channel::{Receiver, TryRecvError};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};
use tengen_gtp::PositionAnalysis;
use tengen_gtp::json::{Job, Query, QueryQueue};
use tengen_rules::Move;
use tengen_search::{EvaluationCache, Lockstep, Predictor, Search, SearchConfig, SearchMethod, rng};

/// Memory for evaluations that come up again, bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Where the largest tree stops growing, bytes of all trees.
const TREE_BYTES: usize = 1 << 30;

/// Visits of every position between two looks at the input and the clock.
const SLICE: u32 = 4;

/// Lines that are read before the searches go on.
const MOST_LINES: usize = 256;

/// Seed of the random games behind an ownership where no network says more.
const SEED: u64 = 1;

/// Answers the queries in a queue.
pub(super) struct Worker {
    queue: QueryQueue,
    predictor: Box<dyn Predictor>,
    parallel: usize,
    begun: BTreeMap<u64, Begun>,
    cache: EvaluationCache,
    lockstep: Lockstep,
}

/// A position whose search has begun.
struct Begun {
    search: Search,
    /// Visits below the position at which the search ends.
    wanted: u32,
    until: Option<Instant>,
    report_every: Option<Duration>,
    reported: Instant,
}

/// What a look at the input has brought.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
    /// Nobody reads the answers any more.
    Unheard,
}

impl Worker {
    /// A worker that searches so many positions side by side.
    pub(super) fn new(queue: QueryQueue, predictor: Box<dyn Predictor>, parallel: usize) -> Worker {
        Worker {
            queue,
            predictor,
            parallel,
            begun: BTreeMap::new(),
            cache: EvaluationCache::new(CACHE_BYTES),
            lockstep: Lockstep::new(),
        }
    }

    /// Answers every line until the input ends and, unless the end is to come at once, all is answered; or until nobody
    /// listens.
    pub(super) fn work(&mut self, lines: &Receiver<Vec<u8>>, end_at_once: bool) {
        let mut input = Input::Open;
        loop {
            if input == Input::Open {
                input = self.read(lines);
            }
            let done = match input {
                Input::Open => false,
                Input::Ended => end_at_once || self.queue.is_empty(),
                Input::Unheard => true,
            };
            if done || !self.go_on() {
                return;
            }
        }
    }

    /// Takes the lines that have come; waits for one where there is nothing to do.
    fn read(&mut self, lines: &Receiver<Vec<u8>>) -> Input {
        for number in 0..MOST_LINES {
            let line = match number == 0 && self.queue.is_empty() {
                true => lines.recv().map_err(|_| TryRecvError::Disconnected),
                false => lines.try_recv(),
            };
            match line {
                Ok(line) if !self.take(&line) => return Input::Unheard,
                Ok(_) => {}
                Err(TryRecvError::Empty) => return Input::Open,
                Err(TryRecvError::Disconnected) => return Input::Ended,
            }
        }
        Input::Open
    }

    /// Takes one line; false when nobody listens.
    fn take(&mut self, line: &[u8]) -> bool {
        if line.len() >= LONGEST_LINE {
            return write(&[self.queue.reject_long_line(LONGEST_LINE)]);
        }
        let handled = self.queue.handle(line);
        if handled.clear_cache {
            self.cache.clear();
        }
        write(&handled.replies)
    }

    /// Makes some visits of the positions that come first and answers what is finished; false when nobody listens.
    fn go_on(&mut self) -> bool {
        if !write(&self.end_stopped()) {
            return false;
        }
        let numbers = self.queue.most_urgent(self.parallel);
        let mut slice: Vec<(u64, Begun)> = numbers
            .into_iter()
            .map(|number| (number, self.take_up(number)))
            .collect();
        for (_, begun) in &mut slice {
            let next = begun.search.visits_done().saturating_add(SLICE).min(begun.wanted);
            begun.search.set_visits(next);
        }
        let mut searches: Vec<&mut Search> = slice.iter_mut().map(|(_, begun)| &mut begun.search).collect();
        let run = self
            .lockstep
            .run(&mut searches, self.predictor.as_mut(), &mut self.cache);
        if let Err(error) = run {
            let reason = format!("the position could not be evaluated: {error}");
            let lines = slice.iter().filter_map(|(number, _)| self.queue.fail(*number, &reason));
            return write(&lines.collect::<Vec<_>>());
        }
        let now = Instant::now();
        let mut lines = Vec::new();
        for (number, begun) in slice {
            lines.extend(self.look_at(number, begun, now));
        }
        lines.extend(self.end_largest());
        write(&lines)
    }

    /// The search of a job, begun if it was not yet.
    fn take_up(&mut self, number: u64) -> Begun {
        self.begun
            .remove(&number)
            .unwrap_or_else(|| Begun::new(self.queue.job(number).expect("the queue has named the job")))
    }

    /// The line for a job whose search has just gone on, if one is due; keeps the search unless it is finished.
    fn look_at(&mut self, number: u64, mut begun: Begun, now: Instant) -> Option<String> {
        if begun.is_finished(now) {
            return self.answer(number, &begun.search, true);
        }
        let due = begun.is_report_due(now);
        let line = due.then(|| self.answer(number, &begun.search, false)).flatten();
        self.begun.insert(number, begun);
        line
    }

    /// Ends every job that was stopped.
    fn end_stopped(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(number) = self.queue.most_urgent(1).into_iter().next()
            && self.queue.job(number).is_some_and(|job| job.stopped)
        {
            let line = match self.begun.remove(&number) {
                Some(begun) => self.answer(number, &begun.search, true),
                None => self.queue.end_without_results(number),
            };
            lines.extend(line);
        }
        lines
    }

    /// Ends the search with the largest tree where all trees take more memory than they may.
    fn end_largest(&mut self) -> Option<String> {
        let total: usize = self.begun.values().map(|begun| begun.search.bytes()).sum();
        let largest = self.begun.iter().max_by_key(|(_, begun)| begun.search.bytes());
        let number = *largest.filter(|_| total > TREE_BYTES)?.0;
        let begun = self.begun.remove(&number)?;
        self.answer(number, &begun.search, true)
    }

    fn answer(&mut self, number: u64, search: &Search, for_good: bool) -> Option<String> {
        let analysis = analysis(self.queue.job(number)?, search);
        self.queue.answer(number, &analysis, for_good)
    }
}

impl Begun {
    fn new(job: &Job) -> Begun {
        let now = Instant::now();
        let query = &*job.query;
        let allowed = root_moves(&job.position, &query.restrictions);
        // Where no move is allowed there is only the position itself to look at.
        let nothing_allowed = allowed.is_some_and(|moves| !moves.pass && moves.points.is_empty());
        let mut search = Search::new(config(query), &job.position, query.komi, rng::stream(SEED, &[]));
        search.set_root_moves(allowed);
        let until = |seconds: f64| now.checked_add(Duration::try_from_secs_f64(seconds).ok()?);
        Begun {
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

    /// Whether it is time to report what was found so far; it is not again before the next time.
    fn is_report_due(&mut self, now: Instant) -> bool {
        let due = self.report_every.is_some_and(|every| now - self.reported >= every);
        if due {
            self.reported = now;
        }
        due
    }
}

/// The settings of the search that a query asks for.
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

/// All that a job's query wants to know of its search.
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

/// Writes lines at once; false when nobody listens.
fn write(lines: &[String]) -> bool {
    if lines.is_empty() {
        return true;
    }
    let mut stdout = std::io::stdout().lock();
    let text = lines.join("\n") + "\n";
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}
