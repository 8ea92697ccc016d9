//! Shards of every released format version remain readable.

use std::path::PathBuf;

use tengen_model::sha256_hex;
use tengen_records::{EndReason, GameKind, GameRecord, Origin};
use tengen_rules::{Color, Handicap, PointSet, Setup, Size};
use tengen_shard::{decode, encode};
use tengen_testing::{random_game, random_game_from};

fn golden_file(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/golden-v{version}.parquet"))
}

fn games_1_0() -> Vec<GameRecord> {
    let sizes = [(5, 5), (9, 9), (1, 1), (3, 2), (19, 19)];
    sizes
        .iter()
        .enumerate()
        .map(|(seed, &(width, height))| random_game(Size::new(width, height).unwrap(), seed as u64, 120))
        .collect()
}

/// Version 1.1 added starts other than the empty board with Black to move, and imported games.
fn games_1_1() -> Vec<GameRecord> {
    let size = Size::square(5).unwrap();
    let stone = |column, row| size.point(column, row).into_iter().collect::<PointSet>();
    let starts = [
        (PointSet::new(), PointSet::new(), Color::White, Handicap::Even),
        (stone(1, 1), stone(2, 2), Color::Black, Handicap::Even),
        (
            stone(1, 1) | stone(3, 3),
            PointSet::new(),
            Color::White,
            Handicap::Fixed(2),
        ),
        (PointSet::new(), PointSet::new(), Color::Black, Handicap::Consecutive(3)),
        (PointSet::new(), PointSet::new(), Color::Black, Handicap::WhitePasses(2)),
    ];
    let game = |(seed, (black, white, to_move, handicap))| {
        let setup = Setup {
            stones: [black, white],
            to_move,
            handicap,
        };
        random_game_from(size, setup, seed, 60)
    };
    let mut games: Vec<_> = (10..).zip(starts).map(game).collect();
    games.extend(games_1_0());
    games.extend(imported_games());
    games
}

/// Games with every claim that a file can make, and with none.
fn imported_games() -> [GameRecord; 2] {
    let text = |text: &str| Some(text.to_owned());
    let full = Origin {
        file: "games/old.zip/cup.sgf".to_owned(),
        game: 7,
        result: text("W+R"),
        komi: text("6,5"),
        rules: text("Chinese"),
        handicap: Some(2),
        black_rank: text("9d"),
        white_rank: text("五段"),
        date: text("1998-11-05"),
        event: text("Cup"),
        teacher: None,
    };
    let empty = Origin {
        file: "a.sgf".to_owned(),
        game: 1,
        ..Origin::default()
    };
    [(full, EndReason::Resign), (empty, EndReason::Unfinished)].map(|(origin, end_reason)| {
        let mut game = random_game(Size::square(9).unwrap(), 30, 11);
        assert!(!game.is_finished(), "the game stops before its end");
        game.kind = GameKind::Import;
        game.end_reason = end_reason;
        game.origin = Some(Box::new(origin));
        game
    })
}

/// Version 1.2 added the teacher of labelled games.
fn games_1_2() -> Vec<GameRecord> {
    let mut games = games_1_1();
    let mut labelled = random_game(Size::square(5).unwrap(), 40, 60);
    labelled.kind = GameKind::Import;
    labelled.origin = Some(Box::new(Origin {
        file: "games/v1/kind=selfplay/gen=g000001/shard.parquet".to_owned(),
        game: 3,
        teacher: Some(r#"{"name":"g000012-0123456789ab","search":{"visits":200}}"#.to_owned()),
        ..Origin::default()
    }));
    games.push(labelled);
    games
}

/// Version 1.3 added the owners that a teacher expects.
fn games_1_3() -> Vec<GameRecord> {
    let mut games = games_1_2();
    games.extend([(5, 5), (19, 19), (2, 3)].map(|(width, height)| {
        let size = Size::new(width, height).unwrap();
        let mut game = random_game(size, 50, 30);
        for (ply, record) in game.plies.iter_mut().enumerate().filter(|(ply, _)| ply % 3 != 1) {
            let owner = |point: usize| ((point * 7 + ply * 31) % 201) as i16 - 100;
            record.expected_ownership = (0..size.area()).map(|point| owner(point) as i8).collect();
        }
        game
    }));
    games
}

/// SHA-256 of the files, to prevent accidental changes.
const SHA256_1_0: &str = "46230d685b64046807c6ea6fa6523d73ddf757fab9c1c396bc1f38df46eb01f8";
const SHA256_1_2: &str = "6c11c0b013ac3e397375fa0c378e3f285b87e6a8fd61cd9a84c9f100aec7699a";
const SHA256_1_3: &str = "8975cff55523c8c37d4ff3a659977651bf6aafedb3d1d433ffc41cceb963ae41";
const SHA256_1_1: &str = "68844801568af2ac86a98310be43d7b74f32fc27baaf1f2fe46137d7f89dc555";

fn check(version: &str, sha256: &str, expected: &[GameRecord]) {
    let bytes = std::fs::read(golden_file(version)).unwrap();
    assert_eq!(sha256_hex(&bytes), sha256);
    let games = decode(&bytes).unwrap();
    assert_eq!(games, expected);
    for game in &games {
        game.validate().unwrap();
    }
}

#[test]
fn version_1_0_is_readable() {
    check("1.0", SHA256_1_0, &games_1_0());
}

#[test]
fn version_1_1_is_readable() {
    check("1.1", SHA256_1_1, &games_1_1());
}

#[test]
fn version_1_2_is_readable() {
    check("1.2", SHA256_1_2, &games_1_2());
}

#[test]
fn version_1_3_is_readable() {
    check("1.3", SHA256_1_3, &games_1_3());
    let maps = games_1_3().into_iter().flat_map(|game| game.plies);
    assert_eq!(maps.filter(|ply| !ply.expected_ownership.is_empty()).count(), 47);
}

#[test]
#[ignore = "writes the file of a new format version: cargo test -p tengen-shard --test golden -- --ignored"]
fn write_golden_file() {
    let path = golden_file(&tengen_shard::FORMAT.to_string());
    assert!(!path.exists(), "{} is released and never changes", path.display());
    std::fs::write(path, encode(&games_1_3())).unwrap();
}
