//! Runs `tengen data export`, `sample` and `solve`.

use std::path::Path;
use std::process::{Command, Stdio};

use tengen_records::GameRecord;
use tengen_store::{Collection, Create, Store};

use crate::common::{answer, command, finished_game, tengen};

/// A finished game on 3x3.
fn game(number: usize) -> GameRecord {
    let third = ["A1", "B1", "C3"][number % 3];
    finished_game(number, 3, 7, &["B2", "pass", third, "pass", "pass"])
}

/// A store with sixty games.
fn store(folder: &Path) -> String {
    let location = folder.join("store").to_str().unwrap().to_owned();
    let store = Store::open(&location, Create::Always).unwrap();
    let games: Vec<GameRecord> = (0..60).map(game).collect();
    store
        .games()
        .publish_games(&Collection::SelfPlay { generation: 1 }, "test", 0, &games)
        .unwrap();
    location
}

#[test]
fn export_writes_a_dataset_once() {
    let folder = tempfile::tempdir().unwrap();
    let location = store(folder.path());
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let done = tengen(&["data", "export", &location, "--out", out, "--json"]).json();
    assert_eq!(
        (&done["rows"], &done["games"], &done["content"]),
        (&300.into(), &60.into(), &"positions".into())
    );
    let readme = std::fs::read_to_string(format!("{out}/v1/README.md")).unwrap();
    for text in [
        "300 positions of 60 games",
        "`superko_banned`",
        "mover's view",
        "How the labels were made",
    ] {
        assert!(readme.contains(text), "{text:?} is not in: {readme}");
    }
    tengen(&["data", "export", &location, "--out", out]).refuses(1, "complete dataset");
    let said = tengen(&[
        "data",
        "export",
        &location,
        "--name",
        "tiny",
        "--distinct",
        "--split",
        "0.5,0.5,0",
    ]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("as symmetric to another"), "{}", said.stdout);
    assert!(Path::new(&location).join("datasets/tiny/v1/MANIFEST.json").is_file());
    // A dataset in the store does not affect the store.
    let report = tengen(&["data", "verify", &location, "--json"]).json();
    assert_eq!((&report["sound"], &report["datasets"]), (&true.into(), &1.into()));
    let part = std::fs::read_dir(Path::new(&location).join("datasets/tiny/v1/train"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    std::fs::write(part.path(), "something else").unwrap();
    let said = tengen(&["data", "verify", &location]);
    said.refuses(1, "bad files: 1");
    assert!(
        said.stdout.contains("WRONG: datasets/tiny/v1/train/part-00000.parquet"),
        "{}",
        said.stdout
    );
}

#[test]
fn sample_is_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    let location = store(folder.path());
    let text = tengen(&["data", "sample", &location, "-n", "2", "--seed", "4"]).stdout;
    assert!(
        text.contains("to move") && text.contains("   A B C") && text.matches("played: ").count() == 2,
        "{text}"
    );
    assert_eq!(
        text,
        tengen(&["data", "sample", &location, "-n", "2", "--seed", "4"]).stdout
    );
    let drawn = tengen(&["data", "sample", &location, "-n", "7", "--json"]).json();
    assert_eq!(drawn["positions"].as_array().unwrap().len(), 7);
    assert_eq!(drawn["positions"][0]["board"].as_array().unwrap().len(), 3);
    let games = tengen(&["data", "sample", &location, "-n", "3", "--what", "games"]).stdout;
    assert_eq!(games.matches("(;").count(), 3, "{games}");
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let args = [
        "data", "sample", &location, "-n", "9", "--out", out, "--format", "npz", "--json",
    ];
    assert_eq!(tengen(&args).json()["rows"], 9);
}

#[test]
fn problems_are_those_that_the_repository_ships() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("races.sgf");
    let args = [
        "data",
        "problems",
        "races",
        "--count",
        "2",
        "--out",
        file.to_str().unwrap(),
    ];
    let report = tengen(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(report["problems"], 2);
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/positions/races.sgf");
    let shipped = std::fs::read_to_string(shipped).unwrap();
    let made = std::fs::read_to_string(&file).unwrap();
    assert!(made.lines().count() == 2 && shipped.starts_with(&made), "{made}");
    tengen(&args).refuses(2, "exists already");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing else is left"
    );
    tengen(&["data", "problems", "joseki", "--out", "x"]).refuses(2, "life, races, or ladders");
}

