//! The search of one game: one tree, kept from move to move, with limits on visits, time, and memory.

use std::time::{Duration, Instant};

use tengen_rng as rng;
use tengen_rules::{Komi, Position};

use crate::cache::EvaluationCache;
use crate::config::SearchConfig;
use crate::lockstep::Lockstep;
use crate::method::{RootMoves, SearchMethod};
use crate::predictor::{PredictError, Predictor};
use crate::search::Search;

/// Memory for the cache of evaluations, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// The tree stops growing at this size, in bytes.
pub const TREE_BYTES: usize = 1 << 30;

/// The tree stops growing at this size while pondering, in bytes: enough, since no one is waiting for more.
pub const PONDER_BYTES: usize = 256 << 20;

/// Visits between two clock checks, unless more leaves are evaluated at once.
const SLICE: u32 = 4;

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Total visits, including those of the kept tree.
    pub visits: u32,
    /// When to stop even if fewer visits were made.
    pub at: Option<Instant>,
}

/// One search tree that follows the game.
pub struct GameSearch {
    search: Option<Search>,
    cache: EvaluationCache,
    lockstep: Lockstep,
    leaves: usize,
}

impl GameSearch {
    /// A search without a tree yet. Each network call evaluates up to `leaves` leaves, 1 or more.
    pub fn new(leaves: usize) -> GameSearch {
        GameSearch {
            leaves,
            search: None,
            cache: EvaluationCache::new(CACHE_BYTES),
            lockstep: Lockstep::new(),
        }
    }

    /// Discards the tree but keeps cached evaluations.
    pub fn new_game(&mut self) {
        self.search = None;
    }

    /// Discards the tree and all cached evaluations.
    pub fn forget(&mut self) {
        self.search = None;
        self.cache.clear();
    }

    /// The search at a position, if it has a result.
    pub fn at(&self, position: &Position, komi: Komi) -> Option<&Search> {
        self.search
            .as_ref()
            .filter(|search| search.is_at(position, komi) && search.has_result())
    }

    /// Searches a position until `stop`, or until `look`, which is called with the search every few visits, returns
    /// true.
    ///
    /// Visits that the tree already has at the position count, but at least an eighth of the budget is spent on new
    /// ones, so the choice never rests solely on an earlier search for a different purpose.
    ///
    /// # Errors
    /// The predictor's.
    pub fn search(
        &mut self,
        predictor: &mut dyn Predictor,
        (position, komi): (&Position, Komi),
        stop: Stop,
        look: &mut dyn FnMut(&Search) -> bool,
    ) -> Result<&Search, PredictError> {
        let kept = self.follow(position, komi, None);
        let target = stop.visits.max(kept.saturating_add(stop.visits / 8));
        let mut visits = kept;
        loop {
            // The first slice evaluates the root; a search with zero visits plays the network's first choice.
            visits = visits.saturating_add(self.slice()).min(target);
            let search = self.run(predictor, visits)?;
            let late = look(search) || stop.at.is_some_and(|at| Instant::now() >= at);
            if visits >= target || late || search.bytes() > TREE_BYTES {
                break;
            }
        }
        Ok(self.search.as_ref().expect("a search was run"))
    }

    /// Searches for another `moment`, checking the time after every network call; false once the tree has reached its
    /// limit.
    ///
    /// # Errors
    /// The predictor's.
    pub fn ponder(
        &mut self,
        predictor: &mut dyn Predictor,
        (position, komi): (&Position, Komi),
        allowed: Option<RootMoves>,
        (moment, most_bytes): (Duration, usize),
    ) -> Result<bool, PredictError> {
        let start = Instant::now();
        let mut visits = self.follow(position, komi, allowed);
        loop {
            if self.search.as_ref().is_some_and(|search| search.bytes() > most_bytes) {
                return Ok(false);
            }
            visits = visits.saturating_add(self.leaves as u32);
            self.run(predictor, visits)?;
            if visits == u32::MAX {
                return Ok(false);
            }
            if start.elapsed() >= moment {
                return Ok(true);
            }
        }
    }

    /// Visits between two clock checks.
    fn slice(&self) -> u32 {
        SLICE.max(self.leaves as u32)
    }

    /// Moves the search to a position and returns the visits it already has there.
    fn follow(&mut self, position: &Position, komi: Komi, allowed: Option<RootMoves>) -> u32 {
        let search = self.search.get_or_insert_with(|| {
            let config = SearchConfig {
                method: SearchMethod::Puct,
                ownership: true,
                ..SearchConfig::for_play(0)
            };
            let mut search = Search::new(config, position, komi, rng::stream(0, &[]));
            search.set_leaves(self.leaves);
            search
        });
        if !search.is_at(position, komi) {
            search.follow(position, komi, 0, rng::stream(0, &[]));
        }
        search.set_root_moves(allowed);
        search.visits_done()
    }

    /// Adds visits until the search has this many.
    fn run(&mut self, predictor: &mut dyn Predictor, visits: u32) -> Result<&Search, PredictError> {
        let search = self.search.as_mut().expect("a search follows before it runs");
        search.set_visits(visits);
        if let Err(error) = self.lockstep.run(&mut [&mut *search], predictor, &mut self.cache) {
            // The failed request leaves the search incomplete, so discard it; the next turn starts a new one.
            self.search = None;
            return Err(error);
        }
        Ok(self.search.as_ref().expect("a search was run"))
    }
}
