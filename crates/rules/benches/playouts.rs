//! Plays a fixed number of random games, the workloads of `tengen bench rules`. The games are always the same, so that
//! instruction counts can be compared.
//!
//! ```text
//! cargo bench -p tengen-rules --bench playouts                    # time all four
//! cargo build --release -p tengen-rules --benches                 # then, to profile one of them:
//! valgrind --tool=callgrind target/release/deps/playouts-* 19 scan 20
//! ```

use std::time::Instant;

use tengen_rng::SplitMix64;
use tengen_rules::{Position, Size, playout};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|text| !text.starts_with('-')).collect();
    match arguments.as_slice() {
        [side, workload, games] => run(side, workload, games),
        _ => {
            for (side, workload, games) in [
                ("9", "light", "40000"),
                ("9", "scan", "9000"),
                ("19", "light", "9000"),
                ("19", "scan", "700"),
            ] {
                run(side, workload, games);
            }
            memory("9");
            memory("19");
        }
    }
}

/// The random stream of all games.
fn random() -> SplitMix64 {
    SplitMix64::new(0x9e37_79b9_7f4a_7c15)
}

#[expect(clippy::print_stdout, reason = "a benchmark says what it found")]
fn run(side: &str, workload: &str, games: &str) {
    let size: Size = side.parse().expect("SIDE is a size such as 9");
    let games: u32 = games.parse().expect("GAMES is a number");
    let start = Position::new(size);
    let mut position = start.clone();
    let mut random = random();
    let (mut turns, mut margins) = (0, 0);
    let watch = Instant::now();
    for _ in 0..games {
        position.copy_from(&start);
        turns += match workload {
            "light" => playout::light_playout(&mut position, || random.bits()),
            "scan" => playout::uniform_playout(&mut position, || random.bits()),
            other => panic!("WORKLOAD is light or scan, not {other}"),
        };
        margins += position.board_margin();
    }
    let ns = watch.elapsed().as_nanos() as f64 / turns as f64;
    println!("{size} {workload}: {games} games, {turns} turns, {ns:.1} ns per turn; sum of margins {margins}");
}

#[expect(clippy::print_stdout, reason = "a benchmark says what it found")]
fn memory(side: &str) {
    let mut position = Position::new(side.parse().expect("SIDE is a size"));
    let mut random = random();
    let area = position.size().area();
    let turns = playout::light_turns(&mut position, area, || random.bits());
    let bytes = position.memory_bytes();
    println!("{}: {bytes} bytes per position after {turns} turns", position.size());
}
