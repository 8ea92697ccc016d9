//! Measures the parts of encoding one by one: features, mirror images, keys, and batches. `tengen bench search` and
//! `tengen bench data` measure them only together with the search and the samples.
//!
//! Run: `cargo run --release -p tengen-encoding --example encoding_speed -- 9 200` (board side, games).

#![allow(clippy::print_stdout, reason = "printing the results is the purpose of this program")]

use std::hint::black_box;
use std::time::Instant;

use ndarray::{Array4, s};

use tengen_encoding::{BIT_PLANES, Features, InputBatch};
use tengen_testing::random_games;

/// Number of positions in one measured batch.
const BATCH: usize = 256;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (side, count) = (number(9), number(200));
    let games = random_games(side, count as u64);
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    println!("{count} random games on {side}x{side}, {positions} positions");
    let rate = |name: &str, start: Instant| {
        println!(
            "{name}, positions/s: {:.0}",
            positions as f64 / start.elapsed().as_secs_f64()
        );
    };

    let start = Instant::now();
    for game in &games {
        black_box(game.replay().expect("the games are legal"));
    }
    rate("replay alone", start);
    let mut all = Vec::with_capacity(positions);
    let start = Instant::now();
    for game in &games {
        game.replay_with(|position, _, _| all.push(Features::of(position, game.komi)))
            .expect("the games are legal");
    }
    rate("replay and features", start);
    let start = Instant::now();
    for features in &all {
        black_box(features.canonical());
    }
    rate("canonical images", start);
    let start = Instant::now();
    for features in &all {
        black_box(features.key());
    }
    rate("keys", start);

    let (size, mut batch) = (games[0].size, InputBatch::new(games[0].size));
    let mut nhwc = Array4::zeros((BATCH, size.height(), size.width(), BIT_PLANES + 1));
    let mut nchw = Array4::zeros((BATCH, BIT_PLANES + 1, size.height(), size.width()));
    let mut measure = |name: &str, unpack: &mut dyn FnMut(&InputBatch, usize)| {
        let start = Instant::now();
        for part in all.chunks(BATCH) {
            batch.clear();
            part.iter().for_each(|features| batch.push(features));
            unpack(&batch, part.len());
        }
        rate(name, start);
    };
    measure("batches as floats (NHWC)", &mut |batch, rows| {
        batch.planes_f32_nhwc_into(nhwc.slice_mut(s![..rows, .., .., ..]));
        black_box(&nhwc);
    });
    measure("batches as floats (NCHW)", &mut |batch, rows| {
        batch.planes_f32_into(nchw.slice_mut(s![..rows, .., .., ..]));
        black_box(&nchw);
    });
}
