//! Stores of released versions can still be read, played with, and trained on. Each folder `store-VERSION` in
//! `tests/data` is a run of some steps on 3x3 as that version of the program, or of the store's format, left it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The stores of all released format versions.
fn stores() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let found = fs::read_dir(&folder).expect("tests/data").flatten();
    let is_store = |path: &PathBuf| path.join("run.json").is_file();
    found.map(|entry| entry.path()).filter(is_store).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(&from, &to).expect("a file")),
        }
    }
}

/// What a command prints on stdout if it succeeds.
#[track_caller]
fn tengen(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_tengen")).args(arguments).output();
    let done = done.expect("the program starts");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {said}");
    String::from_utf8(done.stdout).expect("UTF-8")
}

#[test]
fn old_stores_are_read_played_with_and_trained_on() {
    let stores = stores();
    assert!(!stores.is_empty());
    for golden in stores {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("store");
        copy(&golden, &store);
        let name = store.to_str().expect("UTF-8");
        let player = format!("store:{name},visits=4");

        assert!(tengen(&["data", "verify", name]).contains("everything is intact"));
        assert!(tengen(&["model", "list", name]).contains("* g000001"));
        let score = tengen(&["match", &player, "random", "--games", "2", "--json"]);
        assert!(score.contains("\"games\""), "{score}");
        tengen(&["report", "--store", name]);

        let config = fs::read_dir(store.join("configs")).expect("configs").flatten().next();
        let config = config.expect("a configuration").path();
        let more = ["--set", "budget.steps=24", "--set", "loop.shard_seconds=0.1"];
        let run = [
            "run",
            config.to_str().expect("UTF-8"),
            "--store",
            name,
            "--closing-games",
            "0",
            "--json",
        ];
        let summary: serde_json::Value = serde_json::from_str(&tengen(&[&run[..], &more].concat())).expect("JSON");
        assert!(summary["champion"].is_string(), "{summary}");
        assert!(summary["steps"].as_u64() >= Some(24), "{summary}");
        assert!(summary["games"].as_u64() >= Some(236), "the old games count: {summary}");
    }
}
