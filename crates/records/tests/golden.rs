//! Shards of every released format version can be read for ever.

mod common;

use std::path::PathBuf;

use common::{random_game, random_game_from};
use tengen_records::{GameRecord, decode, encode, sha256_hex};
use tengen_rules::{Color, Handicap, PointSet, Setup, Size};

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

/// Version 1.1 brought starts other than the empty board with Black to move.
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
    games
}

/// SHA-256 of the files, so that nobody writes them anew by mistake.
const SHA256_1_0: &str = "46230d685b64046807c6ea6fa6523d73ddf757fab9c1c396bc1f38df46eb01f8";
const SHA256_1_1: &str = "6863545181a58bed6612a8bc8b286ff96c7008e152be11941e6b270e876026cd";

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
fn version_1_0_is_read() {
    check("1.0", SHA256_1_0, &games_1_0());
}

#[test]
fn version_1_1_is_read() {
    check("1.1", SHA256_1_1, &games_1_1());
}

#[test]
#[ignore = "writes the file of a new format version: cargo test -p tengen-records --test golden -- --ignored"]
fn write_golden_file() {
    let path = golden_file(&tengen_records::FORMAT.to_string());
    assert!(!path.exists(), "{} is released and never changes", path.display());
    std::fs::write(path, encode(&games_1_1())).unwrap();
}
