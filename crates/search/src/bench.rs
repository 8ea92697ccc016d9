//! Benchmark of the search without a network.

use std::time::{Duration, Instant};

use tengen_rng::{self as rng, Rng};
use tengen_rules::{Komi, Move, Position, Size};

use crate::cache::EvaluationCache;
use crate::config::SearchConfig;
use crate::lockstep::Lockstep;
use crate::predictor::PredictError;
use crate::search::Search;
use crate::stand_ins::UniformPredictor;

/// The settings of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct SearchBench {
    /// The size of the board.
    pub size: Size,
    /// The visits per search.
    pub visits: u32,
    /// The number of threads, each playing its own games.
    pub threads: usize,
    /// How long to measure; the search in progress at the end is completed.
    pub duration: Duration,
    /// The seed of the games.
    pub seed: u64,
}

/// The measurements of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBenchReport {
    /// The total visits of all threads.
    pub visits: u64,
    /// The total searches of all threads.
    pub searches: u64,
    /// The positions evaluated by the predictor.
    pub evaluations: u64,
    /// Wall-clock seconds from the start of the first thread to the end of the last.
    pub seconds: f64,
}

impl SearchBenchReport {
    /// The visits per second of all threads together.
    pub fn visits_per_second(&self) -> f64 {
        self.visits as f64 / self.seconds.max(1e-9)
    }
}

/// Searches positions with [`UniformPredictor`] between random moves, from the empty to the full board. This covers
/// everything except a network: rules with superko, encoding, canonical images, cache, and tree.
///
/// # Errors
/// An error of the predictor; the uniform predictor never fails.
pub fn bench_search(bench: SearchBench) -> Result<SearchBenchReport, PredictError> {
    let start = Instant::now();
    let parts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..bench.threads.max(1))
            .map(|thread| scope.spawn(move || play_games(bench, rng::stream(bench.seed, &[thread as u64]), start)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a bench thread does not panic"))
            .collect()
    });
    let mut total = SearchBenchReport {
        visits: 0,
        searches: 0,
        evaluations: 0,
        seconds: 0.0,
    };
    for part in parts {
        let part = part?;
        total.visits += part.visits;
        total.searches += part.searches;
        total.evaluations += part.evaluations;
    }
    total.seconds = start.elapsed().as_secs_f64();
    Ok(total)
}

/// Plays the games of one thread.
fn play_games(bench: SearchBench, mut rng: Rng, start: Instant) -> Result<SearchBenchReport, PredictError> {
    let komi = Komi::from_half_points(15);
    let mut report = SearchBenchReport {
        visits: 0,
        searches: 0,
        evaluations: 0,
        seconds: 0.0,
    };
    let mut position = Position::new(bench.size);
    let config = SearchConfig {
        visits: bench.visits,
        candidates: 16,
        ..SearchConfig::default()
    };
    let mut search = Search::new(config, &position, komi, rng.clone());
    let mut cache = EvaluationCache::new(1 << 24);
    let mut lockstep = Lockstep::new();
    loop {
        search.restart(&position, komi, bench.visits, rng::stream(rng::bits(&mut rng), &[]));
        let stats = lockstep.run(&mut [&mut search], &mut UniformPredictor, &mut cache)?;
        report.visits += u64::from(bench.visits);
        report.searches += 1;
        report.evaluations += stats.evaluations;
        play_some(&mut position, &mut rng);
        if position.is_over() || position.ply() >= 2 * bench.size.area() {
            position = Position::new(bench.size);
            cache.clear();
        }
        if start.elapsed() >= bench.duration {
            return Ok(report);
        }
    }
}

/// Plays up to four random legal moves.
fn play_some(position: &mut Position, rng: &mut Rng) {
    for _ in 0..4 {
        let legal = position.legal_points();
        let mv = match legal.len() {
            0 => Move::Pass,
            n => Move::Play(legal.nth(rng::below(rng, n)).expect("the rank is below the count")),
        };
        position.play(mv);
        if position.is_over() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_contributes_whole_searches() {
        let size = Size::square(5).unwrap();
        let bench = SearchBench {
            size,
            visits: 20,
            threads: 2,
            duration: Duration::from_millis(20),
            seed: 1,
        };
        let report = bench_search(bench).unwrap();
        assert!(report.searches >= 2 && report.visits == 20 * report.searches);
        assert!(report.visits_per_second() > 0.0);
    }
}
