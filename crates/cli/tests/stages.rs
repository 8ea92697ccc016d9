//! The stages of a run as separate processes: self-play, training, the gate.
#![cfg(feature = "torch")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Settings for a tiny network on 3x3.
const SETTINGS: [&str; 8] = [
    "network.blocks=1",
    "network.channels=8",
    "selfplay.boards=[{size=\"3x3\"}]",
    "selfplay.games_per_group=8",
    "training.batch=32",
    "loop.start_positions=100",
    "gate.games=16",
    "gate.visits=4",
];

fn tengen(command: &str, store: &Path, more: &[&str]) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_tengen"));
    process.arg(command).arg("--store").arg(store).arg("--json").args(more);
    process.output().expect("the program starts")
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Creates a store with games that depend only on the seed.
fn begin(store: &Path, games: &str, threads: &str) -> Value {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let mut more = vec!["--config", config.to_str().expect("UTF-8")];
    more.extend(SETTINGS.iter().flat_map(|set| ["--set", set]));
    more.extend([
        "--games",
        games,
        "--threads",
        threads,
        "--session",
        "7",
        "--fixed-time",
        "0",
    ]);
    json(&tengen("selfplay", store, &more))
}

/// The end of each shard's name: games, positions and the hash of its bytes.
fn contents(done: &Value) -> Vec<String> {
    let shards = done["shards"].as_array().expect("a list");
    let end = |shard: &Value| {
        let path = shard.as_str().expect("a path");
        let parts: Vec<&str> = path.rsplit('-').take(3).collect();
        parts.join(" ")
    };
    shards.iter().map(end).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let one = begin(&folder.path().join("one"), "40", "1");
    let two = begin(&folder.path().join("two"), "40", "2");
    assert_eq!(one["games"], 40);
    assert_eq!(contents(&one), contents(&two));
    assert!(!contents(&one).is_empty());
}

#[test]
fn games_become_a_model_that_the_gate_decides_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    assert_eq!(
        tengen("train", &store, &[]).status.code(),
        Some(1),
        "there is no store yet"
    );
    begin(&store, "60", "2");
    let first = json(&tengen("train", &store, &["--steps", "20"]));
    assert_eq!((&first["steps"], &first["steps_made"]), (&20.into(), &20.into()));
    let second = json(&tengen("train", &store, &["--steps", "5"]));
    assert_eq!(
        (&second["steps"], &second["steps_made"]),
        (&25.into(), &5.into()),
        "training resumes"
    );
    let model = second["model"].as_str().expect("a model");
    let gate = json(&tengen("gate", &store, &[]));
    let verdict = &gate["verdicts"][0];
    assert_eq!(verdict["candidate"], model);
    assert!(verdict["games"].as_u64() > Some(0));
    let champion = if verdict["promoted"] == true {
        &verdict["candidate"]
    } else {
        &verdict["champion"]
    };
    assert_eq!(&gate["champion"], champion);
    let again = json(&tengen("gate", &store, &[]));
    assert_eq!(
        again["verdicts"],
        Value::Array(Vec::new()),
        "a recorded verdict is not played again"
    );
    assert_eq!(again["champion"], gate["champion"]);
}

#[test]
fn training_stops_if_more_than_one_percent_of_the_shards_is_damaged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let shards = begin(&store, "24", "2")["shards"].clone();
    let shards: Vec<&str> = shards
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(shards.len() >= 3, "{shards:?}");
    for shard in &shards[..2] {
        std::fs::write(store.join(shard), "damaged").expect("writable");
    }
    // At the next start, when both are already in quarantine, it still stops.
    for _ in 0..2 {
        let output = tengen("train", &store, &["--steps", "2"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("2 of the window's") && said.contains("shards are damaged"),
            "{said}"
        );
    }
}
