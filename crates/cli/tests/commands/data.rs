//! `tengen data` from outside.

use crate::common::tengen;
use std::path::{Path, PathBuf};
use tengen_records::{Collection, Create, EndReason, GameKind, GameRecord, PlyRecord, Store};
use tengen_rules::{Komi, Move, Setup, Size};

/// A finished game on 2x2.
fn game(number: usize) -> GameRecord {
    let size = Size::square(2).unwrap();
    let moves = ["A1", "pass", "pass"];
    let ply = |text: &&str| PlyRecord {
        weight: 1.0,
        ..PlyRecord::bare(Move::parse(size, text).unwrap())
    };
    let mut game = GameRecord {
        game_id: format!("game-{number}"),
        size,
        rules: "tromp_taylor".to_owned(),
        komi: Komi::from_half_points(1),
        score_half_points: None,
        seed: number as i64,
        black_model: "test".to_owned(),
        white_model: "test".to_owned(),
        config_id: "test".to_owned(),
        start_time_ms: 0,
        end_reason: EndReason::PlyLimit,
        kind: GameKind::SelfPlay,
        opening_plies: 0,
        setup: Setup::EVEN,
        plies: moves.iter().map(ply).collect(),
        ownership: Vec::new(),
    };
    let last = game.replay().unwrap();
    game.set_end(&last, EndReason::TwoPasses);
    game
}

/// A store with two shards of three games each, and the path of one shard.
fn store(folder: &Path) -> (String, PathBuf) {
    let location = folder.join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let publish = |generation| {
        let games: Vec<GameRecord> = (0..3).map(|number| game(10 * generation as usize + number)).collect();
        store
            .publish_games(&Collection::SelfPlay { generation }, "test", 0, &games)
            .unwrap()
    };
    publish(1);
    let shard = publish(2);
    (location.clone(), Path::new(&location).join(shard.path))
}

#[test]
fn stats_and_head_describe_the_games() {
    let folder = tempfile::tempdir().unwrap();
    let (location, _) = store(folder.path());
    let stats = tengen(&["data", "stats", &location, "--json"]).json();
    assert_eq!((&stats["shards"], &stats["games"]["games"]), (&2.into(), &6.into()));
    assert_eq!(stats["games"]["positions"], 18);
    let table = tengen(&["data", "stats", &location]).stdout;
    assert!(
        table.contains("6 games, 18 positions") && table.contains("2x2 A1 pass"),
        "{table}"
    );
    let head = tengen(&["data", "head", &location, "-n", "4", "--json"]).json();
    let games = head["games"].as_array().unwrap();
    assert_eq!((games.len(), &games[0]["result"]), (4, &"B+3.5".into()));
    let sgf = tengen(&["data", "head", &location, "-n", "1", "--sgf"]).stdout;
    assert!(sgf.starts_with("(;") && sgf.contains("RE[B+3.5]"), "{sgf}");
}

#[test]
fn verify_names_the_damaged_file() {
    let folder = tempfile::tempdir().unwrap();
    let (location, shard) = store(folder.path());
    let report = tengen(&["data", "verify", &location, "--json"]).json();
    assert_eq!((&report["sound"], &report["games"]), (&true.into(), &6.into()));
    let mut bytes = std::fs::read(&shard).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&shard, bytes).unwrap();
    let answer = tengen(&["data", "verify", &location]);
    answer.refuses(1, "1 files of the store");
    let name = shard.file_name().unwrap().to_str().unwrap();
    assert!(
        answer.stdout.contains("WRONG") && answer.stdout.contains(name),
        "{}",
        answer.stdout
    );
    // Reading the store sets the damaged shard aside; the rest is still good.
    let stats = tengen(&["data", "stats", &location, "--json"]).json();
    assert_eq!(
        (&stats["games"]["games"], &stats["quarantined"]),
        (&3.into(), &1.into())
    );
    let answer = tengen(&["data", "verify", &location, "--json"]);
    assert_eq!(
        (answer.code, &answer.object()["damaged"][0]["quarantined"]),
        (0, &true.into())
    );
}

#[test]
fn what_is_no_store_is_said_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for command in ["stats", "verify", "head"] {
        tengen(&["data", command, path]).refuses(1, "expected a store");
        tengen(&["data", command, "/no/such/folder"]).refuses(1, "/no/such/folder");
    }
    tengen(&["data", "head", path, "-n", "0"]).refuses(2, "at least 1");
}
