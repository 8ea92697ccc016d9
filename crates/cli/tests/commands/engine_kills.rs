//! Matches and tournaments against GTP engines, stopped at any moment: no process is left running, no published game is
//! lost, and the same command completes the same games as an uninterrupted match.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::common::{Answer, answer, command, runs, wait_until};

/// Plays at random from a given seed, with two child processes that only a kill ends, one of them outside its process
/// group. All three write their process ids into a file.
struct Engine(TempDir);

impl Engine {
    fn new() -> Engine {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "(trap '' TERM HUP INT; sleep 600) & echo $$ $! >> \"$0.pids\"\n\
             setsid sh -c 'echo $$ >> \"$0\"; sleep 600' \"$0.pids\" &\n\
             exec '{}' gtp --model random",
            env!("CARGO_BIN_EXE_tengen")
        );
        std::fs::write(folder.path().join("engine"), script).unwrap();
        Engine(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn player(&self) -> String {
        format!("gtp:\"sh '{}'\",engines=2,name=fake", self.path("engine").display())
    }

    /// The ids of all processes that engines have started so far.
    fn numbers(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("engine.pids")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn all_are_gone(&self) {
        let numbers = self.numbers();
        wait_until("engines and their children are gone", || !numbers.iter().any(runs));
    }
}

/// The shards under a folder.
fn shards(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.append(&mut shards(&path)),
            false if path.extension().is_some_and(|ending| ending == "parquet") => drop(found.insert(path)),
            false => {}
        }
    }
    found
}

fn start(args: &[&str]) -> Child {
    command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Starts the command, sends it this signal once there are enough engine processes and shards, and waits for it to end.
/// No process is left running and no shard is lost.
fn stopped(args: &[&str], engine: &Engine, out: &Path, signal: Signal, (processes, wanted): (usize, usize)) -> Answer {
    let (before, kept) = (engine.numbers().len(), shards(out));
    let mut child = start(args);
    while engine.numbers().len() < before + processes || shards(out).len() < wanted {
        assert!(child.try_wait().unwrap().is_none(), "tengen is at work");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    let answer = answer(child.wait_with_output().unwrap());
    engine.all_are_gone();
    assert!(shards(out).is_superset(&kept), "what is published stays");
    answer
}

#[test]
fn a_match_resumes_after_every_kind_of_end() {
    let engine = Engine::new();
    let player = engine.player();
    let args = |out: &'static str| {
        let out = engine.path(out).to_str().unwrap().to_owned();
        let words = [
            "match", "--a", &player, "--b", "random", "--size", "3", "--komi", "0", "--games", "600",
        ];
        let more = ["--openings", "random:3", "--seed", "4", "--json", "--out", &out];
        words
            .iter()
            .chain(&more)
            .map(|word| word.to_string())
            .collect::<Vec<_>>()
    };
    let (words, out) = (args("stopped"), engine.path("stopped"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Before the engine has started, with two engines running, after one shard, after more.
    for moment in [(1, 0), (6, 0), (6, 1), (6, 3)] {
        let killed = stopped(&words, &engine, &out, Signal::KILL, moment);
        assert_eq!((killed.code, killed.stdout.as_str()), (-1, ""));
    }
    let ended = stopped(&words, &engine, &out, Signal::TERM, (6, 3));
    assert_eq!(ended.code, 143, "{}", ended.stderr);
    assert_eq!(ended.object()["stopped"], true, "what is known is printed all the same");
    assert!(
        ended
            .stderr
            .contains("run the same command again to continue after the "),
        "{}",
        ended.stderr
    );
    assert!(!out.join("result.json").exists());
    let result = answer(start(&words).wait_with_output().unwrap()).json();
    engine.all_are_gone();

    let whole = args("whole");
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    let whole = answer(start(&whole).wait_with_output().unwrap()).json();
    for key in [
        "games",
        "game_list",
        "pentanomial",
        "a_points",
        "elo",
        "mean_plies",
        "a",
        "b",
        "faults",
    ] {
        assert_eq!(result[key], whole[key], "{key}");
    }
    assert_eq!((&result["games"], &result["faults"]), (&600.into(), &0.into()));
    // Two engines in one process; over all processes: two each, and one where the engine was killed at its start.
    assert_eq!(whole["a_engine"]["processes"], 2);
    assert!(
        result["a_engine"]["processes"].as_u64().unwrap() >= 6,
        "{}",
        result["a_engine"]
    );
    let stored = std::fs::read(out.join("result.json")).unwrap();
    let stored: serde_json::Value =
        serde_json::from_slice(&tengen_store::unseal("result.json", &stored).unwrap()).unwrap();
    assert_eq!(stored, result);
    let again = answer(start(&words).wait_with_output().unwrap()).json();
    assert_eq!(again, result, "all games are known: nothing is played");
    let sgf = |name: &str| std::fs::read_to_string(engine.path(name).join("games.sgf")).unwrap();
    let games = |name: &str| sgf(name).matches("(;").count();
    assert_eq!((games("stopped"), games("whole")), (600, 600));
    let sgf_path = out.join("games.sgf");
    let scored = answer(
        start(&["rules", "score", sgf_path.to_str().unwrap(), "--json"])
            .wait_with_output()
            .unwrap(),
    );
    for game in scored.json()["games"].as_array().unwrap() {
        assert_eq!((&game["legal"], &game["result"]), (&true.into(), &game["claimed"]));
    }
}

#[test]
fn a_tournament_resumes_after_every_kind_of_end() {
    let engine = Engine::new();
    let (player, out) = (engine.player(), engine.path("t"));
    let words = [
        "tournament",
        &player,
        "random",
        "uniform,visits=2",
        "--size",
        "3",
        "--komi",
        "0",
        "--games",
        "200",
    ];
    let words = [&words[..], &["--json", "--out", out.to_str().unwrap()]].concat();
    for (signal, moment) in [(Signal::KILL, (6, 0)), (Signal::KILL, (6, 1)), (Signal::TERM, (6, 2))] {
        stopped(&words, &engine, &out, signal, moment);
    }
    let result = answer(start(&words).wait_with_output().unwrap()).json();
    engine.all_are_gone();
    assert_eq!(
        (&result["games"], &result["stopped"]),
        (&600.into(), &false.into()),
        "{result}"
    );
    for pairing in result["pairings"].as_array().unwrap() {
        assert_eq!(pairing["games"], 200, "{pairing}");
    }
    let (known, again) = (shards(&out), answer(start(&words).wait_with_output().unwrap()).json());
    assert_eq!((again, shards(&out)), (result, known), "nothing is played again");
}
