//! Networks of KataGo in the commands that take a model.

use std::path::PathBuf;

use crate::common::{command, tengen};

/// A small network that was never trained.
fn network(name: &str) -> String {
    let facts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../katago/tests/facts");
    facts.join(format!("{name}.bin.gz")).to_str().unwrap().to_owned()
}

#[test]
fn matches_name_the_network_and_repeat() {
    let play = |side: &str, leaves: &str| {
        let a = format!("model:{},visits=12,method=puct,leaves={leaves}", network("v15-nested"));
        let words = [
            "match",
            "--a",
            &a,
            "--b",
            "random",
            "--games",
            "2",
            "--json",
            "--concurrency",
            side,
        ];
        let words: Vec<&str> = words.into_iter().chain(["--size", "5"]).collect();
        tengen(&words).json()
    };
    let first = play("1", "1");
    assert_eq!(first["a"], "v15-nested");
    assert_eq!(first["game_list"], play("2", "1")["game_list"]);
    assert_eq!(play("2", "4")["a"], "v15-nested");
}

#[test]
fn gtp_shows_the_raw_network_under_any_rules() {
    let session = "boardsize 7\nplay b d4\nkata-raw-nn 0\nkata-raw-nn 5\nkata-set-rules japanese2008\nkata-raw-nn 0\n\
                   genmove w\nquit\n";
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("session");
    std::fs::write(&script, session).unwrap();
    let mut gtp = command(&["gtp", "--model", &network("v16-nested"), "--visits", "10"]);
    let output = gtp.stdin(std::fs::File::open(&script).unwrap()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("whiteOwnership").count(), 3, "{text}");
    assert!(!text.contains("NaN") && !text.contains("\n?"), "{text}");
}

#[test]
fn games_are_labelled_and_say_by_which_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sgf = "(;SZ[5]KM[7]RU[tromp-taylor]RE[B+2];B[cc];W[cb];B[bb];W[dc];B[];W[])";
    std::fs::write(path("game.sgf"), sgf).unwrap();
    let label = |model: &str, into: &str| {
        let (from, into) = (path("game.sgf"), path(into));
        tengen(&[
            "data",
            "label",
            &from,
            "--model",
            model,
            "--visits",
            "4",
            "--into",
            &into,
            "--threads",
            "1",
            "--json",
        ])
    };
    let labelled = label(&network("v14-nested"), "labelled");
    assert_eq!(labelled.code, 0, "{}", labelled.stderr);
    label(&format!("model:{}", network("missing")), "none").refuses(1, "missing.bin.gz");
}

#[test]
fn what_cannot_be_used_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.bin.gz");
    let bytes = std::fs::read(network("v10-plain")).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let play = |path: &str| tengen(&["match", "--a", path, "--b", "random", "--size", "3", "--games", "2"]);
    play(cut.to_str().unwrap()).refuses(1, "the file is truncated");
    tengen(&["model", "info", &network("v10-plain")]).refuses(1, "is a network of KataGo, which can play");
}
