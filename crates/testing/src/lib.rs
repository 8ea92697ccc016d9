//! Games for tests: random, legal, with every field filled, reproducible by seed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tengen_model::{Model, NetworkConfig, Weights};
use tengen_records::{EXPLORED, EndReason, FULL_SEARCH, GameKind, GameRecord, OPENING, PlyRecord};
use tengen_rng::SplitMix64;
use tengen_rules::{Komi, Move, Position, Setup, Size};

/// Tells a helper process which store to work on.
pub const STORE_VARIABLE: &str = "TENGEN_TEST_STORE";

/// Starts an ignored test of the same file as a process of its own, and returns once it has said `ready`.
pub fn start_helper(name: &str, location: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(STORE_VARIABLE, location)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    if !lines.map_while(Result::ok).any(|line| line.contains("ready")) {
        panic!("{name} exited before it was ready: {}", child.wait().unwrap());
    }
    child
}

/// A small generator of random numbers.
pub struct Random(SplitMix64);

impl Random {
    /// A generator whose numbers depend on the seed only.
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64::new(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1,
        ))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number from 0 to `bound` - 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// A number from -1 to 1 with a short binary fraction.
    pub fn value(&mut self) -> f32 {
        self.below(2049) as f32 / 1024.0 - 1.0
    }
}

/// A legal turn: a pass one time in `pass_every`, else any legal play.
pub fn random_move(position: &Position, random: &mut Random, pass_every: usize) -> Move {
    let legal: Vec<_> = position.legal_points().iter().collect();
    let passes = position.is_legal(Move::Pass);
    if legal.is_empty() || passes && random.below(pass_every) == 0 {
        return Move::Pass;
    }
    Move::Play(legal[random.below(legal.len())])
}

/// A game of random turns, unfinished when it meets the limit.
pub fn random_game(size: Size, seed: u64, ply_limit: usize) -> GameRecord {
    random_game_from(size, Setup::EVEN, seed, ply_limit)
}

/// The same from another start.
pub fn random_game_from(size: Size, setup: Setup, seed: u64, ply_limit: usize) -> GameRecord {
    let mut random = Random::new(seed);
    let opening_plies = random.below(3) as u16;
    let mut game = GameRecord {
        game_id: format!("game-{seed:016x}"),
        size,
        rules: "tromp_taylor".to_owned(),
        komi: Komi::from_half_points(random.below(2 * size.area() + 1) as i16 - size.area() as i16),
        score_half_points: None,
        seed: random.bits() as i64,
        black_model: "g000001-0123456789ab".to_owned(),
        white_model: "uniform, visits=8".to_owned(),
        config_id: "test".to_owned(),
        start_time_ms: 1_790_000_000_000 + random.below(1 << 30) as i64,
        end_reason: EndReason::PlyLimit,
        kind: GameKind::SelfPlay,
        opening_plies,
        setup,
        plies: Vec::new(),
        ownership: Vec::new(),
        origin: None,
    };
    let mut position = game.start().unwrap();
    while !position.is_over() && game.plies.len() < ply_limit {
        let record = random_ply(&position, &mut random, game.plies.len() < usize::from(opening_plies));
        position.play(record.mv);
        game.plies.push(record);
    }
    game.opening_plies = opening_plies.min(game.plies.len() as u16);
    let reason = if position.is_over() {
        EndReason::TwoPasses
    } else {
        EndReason::PlyLimit
    };
    game.set_end(&position, reason);
    game
}

fn random_ply(position: &Position, random: &mut Random, opening: bool) -> PlyRecord {
    let mv = random_move(position, random, 8);
    if opening {
        return PlyRecord {
            flags: OPENING,
            ..PlyRecord::bare(mv)
        };
    }
    let full = random.below(2) == 0;
    PlyRecord {
        mv,
        flags: if full { FULL_SEARCH } else { EXPLORED },
        root_value: random.value(),
        root_margin: random.value() * 8.0,
        root_visits: 8 + random.below(100) as u16,
        network_value: random.value(),
        weight: if full { 1.0 } else { 0.5 },
        policy: if full {
            random_policy(position, random)
        } else {
            Vec::new()
        },
        expected_ownership: Vec::new(),
    }
}

/// A target over up to six legal moves and the pass, in sixteenths.
fn random_policy(position: &Position, random: &mut Random) -> Vec<(u16, f32)> {
    let mut moves: Vec<u16> = position
        .legal_points()
        .iter()
        .map(|point| point.index() as u16)
        .collect();
    while moves.len() > 6 {
        moves.swap_remove(random.below(moves.len()));
    }
    if position.is_legal(Move::Pass) {
        moves.push(position.size().area() as u16);
    }
    let mut rest = 16usize;
    let mut policy = Vec::new();
    for (number, &index) in moves.iter().enumerate() {
        let part = if number + 1 == moves.len() {
            rest
        } else {
            random.below(rest + 1)
        };
        rest -= part;
        policy.push((index, part as f32 / 16.0));
    }
    policy
}

/// Several games on one board size.
pub fn random_games(side: usize, count: u64) -> Vec<GameRecord> {
    let size = Size::square(side).unwrap();
    (0..count)
        .map(|seed| random_game(size, seed, 4 * size.area()))
        .collect()
}

/// The game at the start of a position that a test wants, from moves such as `"B2 pass C3"`.
pub fn position_after(size: Size, moves: &str) -> Position {
    let mut position = Position::new(size);
    for text in moves.split_whitespace() {
        position.play(Move::parse(size, text).unwrap());
    }
    position
}

/// A model with the smallest network, untrained; different for each seed.
pub fn random_model(seed: u64) -> Model {
    let weights = Weights::random(&NetworkConfig::new(1, 8), seed).unwrap();
    let mut model = Model::new(weights);
    model.info.provenance.step = seed;
    model
}
