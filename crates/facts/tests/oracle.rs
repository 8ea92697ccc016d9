//! Facts computed by other programs, checked by the reader behind `tengen rules verify`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use tengen_facts::{OracleError, check_oracle_file};

fn suite(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/suites")
        .join(name)
}

#[test]
fn all_facts_agree() {
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
            "no facts of kind {kind:?} were checked"
        );
    }
}

#[test]
fn all_games_agree() {
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
fn a_false_fact_is_reported() {
    let facts = r#"{"format": "tt-facts/1", "perft": [{"width": 2, "height": 2, "rule": "psk", "counts": [1, 5, 21, 69]}],
        "other_examples": [{}], "cases": [{"id": "d99"}]}"#;
    let (_folder, path) = file_with(facts);
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.checked, 4);
    assert_eq!(report.mismatches, 2, "the false count and the unparsable case");
    assert_eq!(
        report.first_mismatch.unwrap(),
        "perft[0]: perft 3: expected 69, found 68"
    );
    assert_eq!(report.skipped["list other_examples"], 1);
}

#[test]
fn a_false_game_is_reported() {
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

/// Changes a value to a different one of the same kind.
fn altered(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.parse::<u128>() {
            Ok(number) => json!((number + 1).to_string()),
            Err(_) if text.starts_with('X') => json!(text.replacen('X', "O", 1)),
            Err(_) => json!(format!("X{}", text.get(1..).unwrap_or_default())),
        },
        Value::Bool(flag) => json!(!flag),
        number => json!(number.as_f64().unwrap() as i64 + 1),
    }
}

/// Checks one entry of a list unchanged and with one of its facts altered.
fn check_alteration(wrap: impl Fn(&Value) -> String, entry: &Value, pointer: &str) {
    let mismatches = |entry: &Value| {
        let (_folder, path) = file_with(&wrap(entry));
        check_oracle_file(&path).unwrap().mismatches
    };
    assert_eq!(mismatches(entry), 0, "{entry}");
    let mut other = entry.clone();
    let place = other
        .pointer_mut(pointer)
        .unwrap_or_else(|| panic!("{pointer} in {entry}"));
    *place = altered(place);
    assert!(mismatches(&other) > 0, "altering {pointer} went unnoticed in {entry}");
}

#[test]
fn an_altered_fact_in_any_list_is_found() {
    let facts: Value = serde_json::from_slice(&std::fs::read(suite("tt-facts.json")).unwrap()).unwrap();
    for (list, number, pointers) in [
        ("legal_position_counts", 3, &["/count"][..]),
        ("game_counts", 16, &["/count", "/games_by_number_of_plays/0"]),
        ("perft", 5, &["/counts/2"]),
        ("optimal_scores", 1, &["/black_margin"]),
        (
            "random_games",
            0,
            &[
                "/final_board/0",
                "/white_stones_removed",
                "/margin",
                "/legal_points/0/1",
            ],
        ),
        (
            "numeric_examples",
            0,
            &["/count_zi", "/black_margin_zi", "/black_margin_points"],
        ),
        ("numeric_examples", 4, &["/black", "/neutral", "/black_margin_points"]),
        ("numeric_examples", 6, &["/white_bonus"]),
        ("numeric_examples", 9, &["/white", "/black_margin_points"]),
        ("cases", 0, &["/checks/0/board/0", "/checks/1/margin"]),
    ] {
        let wrap = |entry: &Value| json!({"format": "tt-facts/1", list: [entry]}).to_string();
        for pointer in pointers {
            check_alteration(wrap, &facts[list][number], pointer);
        }
    }
}

#[test]
fn an_altered_fact_of_a_game_is_found() {
    let game = json!({"size": [2, 1], "rules_id": "tromp-taylor", "rules": {"ko": "POSITIONAL", "multi_stone_suicide": true},
        "komi": 0.5, "moves": ["B A1", "W B1", "B pass", "W pass"], "legal_counts": [2, 1, 0, 0],
        "legal_fnv": "", "boards_fnv": "", "final_board": ".O", "end": "two_passes", "score_black_area": 0,
        "score_white_area": 2, "tt_black_minus_white": -2.5, "winner": "W",
        "stats": {"capture_moves": 1, "suicide_moves": 0, "simple_ko_bans": 1, "superko_bans": 1}});
    let (_folder, path) = file_with(&game.to_string());
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.mismatches, 2, "the two hashes: {report:?}");
    for pointer in [
        "/legal_counts/1",
        "/final_board",
        "/end",
        "/score_black_area",
        "/score_white_area",
        "/tt_black_minus_white",
        "/winner",
        "/stats/capture_moves",
        "/stats/suicide_moves",
        "/stats/simple_ko_bans",
        "/stats/superko_bans",
    ] {
        let mut other = game.clone();
        let place = other.pointer_mut(pointer).unwrap();
        *place = altered(place);
        let (_folder, path) = file_with(&other.to_string());
        assert_eq!(check_oracle_file(&path).unwrap().mismatches, 3, "{pointer}");
    }
}

#[test]
fn other_files_are_rejected() {
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
