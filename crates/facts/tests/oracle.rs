//! Facts computed by other programs, checked by the reader behind `tengen rules verify`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use tengen_facts::{
    CheckOptions, MAX_NAMED, OracleError, TOO_MANY_GAMES, check_oracle_file, check_oracle_file_watched,
};

fn suite(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/suites")
        .join(name)
}

#[test]
fn all_facts_agree() {
    let report = check_oracle_file(&suite("tt-facts.json")).unwrap();
    assert_eq!(report.named_mismatches, [""; 0]);
    assert_eq!(report.mismatches, 0);
    assert_eq!(report.checked, 7026);
    assert_eq!(report.skipped.values().sum::<u64>(), 1, "best play on 3x3: {report:?}");
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
    assert_eq!(report.named_mismatches, [""; 0]);
    assert_eq!(report.checked, 942_636);
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
    let facts = r#"{"format": "tt-facts/1",
        "perft": [{"width": 2, "height": 2, "rule": "psk", "counts": [1, 5, 21, 69]}],
        "other_examples": [{}], "cases": [{"id": "d99"}]}"#;
    let (_folder, path) = file_with(facts);
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.checked, 4);
    assert_eq!(report.mismatches, 2, "the false count and the unparsable case");
    assert_eq!(
        report.named_mismatches,
        [
            "perft[0]: perft 3: expected 69, found 68",
            "cases d99: the entry cannot be parsed"
        ]
    );
    assert_eq!(report.skipped["list other_examples"], 1);
}

#[test]
fn a_false_game_is_reported() {
    let game = r#"{"size": [1, 2], "rules_id": "tromp-taylor",
        "rules": {"ko": "POSITIONAL", "multi_stone_suicide": true},
        "komi": 0, "moves": ["B A1", "W A1"], "legal_counts": [2, 1], "legal_fnv": "0", "boards_fnv": "0"}"#;
    let (_folder, path) = file_with(&game.replace('\n', " "));
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.mismatches, 1);
    assert_eq!(
        report.named_mismatches,
        ["line 1 ply 1: legal move: expected true, found false"]
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

/// The pointers to all values of an entry that state facts about it.
fn facts_in(value: &Value, pointer: &str, found: &mut Vec<String>) {
    // A check may hold at another turn or for another number of stones too, and a check of another type is skipped by
    // name.
    let no_facts = ["type", "after", "kind", "source", "stones"];
    match value {
        Value::Object(entries) => entries
            .iter()
            .filter(|(key, _)| !no_facts.contains(&key.as_str()))
            .for_each(|(key, value)| facts_in(value, &format!("{pointer}/{key}"), found)),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .for_each(|(number, value)| facts_in(value, &format!("{pointer}/{number}"), found)),
        _ => found.push(pointer.to_owned()),
    }
}

#[test]
fn every_altered_fact_of_a_case_or_an_example_is_found() {
    let facts: Value = serde_json::from_slice(&std::fs::read(suite("tt-facts.json")).unwrap()).unwrap();
    let mut altered = 0;
    for (list, roots) in [
        ("cases", &["/checks", "/moves_legal_under"][..]),
        ("numeric_examples", &[""]),
    ] {
        let wrap = |entry: &Value| json!({"format": "tt-facts/1", list: [entry]}).to_string();
        for entry in facts[list].as_array().unwrap() {
            let mut pointers = Vec::new();
            for root in roots {
                facts_in(entry.pointer(root).unwrap(), root, &mut pointers);
            }
            pointers
                .iter()
                .for_each(|pointer| check_alteration(wrap, entry, pointer));
            altered += pointers.len();
        }
    }
    assert!(altered > 1500, "{altered}");
}

/// The mismatches that a change of one random game of the suite leads to.
fn mismatches_after(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut facts: Value = serde_json::from_slice(&std::fs::read(suite("tt-facts.json")).unwrap()).unwrap();
    let mut game = facts["random_games"][0].take();
    change(&mut game);
    let (_folder, path) = file_with(&json!({"format": "tt-facts/1", "random_games": [game]}).to_string());
    check_oracle_file(&path).unwrap().named_mismatches
}

#[test]
fn rows_after_a_row_of_no_turn_are_checked() {
    assert_eq!(mismatches_after(|_| {}), [""; 0]);
    let mismatches = mismatches_after(|game| {
        game["legal_points"][3][0] = json!(9999);
        game["legal_points"][5][2] = json!(11);
    });
    assert_eq!(
        mismatches,
        [
            "random_games r1: no turn 9999 in the game",
            "random_games r1 turn 5: legal points under ssk: expected 11, found 4"
        ]
    );
}

#[test]
fn rows_in_any_order_are_checked() {
    let mismatches = mismatches_after(|game| {
        game["legal_points"].as_array_mut().unwrap().reverse();
        game["legal_points"][0][1] = json!(12);
    });
    assert_eq!(
        mismatches,
        ["random_games r1 turn 25: legal points under psk: expected 12, found 0"]
    );
}

#[test]
fn checks_after_the_end_and_wrong_colors_are_named_and_hide_no_others() {
    let checks = json!([
        {"after": 3, "type": "next", "player": "B"},
        {"after": 1, "type": "board", "board": [".", "X"]},
        {"after": 1, "type": "next"},
        {"after": 2, "type": "next", "player": "W"},
    ]);
    let case = json!({"id": "c1", "width": 1, "height": 2, "moves": ["B A1", "B pass"], "checks": checks});
    let (_folder, path) = file_with(&json!({"format": "tt-facts/1", "cases": [case]}).to_string());
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(
        report.named_mismatches,
        [
            "cases c1 move 1: color of a move: expected Black, found White",
            "cases c1 after 3: the sequence has only 2 moves",
            "cases c1 after 1: check 2 cannot be parsed",
            "cases c1 after 2: side to move: expected White, found Black",
        ]
    );
    assert_eq!(report.mismatches, 4);
}

#[test]
fn only_a_hundred_mismatches_are_named() {
    let entry = json!({"width": 1, "height": 1, "count": "7"});
    let (_folder, path) =
        file_with(&json!({"format": "tt-facts/1", "legal_position_counts": vec![entry; 60]}).to_string());
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.mismatches, 120, "the board and the turned board");
    assert_eq!(report.named_mismatches.len(), MAX_NAMED);
}

