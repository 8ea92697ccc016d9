//! Measures how fast SGF is read as trees, as games, and into a store, which no `tengen bench` does.
//!
//! Run: `cargo run --release -p tengen-datasets --example sgf_speed -- 19 5000` (board side, games).

#![allow(clippy::print_stdout, reason = "printing the results is the purpose of this program")]

use std::time::Instant;

use tengen_import::{ImportRules, Importer, MissingTurns, SgfSource};
use tengen_rules::{Color, Move, Position, Rules, Size};
use tengen_sgf::{SgfGames, SgfPoint, SgfText, SgfTree, SgfTrees};
use tengen_store::{Create, Store};
use tengen_testing::Random;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (side, count) = (number(19), number(5000));
    let bytes: Vec<u8> = (0..count as u64)
        .flat_map(|seed| game(side, seed).into_bytes())
        .collect();
    let megabytes = bytes.len() as f64 / 1e6;
    println!("{count} random games on {side}x{side}, {megabytes:.1} MB of SGF");
    let text = SgfText::decode(&bytes).text;

    let start = Instant::now();
    let nodes: usize = SgfTrees::new(&text).flatten().map(|tree| tree.node_count()).sum();
    println!(
        "trees: {:.0} MB/s ({nodes} nodes)",
        megabytes / start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let turns: usize = SgfGames::new(&text).flatten().map(|game| game.moves.len()).sum();
    println!(
        "games: {:.0} MB/s ({turns} turns)",
        megabytes / start.elapsed().as_secs_f64()
    );
    drop(text);

    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let location = folder.path().join("store");
    let store = Store::open(&location.display().to_string(), Create::Always).expect("the folder is new");
    let how = ImportRules {
        rules: Rules::default(),
        komi: None,
        missing_turns: MissingTurns::Refuse,
    };
    let source = SgfSource {
        name: "random.sgf".to_owned(),
        bytes,
    };
    let start = Instant::now();
    let mut importer = Importer::new(Some(&store), "speed", how).expect("the store is empty");
    importer.take(&source, |_| true).expect("the store takes games");
    let report = importer.finish().expect("the store takes games");
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(report.kept, count as u64, "every game is legal and different");
    println!(
        "import: {:.0} games/s, {:.1} MB/s",
        count as f64 / seconds,
        megabytes / seconds
    );
}

/// A legal game of random turns as SGF, with a header and comments as programs write them.
fn game(side: usize, seed: u64) -> String {
    let size = Size::square(side).expect("the board is 1x1 to 19x19");
    let mut position = Position::with_rules(size, Rules::default());
    let mut random = Random::new(seed);
    let mut tree = SgfTree::new();
    for (name, value) in [
        ("GM", "1"),
        ("FF", "4"),
        ("CA", "UTF-8"),
        ("KM", "7.5"),
        ("RE", "B+R"),
        ("PB", "one"),
    ] {
        tree.add(name, [value]);
    }
    tree.add("SZ", [side.to_string().as_str()]);
    let mut node = tree.root().id();
    for _ in 0..side * side * 2 / 3 {
        let legal = position.legal_points();
        let Some(point) = legal.nth(random.below(legal.len().max(1))) else {
            break;
        };
        let letters = SgfPoint {
            column: point.column(size) as u8,
            row: point.row(size) as u8,
        };
        node = tree.add_node(node);
        let color = if position.to_move() == Color::Black { "B" } else { "W" };
        tree.add(color, [letters.to_string().as_str()]);
        position.play(Move::Play(point));
    }
    tree.to_string()
}
