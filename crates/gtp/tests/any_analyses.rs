//! KataGo's analysis protocol with arbitrary input: no line causes a panic, and every reply is one line of JSON.

use proptest::prelude::*;
use serde_json::{Value, json};

use tengen_gtp::PositionAnalysis;
use tengen_gtp::json::{Defaults, Identity, QueryQueue};

const FIELDS: [&str; 27] = [
    "id",
    "action",
    "terminateId",
    "turnNumbers",
    "moves",
    "initialStones",
    "initialPlayer",
    "rules",
    "komi",
    "whiteHandicapBonus",
    "boardXSize",
    "boardYSize",
    "analyzeTurns",
    "maxVisits",
    "rootPolicyTemperature",
    "analysisPVLen",
    "includeOwnership",
    "includeMovesOwnership",
    "includePolicy",
    "includePVVisits",
    "avoidMoves",
    "allowMoves",
    "overrideSettings",
    "reportDuringSearchEvery",
    "priority",
    "priorities",
    "none of these",
];

/// Valid values of fields, and values that are invalid for every field.
fn value() -> impl Strategy<Value = Value> {
    let texts = prop_oneof![
        Just("B"),
        Just("w"),
        Just("C3"),
        Just("pass"),
        Just("(1,2)"),
        Just("(99,-1)"),
        Just("Z99"),
        Just(""),
        Just("é€"),
        Just("tromp-taylor"),
        Just("aga"),
        Just("chinese_practice"),
        Just("japanese"),
        Just("{\"ko\":\"SIMPLE\"}"),
        Just("terminate"),
        Just("clear_cache"),
        Just("SIDETOMOVE"),
        Just("N-1"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..25).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        texts.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let keys = prop_oneof![
            Just("player"),
            Just("moves"),
            Just("untilDepth"),
            Just("maxVisits"),
            Just("maxTime"),
            Just("wideRootNoise"),
            Just("reportAnalysisWinratesAs"),
            Just("ko"),
            Just("suicide"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys, inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// A query that is valid except for a few fields.
fn query() -> impl Strategy<Value = Value> {
    prop::collection::vec((prop::sample::select(&FIELDS[..]), value()), 0..4).prop_map(|changes| {
        let mut query = json!({"id": "q", "rules": "tromp-taylor", "boardXSize": 4, "boardYSize": 3, "komi": 0.5,
            "moves": [["B", "B2"], ["W", "C2"], ["W", "pass"]], "analyzeTurns": [0, 2, 3]});
        for (field, value) in changes {
            query[field] = value;
        }
        query
    })
}

/// Sends a line and finishes all jobs; returns the number of reply lines.
fn talk(line: &[u8]) -> usize {
    let mut queue = QueryQueue::new(Identity::default(), Defaults::default());
    let mut said = queue.handle(line).replies;
    while let Some(&number) = queue.most_urgent(1).first() {
        said.extend(queue.answer(number, &PositionAnalysis::default(), true));
    }
    for line in &said {
        assert!(!line.contains('\n'));
        assert!(
            serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object()),
            "{line}"
        );
    }
    said.len()
}

proptest! {
    #[test]
    fn any_query_is_answered(query in query()) {
        let silent = query["analyzeTurns"] == json!([]);
        prop_assert!(talk(query.to_string().as_bytes()) > 0 || silent);
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        talk(&bytes);
    }

    #[test]
    fn truncated_queries_are_rejected(query in query(), place in any::<prop::sample::Index>()) {
        let text = query.to_string();
        let end = place.index(text.len());
        let lines = talk(&text.as_bytes()[..end]);
        prop_assert_eq!(lines, usize::from(end > 0));
    }
}
