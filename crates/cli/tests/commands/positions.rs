//! `tengen verify --positions`: models held against positions with known answers.

use crate::common::tengen;

/// The repository's solved positions.
fn shipped(name: &str) -> String {
    format!("{}/../../data/positions/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn an_exhaustive_player_answers_better_than_one_that_guesses() {
    let file = shipped("3x3.parquet");
    let answers = |player: &str| {
        tengen(&["verify", "--model", player, "--positions", &file, "--json"]).json()["with_search"].clone()
    };
    let (searched, guessed) = (answers("mcts,playouts=100"), answers("random"));
    let right = |answers: &serde_json::Value| answers["top_1"]["mean"].as_f64().unwrap();
    assert!(right(&searched) > right(&guessed) + 0.2, "{searched} {guessed}");
    assert_eq!(searched["top_1"]["positions"], 500);
    assert_eq!(guessed["value_brier"]["positions"], 0, "random reports no value");
}

#[test]
fn a_network_is_also_asked_without_its_search() {
    let file = shipped("3x3.parquet");
    let answer = tengen(&["verify", "--model", "uniform,visits=8", "--positions", &file]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let text = &answer.stdout;
    assert!(text.starts_with("uniform on 1000 positions of"), "{text}");
    assert!(text.contains("without search  policy divergence (nats)"), "{text}");
    assert!(
        text.contains("without search  value (Brier score)          0.250"),
        "{text}"
    );
    assert!(text.contains("with search     right move (share)"), "{text}");
}

#[test]
fn games_are_labelled_with_what_they_count_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.sgf");
    std::fs::write(&file, "(;SZ[3];B[bb];W[];B[])(;SZ[3]RE[B+R];B[bb])").unwrap();
    let file = file.to_str().unwrap();
    let ask = |more: &[&str]| {
        let arguments = ["verify", "--model", "uniform,visits=8", "--positions", file];
        tengen(&[&arguments[..], more].concat())
    };
    let answer = ask(&["--results", "--plies", "0..2", "--json"]).json();
    assert_eq!(
        (&answer["positions"], &answer["without_result"]),
        (&2.into(), &1.into())
    );
    let answer = ask(&["--results"]);
    assert!(
        answer.stdout.starts_with("uniform on 3 positions of"),
        "{}",
        answer.stdout
    );
    assert!(
        answer
            .stderr
            .contains("left out: 1 game that two passes do not end, or"),
        "{}",
        answer.stderr
    );
    ask(&["--plies", "0..2"]).refuses(2, "--results");
    ask(&["--results", "--plies", "2..0"]).refuses(2, "50..75");
}

#[test]
fn usage_errors_and_bad_files_are_one_sentence() {
    let verify = |file: &str, more: &[&str]| {
        let arguments = [&["verify", "--model", "uniform", "--positions", file], more].concat();
        tengen(&arguments)
    };
    verify(&shipped("3x3.parquet"), &["--board", "5x5"]).refuses(2, "--board");
    verify(&shipped("README.md"), &[]).refuses(1, "expected a Parquet or SGF file");
    verify("nowhere.sgf", &[]).refuses(1, "cannot be read");
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.parquet");
    std::fs::write(&broken, "not parquet").unwrap();
    verify(broken.to_str().unwrap(), &[]).refuses(1, "cannot be read as Parquet");
}
