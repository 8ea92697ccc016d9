//! Measures the moves of random games per second of CPU time. Usage:
//! `cargo run --release -p tengen-rules --example bench_rules [seconds per line] [line]`, where a line is a workload
//! and a side such as `uniform19`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use tengen_rules::playout::{light_playout, uniform_playout};
use tengen_rules::{Position, Size};

/// A small random generator (xorshift64*), good enough to pick moves.
fn generator(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// The CPU time of this thread in seconds, which a busy machine distorts less; wall time if it is unknown.
fn cpu_seconds(start: Instant) -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = schedule.and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |n| n / 1e9)
}

fn measure(name: &str, side: usize, seconds: f64, mut playout: impl FnMut(&mut Position) -> usize) {
    let only = std::env::args().nth(2);
    if only.is_some_and(|line| line != format!("{name}{side}")) {
        return;
    }
    let empty = Position::new(Size::square(side).expect("a supported side"));
    let mut position = empty.clone();
    let (mut turns, mut games, mut margin) = (0u64, 0u64, 0i64);
    let mut best = 0.0f64;
    for _ in 0..5 {
        let (from, start) = (turns, Instant::now());
        let cpu = cpu_seconds(start);
        while start.elapsed().as_secs_f64() < seconds / 5.0 {
            position.copy_from(&empty);
            turns += playout(&mut position) as u64;
            margin += i64::from(position.board_margin());
            games += 1;
        }
        best = best.max((turns - from) as f64 / (cpu_seconds(start) - cpu));
    }
    println!(
        "{name:8} {side:2}x{side:<2} best of 5: {:6.3} M moves/s  ({games} games, {:.1} moves each, mean margin {:.2})",
        best / 1e6,
        turns as f64 / games as f64,
        margin as f64 / games as f64,
    );
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let mut random = generator(20_240_607);
    for side in [5, 9, 13, 19] {
        measure("light", side, seconds, |p| light_playout(p, &mut random));
        measure("uniform", side, seconds, |p| uniform_playout(p, &mut random));
    }
    for side in [5, 9, 19] {
        measure("undo", side, seconds, |p| {
            let turns = light_playout(p, &mut random);
            while p.undo().is_some() {}
            turns
        });
    }
}
