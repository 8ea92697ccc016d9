//! Runs `tengen analyze`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::{Value, json};

use crate::common::{self, Answer, answer, tengen};

/// Sends `input` to the command and waits for it to end.
fn talk(args: &[&str], input: &[u8]) -> Answer {
    let mut child = start(args);
    child.stdin.take().unwrap().write_all(input).unwrap();
    let answer = answer(child.wait_with_output().unwrap());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stderr.starts_with("Started, ready"), "{}", answer.stderr);
    answer
}

fn start(args: &[&str]) -> Child {
    common::start(&[&["analyze", "--model", "uniform"], args].concat())
}

/// Sends queries, one per line, and returns the answers.
fn ask(args: &[&str], queries: &[Value]) -> Vec<Value> {
    let lines: String = queries.iter().map(|query| format!("{query}\n")).collect();
    read(&talk(args, lines.as_bytes()))
}

fn read(answer: &Answer) -> Vec<Value> {
    let lines = answer.stdout.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A query about a 3x3 board with additional fields.
fn query(id: &str, fields: Value) -> Value {
    let mut query = json!({"id": id, "rules": "tromp-taylor", "komi": 0.5, "boardXSize": 3, "boardYSize": 3,
        "moves": [["B", "B2"], ["W", "pass"]], "maxVisits": 33});
    for (field, value) in fields.as_object().unwrap() {
        query[field] = value.clone();
    }
    query
}

#[test]
fn answers_contain_all_requested_fields() {
    let fields = json!({"includeOwnership": true, "includeMovesOwnership": true, "includePolicy": true,
        "includePVVisits": true});
    let answers = ask(&[], &[query("a", fields)]);
    assert_eq!(answers.len(), 1);
    let (root, infos) = (&answers[0]["rootInfo"], answers[0]["moveInfos"].as_array().unwrap());
    assert_eq!((&root["visits"], &root["currentPlayer"]), (&json!(33), &json!("B")));
    let visits: Vec<u64> = infos.iter().map(|info| info["visits"].as_u64().unwrap()).collect();
    assert_eq!(
        visits.iter().sum::<u64>(),
        32,
        "every visit below the position is shown"
    );
    // A Black pass ends the game with all points Black's; nothing is better.
    let best = &infos[0];
    assert_eq!((&best["move"], &best["order"]), (&json!("pass"), &json!(0)));
    assert_eq!((&best["winrate"], &best["scoreLead"]), (&json!(1.0), &json!(8.5)));
    assert_eq!(
        (&best["pv"], &best["pvVisits"]),
        (&json!(["pass"]), &json!([visits[0]]))
    );
    assert_eq!(best["ownership"], json!(vec![1.0; 9]));
    let ownership = answers[0]["ownership"].as_array().unwrap();
    assert!(
        ownership.len() == 9
            && ownership
                .iter()
                .all(|value| value.as_f64().is_some_and(|own| own > 0.0))
    );
    let policy: Vec<f64> = answers[0]["policy"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_f64().unwrap())
        .collect();
    assert_eq!((policy.len(), policy[4]), (10, -1.0), "the stone's point is illegal");
    let sum: f64 = policy.iter().filter(|&&p| p >= 0.0).sum();
    assert!((sum - 1.0).abs() < 1e-4, "{policy:?}");
}

#[test]
fn every_turn_is_answered_once_and_reproducibly() {
    let moves = json!([["B", "B2"], ["W", "A1"], ["B", "C3"], ["W", "B1"]]);
    let many = query(
        "many",
        json!({"moves": moves, "analyzeTurns": [0, 1, 2, 3, 4], "includeOwnership": true}),
    );
    let all = |args: &[&str], before: &[Value]| -> BTreeMap<u64, String> {
        let answers = ask(args, &[before, std::slice::from_ref(&many)].concat());
        let of_many = answers.into_iter().filter(|answer| answer["id"] == "many");
        of_many
            .map(|answer| (answer["turnNumber"].as_u64().unwrap(), answer.to_string()))
            .collect()
    };
    let once = all(&[], &[]);
    assert_eq!(once.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(once, all(&["--parallel", "1"], &[]));
    let others = [
        query("other", json!({"maxVisits": 70})),
        query("more", json!({"komi": 3})),
    ];
    assert_eq!(once, all(&["--parallel", "3"], &others), "other queries change nothing");
}

#[test]
fn restrictions_apply_to_the_first_move() {
    let only = json!({"allowMoves": [{"player": "B", "moves": ["A1", "C1"], "untilDepth": 1}]});
    let nothing = json!({"avoidMoves": [{"player": "B", "untilDepth": 1,
        "moves": ["A1", "A2", "A3", "B1", "B3", "C1", "C2", "C3", "pass"]}]});
    let white = json!({"avoidMoves": [{"player": "W", "moves": ["pass"], "untilDepth": 1}]});
    let answers = ask(
        &["--parallel", "1"],
        &[query("a", only), query("b", nothing), query("c", white)],
    );
    let moves = |answer: &Value| -> Vec<String> {
        let infos = answer["moveInfos"].as_array().unwrap().iter();
        infos.map(|info| info["move"].as_str().unwrap().to_owned()).collect()
    };
    let mut allowed = moves(&answers[0]);
    allowed.sort();
    assert_eq!(allowed, ["A1", "C1"]);
    assert_eq!(moves(&answers[1]), Vec::<String>::new());
    assert_eq!(answers[1]["rootInfo"]["visits"], 1, "the position itself is evaluated");
    assert_eq!(moves(&answers[2])[0], "pass", "White is not to move");
}

#[test]
fn the_viewpoint_changes_every_number() {
    let seen = |viewpoint: &str| {
        let stones = json!({"initialStones": [["W", "B2"]], "moves": [["B", "pass"]], "includeOwnership": true});
        let answer = ask(&["--viewpoint", viewpoint], &[query("a", stones)]).remove(0);
        let root = &answer["rootInfo"];
        [&root["winrate"], &root["scoreLead"], &answer["ownership"][0]].map(|value| value.as_f64().unwrap())
    };
    let [black, white, mover] = ["black", "white", "side-to-move"].map(seen);
    assert_eq!(white, mover);
    assert!((black[0] + white[0] - 1.0).abs() < 1e-5 && white[0] > 0.5, "{white:?}");
    assert_eq!([black[1], black[2]], [-white[1], -white[2]]);
    assert!(white[2] > 0.0);
}

#[test]
fn invalid_queries_get_one_error_line() {
    let mut input =
        b"nonsense\r\n\r\n{\"id\":\"x\",\"moves\":[],\"rules\":\"chinese\",\"boardXSize\":3,\"boardYSize\":3}\n"
            .to_vec();
    input.extend(vec![b'x'; 3 << 20]);
    input.extend_from_slice(b"\n\xff\xfe\n{\"id\":\"y\",\"action\":\"sing\"}\n");
    input.extend_from_slice(query("z", json!({})).to_string().as_bytes());
    let answers = read(&talk(&[], &input));
    let said: Vec<&str> = answers
        .iter()
        .map(|answer| answer["error"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(said.len(), 6, "{said:?}");
    for (said, part) in said.iter().zip([
        "JSON object",
        "chinese_practice",
        "fewer than",
        "JSON object",
        "'sing'",
        "",
    ]) {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(answers[5]["rootInfo"]["visits"], 33, "the last line needs no end");
}

#[test]
fn accepts_carriage_returns_as_line_endings() {
    let input = format!("{}\r{}\r", query("a", json!({})), query("b", json!({})));
    assert_eq!(read(&talk(&[], input.as_bytes())).len(), 2);
}

#[test]
fn other_rules_are_only_analyzed_on_request() {
    let japanese = query("a", json!({"rules": "japanese"}));
    let refused = ask(&[], std::slice::from_ref(&japanese));
    assert_eq!((refused.len(), &refused[0]["field"]), (1, &json!("rules")));
    let answers = ask(&["--rules", "tromp_taylor"], &[japanese]);
    assert!(
        answers[0]["warning"].as_str().unwrap().contains("tromp_taylor"),
        "{answers:?}"
    );
    assert_eq!(answers[1]["rootInfo"]["visits"], 33);
}

/// A conversation with a running engine.
struct Talk {
    child: Child,
    stdin: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Talk {
    fn new(args: &[&str]) -> Talk {
        let mut child = start(args);
        Talk {
            stdin: child.stdin.take().unwrap(),
            lines: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    fn say(&mut self, query: &Value) {
        writeln!(self.stdin, "{query}").unwrap();
    }

    /// The next matching line; lines before it are skipped.
    fn hear(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.next().expect("the engine still answers").unwrap();
            let value: Value = serde_json::from_str(&line).unwrap();
            if wanted(&value) {
                return value;
            }
        }
    }
}

#[test]
fn endless_analyses_report_and_end_on_request() {
    let mut talk = Talk::new(&["--parallel", "1"]);
    let endless = json!({"maxVisits": 1_000_000_000, "reportDuringSearchEvery": 0.01, "priority": 1});
    talk.say(&query("endless", endless));
    talk.say(&query("never", json!({})));
    let first = talk.hear(|value| value["isDuringSearch"] == true);
    let second = talk.hear(|value| value["isDuringSearch"] == true);
    let visits = |value: &Value| value["rootInfo"]["visits"].as_u64().unwrap();
    assert!(visits(&second) > visits(&first), "visits grow");
    // The more urgent query goes first although the only slot is taken.
    talk.say(&query("urgent", json!({"priority": 2})));
    assert_eq!(visits(&talk.hear(|value| value["id"] == "urgent")), 33);
    talk.say(&json!({"id": "t1", "action": "terminate", "terminateId": "never"}));
    let never = talk.hear(|value| value["id"] == "never");
    assert_eq!(
        never,
        json!({"id": "never", "turnNumber": 2, "isDuringSearch": false, "noResults": true})
    );
    let end = json!({"id": "t2", "action": "terminate_all"});
    talk.say(&end);
    assert_eq!(talk.hear(|value| value["id"] == "t2"), end);
    let last = talk.hear(|value| value["id"] == "endless" && value["isDuringSearch"] == false);
    assert!(visits(&last) > visits(&second));
    talk.say(&query("after", json!({})));
    talk.hear(|value| value["id"] == "after");
    drop(talk.stdin);
    assert_eq!(talk.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_end_of_input_only_ends_open_queries_on_request() {
    let endless = query("endless", json!({"maxVisits": 1_000_000_000}));
    let answers = ask(&["--quit-without-waiting"], &[endless]);
    assert!(answers.is_empty(), "{answers:?}");
    let some = query(
        "some",
        json!({"overrideSettings": {"maxTime": 0.05, "maxVisits": 1_000_000_000}}),
    );
    let answers = ask(&[], &[some]);
    assert!(
        answers[0]["rootInfo"]["visits"].as_u64().unwrap() > 1,
        "finished within its time"
    );
}

#[test]
fn can_be_started_like_katago() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("analysis.cfg");
    std::fs::write(
        &path,
        "logDir = logs\nmaxVisits = 9\nreportAnalysisWinratesAs = SIDETOMOVE\n",
    )
    .unwrap();
    let path = path.to_str().unwrap();
    let settings = "maxVisits=5,homeDataDir=/home/me";
    let mut child = common::start(&[
        "analysis",
        "-model",
        "uniform",
        "-config",
        path,
        "-override-config",
        settings,
    ]);
    let asked = query("a", json!({"maxVisits": null}));
    writeln!(child.stdin.take().unwrap(), "{asked}").unwrap();
    let answer = answer(child.wait_with_output().unwrap());
    assert_eq!(read(&answer)[0]["rootInfo"]["visits"], 5, "{}", answer.stderr);
    assert!(
        answer.stderr.contains("are ignored: logDir, homeDataDir"),
        "{}",
        answer.stderr
    );
}

#[test]
fn the_engine_ends_when_its_client_disconnects() {
    let mut child = start(&[]);
    let mut stdin = child.stdin.take().unwrap();
    let endless = query(
        "a",
        json!({"maxVisits": 1_000_000_000, "reportDuringSearchEvery": 0.01}),
    );
    writeln!(stdin, "{endless}").unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
}

#[test]
fn usage_errors_are_one_sentence() {
    tengen(&["analyze", "--model", "random"]).refuses(2, "cannot analyze positions");
    tengen(&["analyze", "--model", "uniform,visits=3"]).refuses(2, "--visits");
    tengen(&["analyze", "--model", "gtp:gnugo"]).refuses(2, "not another engine");
    tengen(&["analyze", "--model", "uniform", "--rules", "japanese"]).refuses(2, "japanese2008");
    tengen(&["analyze", "--model", "uniform", "--visits", "0"]).refuses(2, "--visits");
    tengen(&["analyze", "--model", "uniform", "--parallel", "0"]).refuses(2, "--parallel");
    tengen(&["analyze", "--model", "uniform", "--viewpoint", "red"]).refuses(2, "side-to-move");
    tengen(&["analyze", "--model", "uniform", "--config", "/no/such.cfg"]).refuses(1, "/no/such.cfg");
    tengen(&["analyze", "--model", "uniform", "--override-config", "maxVisits"]).refuses(1, "name = value");
    tengen(&["analyze", "--model", "store:/no/such/store"]).refuses(1, "/no/such/store");
}
