//! The score so far, while a match is played.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tengen_evaluator::{EloEstimate, GameScore, MatchConfig, Pentanomial};

/// How often a line is written where nobody watches a progress bar.
const EVERY: Duration = Duration::from_secs(30);

/// A bar with the running score, or a line now and then where stderr is no terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    tally: Tally,
    last_line: Instant,
}

impl Progress {
    /// Nothing played yet.
    pub(super) fn new(config: &MatchConfig) -> Progress {
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} games  {msg}  {elapsed} (left {eta})");
        let bar = ProgressBar::new(config.games as u64);
        let bar = output::bars().add(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())));
        Progress {
            bar,
            tally: Tally::default(),
            last_line: Instant::now(),
        }
    }

    /// Takes note of a game.
    pub(super) fn show(&mut self, game: &GameScore) {
        self.tally.add(game);
        self.bar.inc(1);
        self.bar.set_message(self.tally.text());
        if !output::interactive() && self.last_line.elapsed() >= EVERY {
            output::say(format!("{} games: {}", self.bar.position(), self.tally.text()));
            self.last_line = Instant::now();
        }
    }

    /// Takes the bar away.
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
    /// A's points in the first finished game of pairs whose other game is still played.
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
        format!(
            "{a} : {b}, Elo {:+.0} ({:+.0} to {:+.0})",
            estimate.elo, estimate.elo_low, estimate.elo_high
        )
    }
}
