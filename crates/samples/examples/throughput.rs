//! Measures the speed of encoding, canonical images, batches and shards, and the bytes per position.
//!
//! Run: `cargo run --release -p tengen-samples --example throughput -- 9 200` (board side, games).

#![allow(clippy::print_stdout, reason = "printing the results is the purpose of this program")]

use std::hint::black_box;
use std::time::Instant;

use ndarray::{Array4, s};

use tengen_encoding::{BIT_PLANES, Features, InputBatch};
use tengen_records::{EndReason, FULL_SEARCH, GameKind, GameRecord, PlyRecord};
use tengen_rules::{Komi, Move, Position, Setup, Size};
use tengen_samples::{SampleConfig, SampleSource, SymmetryMode};
use tengen_store::{decode, encode};

/// Number of samples in one measured batch.
const BATCH: usize = 256;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (side, count) = (number(9), number(200));
    let games: Vec<_> = (0..count as u64).map(|seed| random_game(side, seed)).collect();
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    println!("{count} random games on {side}x{side}, {positions} positions");

    let start = Instant::now();
    let bytes = encode(&games);
    rate("shard write, positions/s", positions, start);
    println!("  {:.1} bytes per position", bytes.len() as f64 / positions as f64);
    let start = Instant::now();
    let read = decode(&bytes).expect("the bytes were encoded here");
    rate("shard read, positions/s", positions, start);
    let start = Instant::now();
    read.iter().for_each(|game| assert!(game.validate().is_ok()));
    rate("validation by replay, positions/s", positions, start);
    features(&games, positions);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread can be started");
    pool.install(|| {
        samples("cached planes", &games, SampleConfig::default());
        samples(
            "replayed",
            &games,
            SampleConfig {
                planes: false,
                ..SampleConfig::default()
            },
        );
    });
}

fn rate(name: &str, count: usize, start: Instant) {
    println!("{name}: {:.0}", count as f64 / start.elapsed().as_secs_f64());
}

fn features(games: &[GameRecord], positions: usize) {
    let start = Instant::now();
    games.iter().for_each(|game| {
        black_box(game.replay().expect("the games are legal"));
    });
    rate("replay alone, positions/s", positions, start);
    let mut all = Vec::with_capacity(positions);
    let start = Instant::now();
    for game in games {
        game.replay_with(|position, _, _| all.push(Features::of(position, game.komi)))
            .expect("the games are legal");
    }
    rate("replay and features, positions/s", positions, start);
    let start = Instant::now();
    all.iter().for_each(|features| {
        black_box(features.canonical());
    });
    rate("canonical images, positions/s", positions, start);
    let start = Instant::now();
    all.iter().for_each(|features| {
        black_box(features.key());
    });
    rate("keys, positions/s", positions, start);
    let (size, mut batch) = (games[0].size, InputBatch::new(games[0].size));
    let mut nhwc = Array4::zeros((BATCH, size.height(), size.width(), BIT_PLANES + 1));
    let mut nchw = Array4::zeros((BATCH, BIT_PLANES + 1, size.height(), size.width()));
    let start = Instant::now();
    for part in all.chunks(BATCH) {
        batch.clear();
        part.iter().for_each(|features| batch.push(features));
        batch.planes_f32_nhwc_into(nhwc.slice_mut(s![..part.len(), .., .., ..]));
        black_box(&nhwc);
    }
    rate("batches as floats (NHWC), positions/s", positions, start);
    let start = Instant::now();
    for part in all.chunks(BATCH) {
        batch.clear();
        part.iter().for_each(|features| batch.push(features));
        batch.planes_f32_into(nchw.slice_mut(s![..part.len(), .., .., ..]));
        black_box(&nchw);
    }
    rate("batches as floats (NCHW), positions/s", positions, start);
}

fn samples(name: &str, games: &[GameRecord], config: SampleConfig) {
    let mut source = SampleSource::new(config);
    source.add_games("all", games).expect("the games are legal");
    for mode in [SymmetryMode::Canonical, SymmetryMode::Random] {
        let (start, batches) = (Instant::now(), 100);
        for seed in 0..batches {
            black_box(source.draw(BATCH, seed, mode));
        }
        rate(
            &format!("samples, {name}, {mode:?}, one thread, samples/s"),
            BATCH * batches as usize,
            start,
        );
    }
}

/// A random game with policy targets over eight moves.
fn random_game(side: usize, seed: u64) -> GameRecord {
    let size = Size::square(side).expect("the side is from 1 to 19");
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut random = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let mut game = GameRecord {
        game_id: format!("game-{seed}"),
        size,
        rules: "tromp_taylor".to_owned(),
        komi: Komi::from_half_points(14),
        score_half_points: None,
        seed: seed as i64,
        black_model: "g000001-0123456789ab".to_owned(),
        white_model: "g000001-0123456789ab".to_owned(),
        config_id: "throughput".to_owned(),
        start_time_ms: 1_790_000_000_000,
        end_reason: EndReason::PlyLimit,
        kind: GameKind::SelfPlay,
        opening_plies: 0,
        setup: Setup::EVEN,
        plies: Vec::new(),
        ownership: Vec::new(),
        origin: None,
    };
    let mut position = Position::new(size);
    while !position.is_over() && game.plies.len() < 3 * size.area() {
        let mut legal: Vec<_> = position.legal_points().iter().collect();
        let pass = legal.is_empty() || random(size.area()) == 0 || position.ply() > size.area() && random(3) == 0;
        let mv = if pass {
            Move::Pass
        } else {
            Move::Play(legal[random(legal.len())])
        };
        let mut policy = Vec::new();
        while policy.len() < 8 && !legal.is_empty() {
            policy.push((
                legal.swap_remove(random(legal.len())).index() as u16,
                1.0 + random(1000) as f32,
            ));
        }
        let sum: f32 = policy.iter().map(|entry| entry.1).sum();
        policy.iter_mut().for_each(|entry| entry.1 /= sum);
        let mut value = || random(200_000) as f32 / 100_000.0 - 1.0;
        let (root_value, root_margin, network_value) = (value(), value() * 20.0, value());
        game.plies.push(PlyRecord {
            flags: FULL_SEARCH,
            root_value,
            root_margin,
            root_visits: 32,
            network_value,
            weight: 1.0,
            policy,
            ..PlyRecord::bare(mv)
        });
        position.play(mv);
    }
    let reason = if position.is_over() {
        EndReason::TwoPasses
    } else {
        EndReason::PlyLimit
    };
    game.set_end(&position, reason);
    game
}
