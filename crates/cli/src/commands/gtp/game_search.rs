//! The search behind the GTP session: one tree, kept from move to move, with limits on visits, time and memory.

use std::time::{Duration, Instant};

use tengen_gtp::EngineError;
use tengen_rng as rng;
use tengen_rules::{Komi, Position};
use tengen_search::{EvaluationCache, Lockstep, Predictor, RootMoves, Search, SearchConfig, SearchMethod};

/// Memory for the cache of evaluations, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// The tree stops growing at this size, in bytes.
pub(super) const TREE_BYTES: usize = 1 << 30;

/// The tree stops growing at this size during the opponent's turn, in bytes: enough, since no one is waiting for more.
pub(super) const PONDER_BYTES: usize = 256 << 20;

/// Visits between two checks of the clock.
const SLICE: u32 = 4;

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    /// Total visits, including those of the kept tree.
    pub(super) visits: u32,
    /// When to stop even if fewer visits were made.
    pub(super) at: Option<Instant>,
}

/// One search tree that follows the game.
pub(super) struct GameSearch {
    search: Option<Search>,
    cache: EvaluationCache,
    lockstep: Lockstep,
}

impl GameSearch {
    pub(super) fn new() -> GameSearch {
        GameSearch {
            search: None,
            cache: EvaluationCache::new(CACHE_BYTES),
            lockstep: Lockstep::new(),
        }
    }

    /// Discards the tree but keeps cached evaluations.
    pub(super) fn new_game(&mut self) {
        self.search = None;
    }

    /// Discards the tree and all cached evaluations.
    pub(super) fn forget(&mut self) {
        self.search = None;
        self.cache.clear();
    }

    /// The search at a position, if it has a result.
    pub(super) fn at(&self, position: &Position, komi: Komi) -> Option<&Search> {
        self.search
            .as_ref()
            .filter(|search| search.is_at(position, komi) && search.has_result())
    }

    /// Searches a position until `stop`, or until `look`, which sees the search after every few visits, returns true.
    ///
    /// Visits that the tree already has at the position count, but at least an eighth of the visits is new, so that the
    /// choice never rests solely on an earlier search for a different purpose.
    pub(super) fn search(
        &mut self,
        predictor: &mut dyn Predictor,
        (position, komi): (&Position, Komi),
        stop: Stop,
        look: &mut dyn FnMut(&Search) -> bool,
    ) -> Result<&Search, EngineError> {
        let kept = self.follow(position, komi, None);
        let target = stop.visits.max(kept.saturating_add(stop.visits / 8));
        let mut visits = kept;
        loop {
            // The first slice evaluates the root; a search with zero visits plays the network's first choice.
            visits = visits.saturating_add(SLICE).min(target);
            let search = self.run(predictor, visits)?;
            let late = look(search) || stop.at.is_some_and(|at| Instant::now() >= at);
            if visits >= target || late || search.bytes() > TREE_BYTES {
                break;
            }
        }
        Ok(self.search.as_ref().expect("a search was run"))
    }

    /// Searches for another moment, checking the time after every visit; false if the tree has reached its limit.
    pub(super) fn ponder(
        &mut self,
        predictor: &mut dyn Predictor,
        (position, komi): (&Position, Komi),
        allowed: Option<RootMoves>,
        (moment, most_bytes): (Duration, usize),
    ) -> Result<bool, EngineError> {
        let start = Instant::now();
        let mut visits = self.follow(position, komi, allowed);
        loop {
            if self.search.as_ref().is_some_and(|search| search.bytes() > most_bytes) {
                return Ok(false);
            }
            visits = visits.saturating_add(1);
            self.run(predictor, visits)?;
            if visits == u32::MAX {
                return Ok(false);
            }
            if start.elapsed() >= moment {
                return Ok(true);
            }
        }
    }

    /// Moves the search to a position and returns the visits it already has there.
    fn follow(&mut self, position: &Position, komi: Komi, allowed: Option<RootMoves>) -> u32 {
        let search = self.search.get_or_insert_with(|| {
            let config = SearchConfig {
                method: SearchMethod::Puct,
                ownership: true,
                ..SearchConfig::for_play(0)
            };
            Search::new(config, position, komi, rng::stream(0, &[]))
        });
        if !search.is_at(position, komi) {
            search.follow(position, komi, 0, rng::stream(0, &[]));
        }
        search.set_root_moves(allowed);
        search.visits_done()
    }

    /// Adds visits until the search has this many.
    fn run(&mut self, predictor: &mut dyn Predictor, visits: u32) -> Result<&Search, EngineError> {
        let search = self.search.as_mut().expect("a search follows before it runs");
        search.set_visits(visits);
        if let Err(error) = self.lockstep.run(&mut [&mut *search], predictor, &mut self.cache) {
            // The failed request leaves the search incomplete, so the next turn starts a new one.
            self.search = None;
            return Err(EngineError::Failed(error.to_string()));
        }
        Ok(self.search.as_ref().expect("a search was run"))
    }
}
