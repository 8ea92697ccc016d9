//! `tengen gtp` beyond the GTP standard: files, positions, resigning, randomness, pondering, raw networks.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout};
use std::time::Duration;

use crate::common::{start, tengen};

struct Engine {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Engine {
    fn start(args: &[&str]) -> Engine {
        let mut child = start(&[&["gtp"], args].concat());
        let answers = BufReader::new(child.stdout.take().unwrap());
        Engine { child, answers }
    }

    fn say(&mut self, line: &str) {
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    /// The answer to one line, without the space after its first character.
    fn ask(&mut self, line: &str) -> String {
        self.say(line);
        let mut answer = String::new();
        while !answer.ends_with("\n\n") {
            assert_ne!(self.answers.read_line(&mut answer).unwrap(), 0, "{line}: {answer}");
        }
        answer.trim_end().to_owned()
    }

    /// Sends several lines that must all succeed and returns the last answer.
    fn tell(&mut self, lines: &[&str]) -> String {
        let mut last = String::new();
        for line in lines {
            last = self.ask(line);
            assert!(last.starts_with('='), "{line}: {last}");
        }
        last
    }
}

/// Closes the input, which ends the engine whatever it is doing.
impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let ended = self.child.wait().unwrap();
        assert!(std::thread::panicking() || ended.success());
    }
}

/// The visits in a report of `kata-genmove_analyze`.
fn visits(report: &str) -> u32 {
    let counts = report
        .split(" visits ")
        .skip(1)
        .map(|rest| rest.split(' ').next().unwrap());
    counts.map(|count| count.parse::<u32>().unwrap()).sum()
}

#[test]
fn games_survive_saving_and_loading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a game.sgf");
    let path = path.to_str().unwrap();
    let mut engine = Engine::start(&["--model", "uniform", "--size", "7", "--komi", "0.5", "--rules", "aga"]);
    let board = |engine: &mut Engine| engine.tell(&["showboard"]).replace("turns", "");
    for game in [
        &["fixed_handicap 2", "play w D4", "play b pass"][..],
        &["set_free_handicap A1 B2 C3", "genmove w"],
        &["set_position b C3 w C4 b D4", "play w D5", "play w E4", "play b A1"],
        &["play w D4", "play b E4", "play w pass", "play b pass"],
    ] {
        engine.tell(&["clear_board"]);
        engine.tell(game);
        let text = engine.tell(&["printsgf"]);
        assert_eq!(engine.tell(&[&format!("printsgf {path}")]), "=");
        assert_eq!(
            std::fs::read_to_string(path).unwrap().replace("\n", ""),
            text[2..].replace("\n", "")
        );
        let before = (engine.ask("final_score"), board(&mut engine));
        engine.tell(&[
            "boardsize 9",
            "komi 5",
            "kata-set-rules tromp_taylor",
            &format!("loadsgf {path}"),
        ]);
        let (score, shown) = (engine.ask("final_score"), board(&mut engine));
        let picture = |text: &str| text.lines().take(9).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((score, picture(&shown)), (before.0, picture(&before.1)), "{text}");
        assert!(engine.tell(&["kata-get-rules"]).contains("aga"));
    }
    let scored = tengen(&["rules", "score", path, "--json"]).json();
    assert_eq!(
        (&scored["games"][0]["over"], &scored["games"][0]["result"]),
        (&true.into(), &"W+0.5".into())
    );
    assert_eq!(scored["games"][0]["claimed"], "W+0.5");
    let refused = engine.ask("printsgf /no/such/folder/game.sgf");
    assert!(
        refused.starts_with("? cannot write file: cannot write /no/such/folder/game.sgf"),
        "{refused}"
    );
}

