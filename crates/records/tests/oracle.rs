//! The facts that other programs computed, through the reader that `tengen rules verify` uses.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tengen_records::{OracleError, check_oracle_file};

fn suite(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/suites")
        .join(name)
}

#[test]
fn all_facts_hold() {
    let report = check_oracle_file(&suite("tt-facts.json")).unwrap();
    assert_eq!(report.first_mismatch, None);
    assert_eq!(report.mismatches, 0);
    assert!(report.checked > 3000, "{report:?}");
    for kind in [
        "legal positions",
        "games",
        "best play",
        "board",
        "area",
        "territory",
        "half_count",
        "tie by cycle",
    ] {
        assert!(
            report.checked_by_kind.contains_key(kind),
            "nothing of kind {kind:?} was checked"
        );
    }
}

#[test]
fn all_games_hold() {
    let report = check_oracle_file(&suite("katago-tt-games.jsonl.gz")).unwrap();
    assert_eq!(report.first_mismatch, None);
    assert_eq!(report.checked_by_kind["legal points"], 307_712);
    assert_eq!(report.checked_by_kind["hash of all boards"], 1500);
}

fn file_with(text: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file.json");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn a_false_fact_is_named() {
    let facts = r#"{"format": "tt-facts/1", "perft": [{"width": 2, "height": 2, "rule": "psk", "counts": [1, 5, 21, 69]}],
        "numeric_examples": [{}], "cases": [{"id": "d99"}]}"#;
    let (_folder, path) = file_with(facts);
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.checked, 4);
    assert_eq!(report.mismatches, 2, "the false count and the case that cannot be read");
    assert_eq!(
        report.first_mismatch.unwrap(),
        "perft[0]: perft 3: expected 69, found 68"
    );
    assert_eq!(report.skipped["list numeric_examples"], 1);
}

#[test]
fn a_false_game_is_named() {
    let game = r#"{"size": [1, 2], "rules_id": "tromp-taylor", "rules": {"ko": "POSITIONAL", "multi_stone_suicide": true},
        "komi": 0, "moves": ["B A1", "W A1"], "legal_counts": [2, 1], "legal_fnv": "0", "boards_fnv": "0"}"#;
    let (_folder, path) = file_with(&game.replace('\n', " "));
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.mismatches, 1);
    assert_eq!(
        report.first_mismatch.unwrap(),
        "line 1 ply 1: legal move: expected true, found false"
    );
}

#[test]
fn other_files_are_refused() {
    for text in ["", "text", "{\"a\": 1}", "[]", "{\"a\": 1}\n{\"b\": 2}"] {
        let (_folder, path) = file_with(text);
        let error = check_oracle_file(&path).unwrap_err();
        assert!(matches!(error, OracleError::Format { .. }), "{text:?}: {error}");
    }
    assert!(matches!(
        check_oracle_file(Path::new("/nowhere/file")),
        Err(OracleError::Read { .. })
    ));
}
