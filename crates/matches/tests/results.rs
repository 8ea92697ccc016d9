//! Result files: those of earlier versions can be read, and new ones have the same keys.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use tengen_evaluator::{
    Decision, FaultKind, GateConfig, GateReason, GateVerdict, MatchConfig, MatchContext, MatchResult, NoModels, Side,
    build_player, run_match,
};
use tengen_matches::{Verdicts, gate_id, verdict_on, verdicts};
use tengen_records::EndReason;
use tengen_rules::Size;
use tengen_store::{Create, MatchFile, Store, sealed_json};

const MATCH: &str = include_str!("data/match-result.json");
const GATE: &str = include_str!("data/gate-result.json");

/// Parses a file's text and serializes the result.
fn again<T: DeserializeOwned + Serialize>(text: &str) -> (T, Value) {
    let read: T = serde_json::from_str(text).expect("readable");
    let written = serde_json::to_value(&read).expect("JSON");
    (read, written)
}

/// The paths of all keys of a value, such as `result.sprt.llr`, without indices into lists.
fn keys(value: &Value) -> BTreeSet<String> {
    fn collect(above: &str, value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                let key = format!("{above}{key}");
                collect(&format!("{key}."), value, found);
                found.insert(key);
            }),
            Value::Array(items) => items.iter().for_each(|item| collect(above, item, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    collect("", value, &mut found);
    found
}

#[test]
fn a_match_result_survives_a_round_trip() {
    let (result, written) = again::<MatchResult>(MATCH);
    let mut expected: Value = serde_json::from_str(MATCH).unwrap();
    // Version 0.1.0 ended the interval of a match without losses at its estimate.
    assert_eq!(expected["elo_high"], expected["elo"]);
    expected["elo_high"] = Value::Null;
    assert_eq!(written, expected);
    let report = &result.fault_reports[0];
    assert_eq!((report.player, report.fault.kind), (Side::B, FaultKind::Nonsense));
    assert_eq!(
        result.b_engine.as_ref().map(|engine| engine.name.as_str()),
        Some("fake")
    );
    let ends: Vec<EndReason> = result.game_list.iter().map(|game| game.end_reason).collect();
    assert_eq!(ends[..2], [EndReason::PlyLimit, EndReason::Forfeit]);
    assert_eq!((result.unfinished, result.a_total.wins), (2, 2));
}

#[test]
fn a_gate_verdict_survives_a_round_trip() {
    let (verdict, written) = again::<GateVerdict>(GATE);
    assert_eq!(written, serde_json::from_str::<Value>(GATE).unwrap());
    assert_eq!(
        (verdict.decision, verdict.reason),
        (Decision::Promote, GateReason::TestAccepted)
    );
    assert_eq!(verdict.older[0].result.a_total.games(), 8);
    assert_eq!(verdict.older[0].champion, verdict.older[0].result.b);
}

#[test]
fn new_results_have_the_keys_of_old_ones() {
    let old: GateVerdict = serde_json::from_str(GATE).unwrap();
    let config = old.result.as_ref().expect("a match").config.clone();
    let context = MatchContext::default();
    let play = |config: &MatchConfig| {
        let player = || build_player(&"random".parse().unwrap(), &mut NoModels).unwrap();
        run_match(config, &mut *player(), &mut *player(), &context, &mut |_| {
            ControlFlow::Continue(())
        })
        .unwrap()
    };
    let mut new = GateVerdict::of(&old.config, "a", "b", Some(play(&config)));
    new.add_older("c".to_owned(), play(&old.older[0].result.config));
    let old = serde_json::from_str(GATE).unwrap();
    let mut expected = keys(&old);
    // Since version 0.2.0.
    let new_keys = [
        "distinct_games",
        "a_distinct",
        "a_distinct.wins",
        "a_distinct.ties",
        "a_distinct.losses",
    ];
    for result in ["result", "older.result"] {
        expected.extend(new_keys.map(|key| format!("{result}.{key}")));
    }
    assert_eq!(keys(&serde_json::to_value(&new).unwrap()), expected);
}

#[test]
fn keys_that_early_versions_did_not_write_are_filled_in() {
    let mut early: Value = serde_json::from_str(GATE).unwrap();
    early.as_object_mut().unwrap().remove("older");
    let result = early["result"].as_object_mut().unwrap();
    for key in ["any_time", "a_engine", "b_engine"] {
        result.remove(key).expect("a current key");
    }
    early["config"].as_object_mut().unwrap().remove("older_games");
    let verdict: GateVerdict = serde_json::from_value(early).unwrap();
    assert_eq!(verdict.config.older_games, GateConfig::default().older_games);
    let bounds = verdict.result.expect("a match").any_time;
    assert_eq!(
        (bounds.score_low, bounds.score_high, bounds.stronger()),
        (0.0, 1.0, None)
    );
    assert!(verdict.older.is_empty());
}

#[test]
fn unbounded_intervals_and_numbers_that_json_cannot_represent_survive_a_round_trip() {
    let mut verdict: GateVerdict = serde_json::from_str(GATE).unwrap();
    let result = verdict.result.as_mut().expect("a match");
    result.estimate.elo_high = None;
    result.sprt.as_mut().expect("a test").llr = f64::NAN;
    let text = serde_json::to_string(&verdict).unwrap();
    let (read, written) = again::<GateVerdict>(&text);
    assert_eq!(written, serde_json::from_str::<Value>(&text).unwrap());
    let result = read.result.expect("a match");
    assert!(result.estimate.elo_high.is_none() && result.sprt.expect("a test").llr.is_nan());
}

#[test]
fn verdicts_are_found_in_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let old: GateVerdict = serde_json::from_str(GATE).unwrap();
    let id = gate_id(&old.candidate, &old.champion);
    store.matches().put(&id, MatchFile::Result, GATE).unwrap();
    store.matches().put("gate-begun", MatchFile::Spec, "{}").unwrap();
    store.matches().put("rating-1", MatchFile::Result, MATCH).unwrap();
    let all = |left_out| Verdicts {
        verdicts: vec![old.clone()],
        left_out,
    };
    assert_eq!(verdicts(&store).unwrap(), all(Vec::new()));
    let found = verdict_on(&store, &old.candidate, &old.champion).unwrap();
    assert_eq!(found.as_ref(), Some(&old));
    assert_eq!(verdict_on(&store, "another", "model").unwrap(), None);
    store
        .matches()
        .put("gate-odd", MatchFile::Result, json!({"a": 1}).to_string())
        .unwrap();
    // Files that are damaged in the end, in the middle, or altogether.
    let sealed = String::from_utf8(sealed_json(&old)).unwrap();
    for (id, text) in [
        ("gate-p-vs-q", &GATE[..GATE.len() / 2]),
        ("gate-r-vs-s", &sealed.replacen("promote", "promoTe", 1)),
        ("gate-t-vs-u", "\0\0\0"),
    ] {
        store.matches().put(id, MatchFile::Result, text.to_owned()).unwrap();
    }
    let found = verdicts(&store).unwrap();
    let said = found.left_out.clone();
    assert_eq!(found, all(said.clone()), "the others are still found");
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(
        said[0].contains("matches/gate-odd/result.json is not the verdict"),
        "{said:?}"
    );
    for (sentence, id) in said[1..].iter().zip(["p-vs-q", "r-vs-s", "t-vs-u"]) {
        assert!(
            sentence.contains(&format!("matches/gate-{id}/result.json: expected")),
            "{sentence}"
        );
    }
    // A damaged verdict is as good as none, for it can be found again; an intact file that is none is not.
    assert_eq!(verdict_on(&store, "r", "s").unwrap(), None);
    let odd = gate_id("x", "y");
    let bytes = json!({"a": 1}).to_string();
    store.matches().put(&odd, MatchFile::Result, bytes).unwrap();
    assert!(verdict_on(&store, "x", "y").is_err());
    let size = Size::square(3).unwrap();
    assert_eq!(serde_json::from_str::<MatchResult>(MATCH).unwrap().config.size, size);
}
