//! Shards of every released format version can be read for ever.

mod common;

use std::path::PathBuf;

use common::random_game;
use tengen_records::{GameRecord, decode, encode, sha256_hex};
use tengen_rules::Size;

fn golden_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden-v1.0.parquet")
}

fn golden_games() -> Vec<GameRecord> {
    let sizes = [(5, 5), (9, 9), (1, 1), (3, 2), (19, 19)];
    sizes
        .iter()
        .enumerate()
        .map(|(seed, &(width, height))| random_game(Size::new(width, height).unwrap(), seed as u64, 120))
        .collect()
}

/// SHA-256 of the file, so that nobody writes it anew by mistake.
const GOLDEN_SHA256: &str = "46230d685b64046807c6ea6fa6523d73ddf757fab9c1c396bc1f38df46eb01f8";

#[test]
fn version_1_0_is_read() {
    let bytes = std::fs::read(golden_file()).unwrap();
    assert_eq!(sha256_hex(&bytes), GOLDEN_SHA256);
    let games = decode(&bytes).unwrap();
    assert_eq!(games, golden_games());
    for game in &games {
        game.validate().unwrap();
    }
}

#[test]
#[ignore = "writes the file of a new format version: cargo test -p tengen-records --test golden -- --ignored"]
fn write_golden_file() {
    let path = golden_file();
    assert!(!path.exists(), "{} is released and never changes", path.display());
    std::fs::write(path, encode(&golden_games())).unwrap();
}