#[test]
fn what_takes_too_long_or_is_too_large_is_skipped_by_name() {
    let facts = json!({
        "format": "tt-facts/1",
        "legal_position_counts": [{"width": 1, "height": 20, "count": "7"}],
        "game_counts": [{"width": 2, "height": 2, "rule": "psk", "count": "386356909593"}],
    });
    let (_folder, path) = file_with(&facts.to_string());
    let report = check_oracle_file(&path).unwrap();
    assert_eq!((report.checked, report.mismatches), (0, 0));
    let reasons: Vec<_> = report.skipped.into_iter().collect();
    let expected = [
        TOO_MANY_GAMES,
        "list legal_position_counts: boards with a side longer than 19",
    ];
    assert_eq!(reasons, expected.map(|reason| (reason.to_owned(), 1)));
}

#[test]
fn half_counting_follows_the_area_of_the_board() {
    for (area, count_zi, margin_zi) in [(81, 40.5, 0.0), (169, 85.0, 0.5)] {
        let example = json!({"kind": "half_count", "area": area, "counted": "black", "count_zi": count_zi,
            "komi_zi": 0, "black_margin_zi": margin_zi, "black_margin_points": 2.0 * margin_zi});
        let (_folder, path) = file_with(&json!({"format": "tt-facts/1", "numeric_examples": [example]}).to_string());
        assert_eq!(check_oracle_file(&path).unwrap().named_mismatches, [""; 0]);
    }
}

#[test]
fn an_altered_fact_of_a_game_is_found() {
    let game = json!({"size": [2, 1], "rules_id": "tromp-taylor",
        "rules": {"ko": "POSITIONAL", "multi_stone_suicide": true},
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

/// The number of games of a board beyond the bound is skipped by name, unless all games are to be counted; then the
/// count reports its progress and can be stopped.
#[test]
fn games_of_larger_boards_are_counted_on_request() {
    let file = serde_json::json!({
        "format": "tt-facts/1",
        "game_counts": [{ "width": 2, "height": 2, "rule": "psk", "count": 386_356_909_593u64, "status": "verified" }],
        "perft": [{ "width": 2, "height": 2, "rule": "psk", "counts": [1, 5, 21, 68] }],
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("facts.json");
    std::fs::write(&path, file.to_string()).unwrap();
    let report = check_oracle_file(&path).unwrap();
    assert_eq!(report.skipped.get(TOO_MANY_GAMES), Some(&1), "{report:?}");
    assert_eq!((report.checked, report.stopped), (4, false));

    let mut seen = Vec::new();
    let report = check_oracle_file_watched(&path, CheckOptions { all_games: true }, &mut |progress| {
        seen.push(*progress);
        match progress.counting {
            Some(_) if seen.len() > 3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let report = report.unwrap();
    assert!(
        report.stopped && report.checked == 0 && report.skipped.is_empty(),
        "{report:?}"
    );
    assert_eq!((seen[0].done, seen[0].all, seen[0].counting), (0, 2, None));
    let (size, games, expected) = seen[3].counting.unwrap();
    assert_eq!((size.area(), expected), (4, 386_356_909_593));
    assert!(games > seen[1].counting.unwrap().1, "{seen:?}");
}
