//! Compares the rules core with the crate `board-game` 0.8.2 in one process: do they agree, and which is faster?
//!
//! Both play under Tromp-Taylor rules with positional superko and suicide, which both implement. First, random games
//! are played on both and compared after every turn: legal moves, stones and score. Then both play the workloads of
//! `tengen bench rules` in alternating slices of half a second of CPU time, so that a busy machine slows both equally.
//!
//! ```text
//! cargo run --release --manifest-path crates/rules/peer/Cargo.toml --target-dir target/peer -- [SECONDS [GAMES]]
//! ```

mod agree;
mod ours;
mod theirs;

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tengen_rng::SplitMix64;

use random::Random;

/// How long one side plays before the other takes over.
const SLICE: Duration = Duration::from_millis(500);

/// How the moves of a game are chosen.
#[derive(Clone, Copy, PartialEq)]
enum Workload {
    /// The first legal point from a random one on that does not fill the player's own one-point eye.
    Light,
    /// A random legal move from a list made every turn.
    Scan,
}

/// One of the two programs to compare.
trait Side {
    /// Plays one game from the empty board and counts it; returns the turns taken and Black's margin in points.
    fn game(&mut self, workload: Workload, random: &mut SplitMix64) -> (usize, i32);
}

/// What one side has done so far.
#[derive(Default)]
struct Work {
    turns: usize,
    games: usize,
    margins: i64,
    time: Duration,
}

impl Work {
    fn run_slice(&mut self, side: &mut dyn Side, workload: Workload, random: &mut SplitMix64) {
        let start = processor_time();
        while processor_time() - start < SLICE {
            let (turns, margin) = side.game(workload, random);
            self.turns += turns;
            self.games += 1;
            self.margins += i64::from(margin);
        }
        self.time += processor_time() - start;
    }

    fn turns_per_second(&self) -> f64 {
        self.turns as f64 / self.time.as_secs_f64()
    }

    fn mean_turns(&self) -> f64 {
        self.turns as f64 / self.games as f64
    }
}

/// The CPU time of this thread, which excludes the rest of the machine's work.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| match text.parse::<f64>() {
        Ok(number) if number > 0.0 => number,
        _ => {
            eprintln!("expected SECONDS and GAMES, two positive numbers, but found '{text}'");
            std::process::exit(2);
        }
    });
    let seconds = arguments.next().unwrap_or(10.0);
    let games = arguments.next().unwrap_or(200.0) as usize;
    for side in [1, 2, 3, 5, 7, 9, 13, 19] {
        let turns = agree::compare(side, games);
        println!("{side}x{side}: {games} games, {turns} turns: the same legal moves, stones and scores");
    }
    println!("\n| board | workload | tengen, M moves/s | board-game 0.8.2 | ratio |");
    println!("|---|---|---|---|---|");
    for side in [9, 19] {
        for (workload, name) in [(Workload::Light, "light"), (Workload::Scan, "scan")] {
            let [ours, theirs] = race(side, workload, seconds);
            let (a, b) = (ours.turns_per_second() / 1e6, theirs.turns_per_second() / 1e6);
            println!("| {side}x{side} | {name} | {a:.2} | {b:.2} | {:.2} |", a / b);
            eprintln!(
                "  turns per game {:.1} and {:.1}, mean margin {:.2} and {:.2}",
                ours.mean_turns(),
                theirs.mean_turns(),
                ours.margins as f64 / ours.games as f64,
                theirs.margins as f64 / theirs.games as f64
            );
        }
    }
}

/// Lets both sides play for this many seconds each, in alternating slices.
fn race(side: u8, workload: Workload, seconds: f64) -> [Work; 2] {
    let mut sides: [Box<dyn Side>; 2] = [Box::new(ours::Ours::new(side)), Box::new(theirs::Theirs::new(side))];
    let mut work = [Work::default(), Work::default()];
    let mut randoms = [(); 2].map(|()| SplitMix64::new(0x9e37_79b9_7f4a_7c15));
    while work.iter().any(|work| work.time.as_secs_f64() < seconds) {
        for i in 0..2 {
            work[i].run_slice(&mut *sides[i], workload, &mut randoms[i]);
        }
    }
    work
}
