//! `tengen match` with GTP engines: GNU Go against Tengen, and the engine processes after `tengen` is stopped.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::common::{answer, command, runs, tengen, wait_until};

/// An engine that never answers `genmove`, with a child that only a kill ends, and another with a session of its own
/// and no environment. It writes all process ids to a file.
struct Sleeper(TempDir);

impl Sleeper {
    fn new() -> Sleeper {
        let dir = tempfile::tempdir().unwrap();
        let script = "while read id command rest; do case \"$command\" in\n\
             protocol_version) printf '=%s 2\\n\\n' $id;;\n\
             genmove) (trap '' TERM HUP INT; sleep 600) & child=$!; env -i setsid sleep 600 &\n\
             echo $$ $child $! > \"$0.pids\"; sleep 600;;\n\
             *) printf '=%s\\n\\n' $id;;\n\
             esac; done\n";
        std::fs::write(dir.path().join("engine"), script).unwrap();
        Sleeper(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts a match and waits until the engine is thinking. Returns `tengen` and the ids of the engine's processes.
    fn play(&self) -> (Child, Vec<String>) {
        let engine = format!("gtp:\"sh {}\",engines=1", self.path("engine").display());
        let mut tengen = command(&["match", "--a", &engine, "--b", "random", "--games", "2", "--size", "5"]);
        let child = tengen.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut numbers = Vec::new();
        wait_until("the engine has started", || {
            let text = std::fs::read_to_string(self.path("engine.pids")).unwrap_or_default();
            numbers = text.split_whitespace().map(str::to_owned).collect();
            numbers.len() == 3
        });
        (child, numbers)
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_engine_keeps_running_after_tengen_is_killed() {
    let sleeper = Sleeper::new();
    let (mut tengen, numbers) = sleeper.play();
    assert!(numbers.iter().all(runs));
    tengen.kill().unwrap();
    tengen.wait().unwrap();
    wait_until("the engine and its child are gone", || !numbers.iter().any(runs));
}

#[test]
#[cfg(target_os = "linux")]
fn one_ctrl_c_stops_a_match_whose_engine_is_thinking() {
    let sleeper = Sleeper::new();
    let (tengen, numbers) = sleeper.play();
    let pid = rustix::process::Pid::from_child(&tengen);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let answer = answer(tengen.wait_with_output().unwrap());
    assert_eq!(answer.code, 130, "{}", answer.stderr);
    assert!(
        answer.stdout.contains("the match was stopped early"),
        "{}",
        answer.stdout
    );
    wait_until("the engine and its children are gone", || !numbers.iter().any(runs));
}

/// A fake engine with these cases of a shell `case` statement, as a player.
fn fake(dir: &TempDir, cases: &str) -> String {
    let path = dir.path().join("fake");
    let script = format!(
        "while read id command rest; do case \"$command\" in\n{cases}\n\
         protocol_version) printf '=%s 2\\n\\n' $id;;\n\
         genmove) printf '=%s pass\\n\\n' $id;;\n\
         *) printf '=%s\\n\\n' $id;;\n\
         esac; done\n"
    );
    std::fs::write(&path, script).unwrap();
    let seconds = if cases.contains("sleep") { 0.5 } else { 20.0 };
    format!("gtp:\"sh {}\",engines=1,name=fake,move_s={seconds}", path.display())
}

/// `games.sgf` says how games ended that have no counted result.
#[test]
fn the_sgf_of_a_match_says_how_games_ended() {
    for (cases, more, results, reason) in [
        (
            "play) printf '?%s illegal move\\n\\n' $id;;",
            &["--refused-moves", "void"][..],
            ["Void", "Void"],
            "No result: the game does not count because of a fault by",
        ),
        (
            "play) printf '?%s illegal move\\n\\n' $id;;",
            &[],
            ["W+F", "B+F"],
            "Lost by a fault of",
        ),
        ("genmove) sleep 600;;", &[], ["W+T", "B+T"], "Lost on time by"),
        ("genmove) exit 7;;", &[], ["W+F", "B+F"], "exited with code 7"),
        (
            "genmove) printf '=%s A1\\n\\n' $id;;",
            &["--max-plies", "1"],
            ["Void", "Void"],
            "No result: the game was stopped after 1 plies, the limit.",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (player, out) = (fake(&dir, cases), dir.path().join("out"));
        let words = [
            "match",
            "--a",
            &player,
            "--b",
            "random",
            "--size",
            "5",
            "--games",
            "2",
            "--openings",
            "random:1",
        ];
        let words = [&words[..], &["--out", out.to_str().unwrap(), "--json"], more].concat();
        let result = tengen(&words).json();
        let sgf = std::fs::read_to_string(out.join("games.sgf")).unwrap();
        let games: Vec<&str> = sgf.split("(;").skip(1).collect();
        assert_eq!(games.len(), 2, "{result}");
        for (game, expected) in games.iter().zip(results) {
            assert!(game.contains(&format!("RE[{expected}]")), "{cases}: {sgf}");
            assert!(game.contains("GC[") && game.contains(reason), "{cases}: {sgf}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_engine_keeps_running_after_ctrl_c_twice() {
    let sleeper = Sleeper::new();
    let (tengen, numbers) = sleeper.play();
    let pid = rustix::process::Pid::from_child(&tengen);
    let mut presses = 0;
    wait_until("tengen has ended", || {
        presses += 1;
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        std::thread::sleep(Duration::from_millis(100));
        !runs(tengen.id().to_string())
    });
    let answer = answer(tengen.wait_with_output().unwrap());
    answer.refuses(130, "Stopping the match after the games finished so far");
    wait_until("the engine and its child are gone", || !numbers.iter().any(runs));
}

/// GNU Go's command line with the flags closest to Tromp-Taylor rules.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn gnu_go() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/games")])
        .map(|folder| folder.join("gnugo"));
    let Some(program) = programs.find(|program| program.exists()) else {
        eprintln!("SKIPPED: GNU Go is not installed (scripts/setup-gnugo), so nothing was played against it");
        return None;
    };
    let flags = "--mode gtp --chinese-rules --positional-superko --allow-suicide --never-resign --capture-all-dead \
                 --play-out-aftermath --level 1";
    Some(format!("gtp:\"{} {flags}\",engines=2", program.display()))
}

#[test]
fn tengen_over_gtp_plays_full_games_against_gnu_go() {
    let Some(gnu_go) = gnu_go() else { return };
    let ours = format!(
        "gtp:\"{} gtp --model uniform --visits 32\",engines=2",
        env!("CARGO_BIN_EXE_tengen")
    );
    let folder = tempfile::tempdir().unwrap();
    for (size, komi) in [("5", "24.5"), ("7", "9"), ("9", "7")] {
        let out = folder.path().join(size);
        let out = out.to_str().unwrap();
        let result = tengen(&[
            "match", "--a", &ours, "--b", &gnu_go, "--size", size, "--komi", komi, "--games", "2", "--out", out,
            "--json",
        ])
        .json();
        let number = |key: &str| result[key].as_u64().unwrap_or_else(|| panic!("{key} in {result}"));
        let counts = ["games", "faults", "unfinished", "resigned"].map(number);
        assert_eq!(counts, [2, 0, 0, 0], "{}", result["fault_reports"]);
        assert_eq!(result["b_engine"]["name"], "GNU Go");
        assert!(
            result["a_engine"]["command"]
                .as_str()
                .unwrap()
                .contains("gtp --model uniform")
        );
        let sgf = std::fs::read_to_string(format!("{out}/games.sgf")).unwrap();
        for word in [
            format!("SZ[{size}]"),
            "PB[GNU Go 3".to_owned(),
            "PW[GNU Go 3".to_owned(),
        ] {
            assert!(sgf.contains(&word), "{word} in {sgf}");
        }
        let scored = tengen(&["rules", "score", &format!("{out}/games.sgf"), "--json"]).json();
        for game in scored["games"].as_array().unwrap() {
            assert_eq!((&game["legal"], &game["over"]), (&true.into(), &true.into()));
            assert_eq!(game["result"], game["claimed"]);
        }
    }
}

#[test]
fn an_engine_is_asked_about_the_theory_of_5x5() {
    let engine = format!("gtp:\"{} gtp --model random\",engines=2", env!("CARGO_BIN_EXE_tengen"));
    let asked = tengen(&["verify", "--model", &engine, "--board", "5x5", "--games", "2", "--json"]);
    let report = asked.object();
    let checks = report["checks"].as_array().expect("checks");
    let replies = checks.iter().find(|check| check["expected"] == "25 of 25");
    assert!(replies.is_some_and(|check| check["passed"] == false), "{report}");
}
