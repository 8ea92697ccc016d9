//! `tengen match` and `tengen verify` from outside.

use crate::common::{Answer, tengen};
use std::path::Path;

const QUICK: [&str; 10] = [
    "match",
    "--a",
    "uniform,visits=32",
    "--b",
    "random",
    "--size",
    "4",
    "--komi",
    "2",
    "--concurrency=4",
];

fn quick(more: &[&str]) -> Answer {
    tengen(&[&QUICK[..], more].concat())
}

#[test]
fn a_match_tells_points_elo_and_games() {
    let result = quick(&["--games", "6", "--json"]).json();
    assert_eq!(result["games"], 6);
    let number = |key: &str| result[key].as_f64().unwrap_or_else(|| panic!("{key} is no number"));
    assert_eq!(number("a_points") + number("b_points"), 6.0);
    assert!(number("elo_low") < number("elo") && number("elo") < number("elo_high"));
    assert_eq!(
        (result["faults"].as_u64(), result["size"].as_str()),
        (Some(0), Some("4x4"))
    );
    assert_eq!(result["game_list"].as_array().unwrap().len(), 6);
}

#[test]
fn the_same_seed_gives_the_same_match() {
    let games = |seed: &str| quick(&["--games", "4", "--seed", seed, "--json"]).json()["game_list"].clone();
    assert_eq!(games("5"), games("5"));
    assert_ne!(games("5"), games("6"));
}

#[test]
fn the_folder_holds_the_whole_match() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matches/first");
    let text = out.to_str().unwrap();
    let answer = quick(&["--games", "4", "--out", text]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("A as Black"), "{}", answer.stdout);
    let result: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["games"], 4);
    let sgf = std::fs::read_to_string(out.join("games.sgf")).unwrap();
    assert_eq!(sgf.matches("SZ[4]").count(), 4);
    let stats = tengen(&["data", "stats", text, "--of", "all", "--json"]).json();
    assert_eq!(stats["games"]["games"], 4);
    let scored = tengen(&["rules", "score", out.join("games.sgf").to_str().unwrap(), "--json"]).json();
    for game in scored["games"].as_array().unwrap() {
        assert_eq!((&game["legal"], &game["over"]), (&true.into(), &true.into()));
        assert_eq!(game["result"], game["claimed"]);
    }
    quick(&["--games", "4", "--out", text]).refuses(2, "exists already");
    let leftovers = names(out.parent().unwrap());
    assert_eq!(leftovers, ["first"], "nothing else lies beside the match");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_sequential_test_stops_early() {
    let result = quick(&["--sprt", "0,100", "--games", "40", "--a-color", "alternate", "--json"]).json();
    assert!(result["sprt"]["llr"].is_number() && result["games"].as_u64().unwrap() <= 40);
}

#[test]
fn wrong_use_is_said_in_one_sentence() {
    for (more, message) in [
        (vec!["--a", "unifrom"], "did you mean 'uniform'?"),
        (vec!["--komi", "7.3"], "7.3"),
        (vec!["--komi", "99"], "larger than the board"),
        (vec!["--size", "20"], "each side from 1 to 19"),
        (vec!["--sprt", "50"], "two numbers"),
        (vec!["--sprt", "50,0"], "elo0 must be below elo1"),
        (vec!["--sprt", "0,50", "--a-color", "black"], "pairs"),
        (vec!["--openings", "some"], "names no openings"),
        (vec!["--games", "0"], "at least 1"),
    ] {
        let args = ["match", "--a", "uniform", "--b", "random"];
        let args: Vec<&str> = match more[0] {
            "--a" => [&["match", "--b", "random"], &more[..]].concat(),
            _ => [&args[..], &more].concat(),
        };
        tengen(&args).refuses(2, message);
    }
}

#[test]
fn players_that_cannot_play_are_named() {
    for (player, message) in [
        ("model:/no/such/model", "/no/such/model"),
        ("store:/no/such/store", "/no/such/store"),
        ("gtp:no-such-engine --mode gtp", "no such program"),
    ] {
        tengen(&["match", "--a", player, "--b", "random", "--games", "2", "--size", "3"]).refuses(1, message);
    }
}

#[test]
fn our_own_engine_plays_over_gtp() {
    let engine = format!("gtp:{} gtp --model uniform --visits 8", env!("CARGO_BIN_EXE_tengen"));
    let answer = tengen(&[
        "match", "--a", &engine, "--b", "random", "--games", "2", "--size", "4", "--json",
    ])
    .json();
    assert_eq!(
        (answer["faults"].as_u64(), answer["games"].as_u64()),
        (Some(0), Some(2))
    );
    assert!(answer["a"].as_str().unwrap().starts_with("Tengen"), "{answer}");
}

#[test]
fn a_player_without_a_network_contradicts_theory() {
    let answer = tengen(&[
        "verify",
        "--model",
        "uniform,visits=16",
        "--board",
        "5x5",
        "--games",
        "2",
        "--json",
    ]);
    answer.refuses(1, "contradicts the theory of 5x5");
    let report = answer.object();
    assert_eq!((&report["board"], &report["passed"]), (&"5x5".into(), &false.into()));
    let questions: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|check| check["question"].as_str())
        .collect();
    assert_eq!(questions.len(), 6, "{questions:?}");
    tengen(&["verify", "--model", "uniform", "--board", "6x6"]).refuses(2, "5x5");
}