#[test]
fn hopeless_games_are_resigned() {
    // Black cannot win on two points with a komi of 10, and the search sees the end of nearly every line.
    let args = ["--model", "uniform", "--visits", "400", "--size", "2x1", "--komi", "10"];
    let mut engine = Engine::start(&[&args[..], &["--resign", "0.4:2"]].concat());
    assert_ne!(engine.tell(&["genmove b"]), "= resign", "once is not enough");
    assert_ne!(
        engine.tell(&["undo", "play b A1", "play w pass", "reg_genmove b"]),
        "= resign",
        "an analysis is not a turn"
    );
    assert_eq!(engine.tell(&["genmove b"]), "= resign");
    assert!(engine.tell(&["printsgf"]).contains("RE[W+R]"));
    assert_ne!(
        engine.tell(&["undo", "undo", "genmove b"]),
        "= resign",
        "undone turns do not count"
    );
    assert!(
        engine
            .ask("kata-set-param resign 0.1")
            .starts_with("? resign takes PROBABILITY:TURNS")
    );
    engine.tell(&["clear_board", "kata-set-param resign 0.4:1"]);
    assert!(engine.ask("kata-genmove_analyze b 100").ends_with("\nplay resign"));
    assert!(engine.ask("kata-set-param finish true").starts_with("? resign is set"));
    assert_ne!(
        engine.tell(&["kgs-genmove_cleanup b"]),
        "= resign",
        "a cleanup is played to the end"
    );
    assert_ne!(engine.tell(&["clear_board", "genmove w"]), "= resign", "White wins");
    engine.tell(&["clear_board", "kata-set-param resign none"]);
    assert_ne!(engine.tell(&["genmove b"]), "= resign");
    let mut never = Engine::start(&args);
    for turn in ["b", "w", "b", "w", "b"] {
        assert_ne!(never.ask(&format!("genmove {turn}")), "= resign");
    }
    tengen(&["gtp", "--model", "uniform", "--resign", "0.1:3", "--finish"]).refuses(2, "cannot be used with");
    tengen(&["gtp", "--model", "uniform", "--resign", "0.6:3"]).refuses(2, "such as 0.05:3");
}

#[test]
fn ponders_during_the_opponents_turn_on_request() {
    let args = ["--model", "uniform", "--size", "5", "--visits", "1"];
    let mut plain = Engine::start(&args);
    let mut ahead = Engine::start(&[&args[..], &["--ponder"]].concat());
    for engine in [&mut plain, &mut ahead] {
        engine.tell(&["genmove b"]);
    }
    std::thread::sleep(Duration::from_millis(300));
    // An answer in between, after which it continues to think.
    assert_eq!(ahead.ask("7 name"), "=7 Tengen");
    std::thread::sleep(Duration::from_millis(100));
    let (few, many) = (
        plain.ask("kata-genmove_analyze w 1000"),
        ahead.ask("kata-genmove_analyze w 1000"),
    );
    assert!(visits(&few) <= 2 && visits(&many) > 20, "{few}\n{many}");
    assert_eq!(
        ahead.tell(&[
            "stop",
            "kata-set-param ponderingEnabled false",
            "kata-get-param ponderingEnabled"
        ]),
        "= false"
    );
    assert_eq!(
        ahead
            .tell(&["genmove b", "kata-set-param ponderingEnabled true", "final_score"])
            .get(..2),
        Some("= ")
    );
    // It is pondering when the input ends, and it stops.
}

#[test]
fn randomness_depends_only_on_the_seed() {
    let mut engine = Engine::start(&[
        "--model",
        "uniform",
        "--visits",
        "50",
        "--size",
        "5",
        "--temperature",
        "5",
    ]);
    let mut game = |seed: &str| {
        engine.tell(&["clear_board", &format!("set_random_seed {seed}")]);
        ["b", "w", "b", "w", "b", "w"]
            .map(|color| engine.ask(&format!("genmove {color}")))
            .join(" ")
    };
    let (first, other) = (game("1"), game("2"));
    assert_ne!(first, other);
    assert_eq!([game("2"), game("1")], [other, first]);
    assert_eq!(engine.tell(&["get_random_seed"]), "= 1");
    engine.tell(&["kata-set-param chosenMoveTemperature 0", "clear_board"]);
    let mut cold = || engine.tell(&["clear_board", "genmove b", "genmove w", "genmove b"]);
    assert_eq!(cold(), cold());
}

#[test]
fn raw_networks_are_shown_in_katagos_format() {
    let mut engine = Engine::start(&["--model", "uniform", "--size", "3", "--komi", "1"]);
    engine.tell(&["play b B2"]);
    let raw = engine.tell(&["kata-raw-nn 5"]);
    let value = |key: &str| {
        raw.lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap()
            .trim()
            .to_owned()
    };
    assert!(raw.starts_with("= symmetry 5\nwhiteWin 0."), "{raw}");
    let (white, black) = (value("whiteWin"), value("whiteLoss"));
    assert_eq!(white.parse::<f64>().unwrap() + black.parse::<f64>().unwrap(), 1.0);
    assert_eq!(raw.matches("NAN").count(), 1, "the point of the stone: {raw}");
    assert_eq!(raw.matches("0.111111").count(), 9, "eight points and the pass: {raw}");
    assert_eq!(engine.tell(&["kata-raw-nn all"]).matches("symmetry ").count(), 8);
    assert!(
        Engine::start(&["--model", "random"])
            .ask("kata-raw-nn 0")
            .starts_with("? unknown command")
    );
}
