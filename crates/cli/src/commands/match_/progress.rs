//! The running score of a match.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use tengen_evaluator::{ConfidenceSequence, EloEstimate, GameScore, MatchConfig, Pentanomial};

use crate::output;

/// How often to update the text next to the progress bar.
const REDRAW: Duration = Duration::from_millis(100);

/// A progress bar with the running score.
pub(super) struct Progress {
    bar: ProgressBar,
    tally: Tally,
    last: Instant,
}

impl Progress {
    /// Progress at the start of a match.
    pub(super) fn new(config: &MatchConfig) -> Progress {
        let template = "[{bar:16}] {human_pos}/{human_len} games, {eta} left, {wide_msg}";
        let bar = output::bar(config.games as u64, template);
        bar.set_message("no result yet");
        Progress {
            bar,
            tally: Tally::default(),
            last: Instant::now(),
        }
    }

    /// Counts a game and updates the display.
    pub(super) fn show(&mut self, game: &GameScore) {
        self.tally.add(game);
        self.bar.inc(1);
        if self.last.elapsed() >= REDRAW {
            self.last = Instant::now();
            self.bar.set_message(self.tally.text());
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A's results so far.
#[derive(Default)]
struct Tally {
    wins: u64,
    ties: u64,
    losses: u64,
    pairs: Pentanomial,
    /// A's points in the finished game of each pair whose other game is not finished yet.
    half_pairs: BTreeMap<usize, f64>,
}

impl Tally {
    fn add(&mut self, game: &GameScore) {
        let Some(points) = game.summary.a_points else { return };
        match points {
            1.0 => self.wins += 1,
            0.0 => self.losses += 1,
            _ => self.ties += 1,
        }
        match self.half_pairs.remove(&game.summary.pair) {
            Some(first) => self.pairs.add(first, points),
            None => {
                self.half_pairs.insert(game.summary.pair, points);
            }
        }
    }

    fn text(&self) -> String {
        let a = self.wins as f64 + self.ties as f64 / 2.0;
        let b = self.losses as f64 + self.ties as f64 / 2.0;
        let estimate = EloEstimate::of(self.wins, self.ties, self.losses, &self.pairs);
        // People may look at a running match at any time, so only the always-valid bounds apply.
        let bounds = ConfidenceSequence::of(&self.pairs);
        let bounds = match (bounds.elo_low, bounds.elo_high) {
            (None, None) => "no bounds yet".to_owned(),
            (low, high) => output::elo_interval(low, high),
        };
        format!("{a} : {b}, Elo {} ({bounds})", output::elo(estimate.elo))
    }
}