#[test]
fn solve_knows_the_value_of_tiny_boards() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let done = tengen(&[
        "data", "solve", "--size", "2x2,1x3", "--plies", "2", "--out", out, "--json",
    ])
    .json();
    let boards = done["counts"]["boards"].as_array().unwrap();
    assert_eq!((&boards[0]["margin"], &boards[1]["margin"]), (&1.into(), &3.into()));
    assert_eq!(done["content"], "solved_positions");
    let other = folder.path().join("other");
    let other = other.to_str().unwrap();
    let limited = [
        "data",
        "solve",
        "--size",
        "4x4",
        "--plies",
        "0",
        "--most-nodes",
        "100",
        "--out",
        other,
    ];
    tengen(&limited).refuses(1, "not decided");
    tengen(&["data", "solve", "--size", "5x5", "--out", other]).refuses(2, "too large");
    tengen(&[
        "data",
        "solve",
        "--size",
        "2x2",
        "--rules",
        "japanese2008",
        "--out",
        other,
    ])
    .refuses(1, "positional superko");
    assert!(!Path::new(other).exists());
}

#[test]
fn usage_errors_and_bad_stores_are_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let location = store(folder.path());
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let check = |args: &[&str], code: i32, message: &str| {
        let mut all = vec!["data", "export"];
        all.extend_from_slice(args);
        tengen(&all).refuses(code, message);
        assert!(!Path::new(out).exists());
    };
    check(&[&location], 2, "--out");
    check(
        &[&location, "--out", out, "--format", "sgf"],
        2,
        "SGF holds whole games",
    );
    check(&[&location, "--out", out, "--split", "0.5,0.6,0"], 2, "sum to 1");
    check(&[&location, "--out", out, "--fraction", "0"], 2, "not a share");
    check(&[&location, "--out", out, "--since", "yesterday"], 2, "not a UTC date");
    check(
        &[&location, "--out", out, "--generations", "9..1"],
        2,
        "end of the range is below its start",
    );
    check(&[&location, "--out", out, "--size", "19"], 1, "none of the 60 games");
    check(&[&location, "--name", "../up"], 1, "letters, digits");
    check(&["/no/such/store", "--out", out], 1, "/no/such/store");
    let empty = folder.path().join("empty");
    Store::open(empty.to_str().unwrap(), Create::Always).unwrap();
    std::fs::create_dir_all(empty.join("models")).unwrap();
    check(&[empty.to_str().unwrap(), "--out", out], 1, "no self-play games");
    std::fs::create_dir_all(folder.path().join("newer/games/v2")).unwrap();
    check(
        &[folder.path().join("newer").to_str().unwrap(), "--out", out],
        1,
        "expected format version 1.x",
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "text").unwrap();
    tengen(&["data", "export", &location, "--out", file.to_str().unwrap()]).refuses(1, "file");
}

/// A shell's limit on file sizes looks like a full disk to the program.
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let location = store(folder.path());
    let out = folder.path().join("out");
    for format in ["parquet", "npz"] {
        let export = command(&[
            "data",
            "export",
            &location,
            "--format",
            format,
            "--out",
            out.to_str().unwrap(),
        ]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
        shell
            .arg(export.get_program())
            .args(export.get_args())
            .stdin(Stdio::null());
        let refused = answer(shell.output().unwrap());
        refused.refuses(1, "cannot write");
        assert!(!refused.stderr.contains("finalize"), "{}", refused.stderr);
        assert!(!out.exists(), "{format}: {}", refused.stderr);
    }
}
