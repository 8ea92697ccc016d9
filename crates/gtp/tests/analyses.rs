//! KataGo's analysis protocol without a search: lines in, jobs, lines out.

use serde_json::{Value, json};

use tengen_gtp::json::{Defaults, Identity, QueryQueue, Settings, Viewpoint};
use tengen_gtp::{AnalyzedMove, PositionAnalysis};
use tengen_rules::{Color, Handicap, Komi, Move, Position, Rules, Size};

fn queue() -> QueryQueue {
    queue_with(Defaults {
        komi: Komi::from_half_points(14),
        ..Defaults::default()
    })
}

fn queue_with(defaults: Defaults) -> QueryQueue {
    let identity = Identity {
        version: "1.2.3".to_owned(),
        model: "a-network".to_owned(),
        batch: 4,
    };
    QueryQueue::new(identity, defaults)
}

/// A query about a 5x5 board with these fields changed or added; `null` removes a field.
fn query(changes: Value) -> Value {
    let mut query = json!({"id": "q", "rules": "tromp-taylor", "boardXSize": 5, "boardYSize": 5, "moves": []});
    for (field, value) in changes.as_object().expect("an object") {
        query[field] = value.clone();
    }
    query
}

fn send(queue: &mut QueryQueue, line: &Value) -> Vec<Value> {
    let handled = queue.handle(line.to_string().as_bytes());
    let read = |line: &String| serde_json::from_str(line).expect("a reply is JSON");
    handled.replies.iter().map(read).collect()
}

/// A new queue with this query, which it must accept without a reply.
fn take(changes: Value) -> QueryQueue {
    let mut queue = queue();
    assert_eq!(send(&mut queue, &query(changes)), Vec::<Value>::new());
    queue
}

/// The positions of all jobs in order of urgency.
fn positions(queue: &QueryQueue) -> Vec<(usize, Position)> {
    let numbers = queue.most_urgent(100).into_iter();
    let jobs = numbers.map(|number| queue.job(number).expect("a job"));
    jobs.map(|job| (job.turn, job.position.clone())).collect()
}

fn stones(position: &Position) -> [usize; 2] {
    [Color::Black, Color::White].map(|color| position.stones(color).len())
}

/// An analysis with two visited moves and one unvisited, from the viewpoint of the side to move.
fn found(size: Size) -> PositionAnalysis {
    let one = |text: &str, visits: u32| AnalyzedMove {
        mv: Move::parse(size, text).expect("a move"),
        visits,
        winrate: 0.75,
        lcb: 0.5,
        score_lead: 2.5,
        utility: 0.25,
        prior: 0.125,
        pv: ["C3", "pass", "A1"]
            .map(|text| Move::parse(size, text).expect("a move"))
            .to_vec(),
        pv_visits: vec![visits, 2, 1],
        ownership: Some(vec![0.5; size.area()]),
    };
    PositionAnalysis {
        moves: vec![one("C3", 6), one("pass", 3), one("A1", 0)],
        visits: 9,
        winrate: 0.75,
        score_lead: 2.5,
        utility: 0.25,
        raw_winrate: 0.625,
        raw_lead: f32::NAN,
        ownership: Some(vec![-1.0; size.area()]),
        policy: Some(vec![-1.0; size.area() + 1]),
    }
}

fn answered(queue: &mut QueryQueue, is_final: bool) -> Value {
    let number = queue.most_urgent(1)[0];
    let size = queue.job(number).expect("a job").position.size();
    let line = queue.answer(number, &found(size), is_final).expect("the job is there");
    serde_json::from_str(&line).expect("JSON")
}

#[test]
fn every_requested_turn_becomes_a_job() {
    let moves = json!([["B", "C3"], ["W", "b2"], ["B", "pass"]]);
    let all = positions(&take(json!({"moves": moves, "analyzeTurns": [3, 0, 1, 0]})));
    let seen: Vec<_> = all
        .iter()
        .map(|(turn, position)| (*turn, stones(position), position.to_move()))
        .collect();
    assert_eq!(
        seen,
        [
            (3, [1, 1], Color::White),
            (0, [0, 0], Color::Black),
            (1, [1, 0], Color::White)
        ],
        "each once, in the order given"
    );
    let last = positions(&take(json!({"moves": moves})));
    assert_eq!(last.iter().map(|(turn, _)| *turn).collect::<Vec<_>>(), [3]);
}

#[test]
fn games_may_start_with_stones_and_either_player() {
    let handicap = json!([["B", "B2"], ["b", "D4"]]);
    let (_, position) = positions(&take(json!({"initialStones": handicap, "rules": "aga"}))).remove(0);
    assert_eq!(
        (position.handicap(), position.to_move()),
        (Handicap::Fixed(2), Color::White)
    );
    let both = json!({"initialStones": [["B", "B2"], ["W", "(3,1)"]], "initialPlayer": "W"});
    let (_, position) = positions(&take(both)).remove(0);
    assert_eq!(
        (position.handicap(), position.to_move()),
        (Handicap::Even, Color::White)
    );
    assert_eq!(
        position.at(position.size().point(3, 1).expect("a point")),
        Some(Color::White)
    );
    // The stones remain if the other color moves first or one color moves twice.
    let moves = json!([["W", "C3"], ["W", "C4"]]);
    let out_of_turn = json!({
        "initialStones": [["B", "B2"], ["W", "B3"]], "initialPlayer": "B", "moves": moves, "analyzeTurns": [0, 2],
    });
    let all = positions(&take(out_of_turn));
    assert_eq!((stones(&all[0].1), all[0].1.to_move()), ([1, 1], Color::Black));
    assert_eq!((stones(&all[1].1), all[1].1.to_move()), ([1, 3], Color::Black));
}

#[test]
fn positions_after_two_passes_can_be_analyzed() {
    let passes = json!([["B", "C3"], ["W", "pass"], ["B", "pass"]]);
    let all = positions(&take(json!({"moves": passes, "analyzeTurns": [2, 3]})));
    assert!(all.iter().all(|(_, position)| !position.is_over()));
    assert_eq!(all[1].1.to_move(), Color::White);
}

#[test]
fn rules_and_komi_come_from_the_query() {
    let of = |changes: Value| {
        let queue = take(changes);
        let job = queue.job(queue.most_urgent(1)[0]).expect("a job");
        (job.position.rules(), job.query.komi.half_points())
    };
    assert_eq!(of(json!({"komi": 6.5})), (Rules::tromp_taylor(), 13));
    assert_eq!(of(json!({"komi": null})), (Rules::tromp_taylor(), 14));
    assert_eq!(of(json!({"rules": "AGA", "komi": -3})), (Rules::aga(), -6));
    let object = json!({"ko": "SITUATIONAL", "suicide": false, "scoring": "AREA", "whiteHandicapBonus": "N-1"});
    let between_machines = "ko=situational,suicide=forbidden,handicap_bonus=n_minus_1";
    assert_eq!(of(json!({"rules": object})).0, between_machines.parse().expect("rules"));
    let bonus = of(json!({"whiteHandicapBonus": "N"})).0;
    assert_eq!(bonus, "handicap_bonus=n".parse().expect("rules"));
}

#[test]
fn invalid_queries_are_rejected_with_the_field() {
    let check = |changes: Value, field: &str, part: &str| {
        let mut queue = queue();
        let replies = send(&mut queue, &query(changes.clone()));
        assert_eq!(replies.len(), 1, "{changes}");
        let message = replies[0]["error"].as_str().expect("an error");
        assert!(message.contains(part), "{changes}: {message}");
        assert_eq!(replies[0]["field"], field, "{changes}: {message}");
        assert!(queue.is_empty(), "nothing is analyzed: {changes}");
    };
    check(json!({"id": null}), "id", "missing");
    check(json!({"id": 7}), "id", "expected a string, found 7");
    check(json!({"moves": null}), "moves", "'moves' is missing");
    check(json!({"moves": "C3"}), "moves", "expected a list");
    check(json!({"moves": [["B"]]}), "moves", "found [\"B\"] at number 0");
    check(json!({"moves": [["R", "C3"]]}), "moves", "expected pairs");
    check(json!({"moves": [["B", "F1"]]}), "moves", "on a 5x5 board");
    check(json!({"moves": [["B", "(5,0)"]]}), "moves", "not on a 5x5 board");
    let twice = json!([["B", "C3"], ["W", "C3"]]);
    check(json!({"moves": twice}), "moves", "Illegal move 1: W C3: ");
    check(json!({"rules": null}), "rules", "'rules' is missing");
    check(json!({"rules": 3}), "rules", "found 3");
    check(json!({"rules": "japanese"}), "rules", "japanese2008");
    check(json!({"rules": "new zealand"}), "rules", "situational superko");
    check(json!({"rules": {"ko": "SIMPLE"}}), "rules", "chinese_practice");
    check(
        json!({"rules": {"ko": ["x", "y"]}}),
        "rules",
        "POSITIONAL or SITUATIONAL",
    );
    check(json!({"whiteHandicapBonus": 2}), "rules", "0, N or N-1");
    check(json!({"komi": 7.25}), "komi", "half points");
    check(json!({"komi": 200}), "komi", "-150 to 150");
    check(json!({"boardXSize": null}), "boardXSize", "missing");
    check(json!({"boardYSize": 20}), "boardYSize", "from 1 to 19, found 20");
    check(
        json!({"initialStones": [["B", "pass"]]}),
        "initialStones",
        "found a pass",
    );
    let both = json!([["B", "A1"], ["W", "A1"]]);
    check(json!({"initialStones": both}), "initialStones", "A1 has stones of both");
    let captured = json!([["B", "A1"], ["W", "A2"], ["W", "B1"]]);
    check(json!({"initialStones": captured}), "initialStones", "no liberty");
    check(json!({"initialPlayer": "red"}), "initialPlayer", "expected B or W");
    check(json!({"analyzeTurns": [1]}), "analyzeTurns", "from 0 to 0");
    check(json!({"analyzeTurns": 0}), "analyzeTurns", "a list");
    check(json!({"analyzeTurns": []}), "analyzeTurns", "at least one");
    check(json!({"maxVisits": 0}), "maxVisits", "from 1");
    check(json!({"includePolicy": 1}), "includePolicy", "true or false");
    check(json!({"priority": 0.5}), "priority", "whole number");
    check(
        json!({"priorities": [1, 2]}),
        "priorities",
        "one priority for each of 1 turns, found 2",
    );
    check(
        json!({"reportDuringSearchEvery": 0}),
        "reportDuringSearchEvery",
        "0.001",
    );
    check(
        json!({"avoidMoves": [{}]}),
        "avoidMoves",
        "player, moves and untilDepth",
    );
    let off_board = json!([{"player": "B", "moves": ["Z9"], "untilDepth": 1}]);
    check(json!({"allowMoves": off_board}), "allowMoves", "on a 5x5 board");
    check(json!({"overrideSettings": []}), "overrideSettings", "an object");
    check(
        json!({"overrideSettings": {"maxTime": "soon"}}),
        "overrideSettings",
        "maxTime: expected a number",
    );
    check(json!({"action": "dance"}), "action", "unknown action 'dance'");
    check(json!({"action": "terminate"}), "terminateId", "missing");
}

#[test]
fn games_tied_by_a_long_cycle_are_rejected() {
    let size = Size::new(2, 2).expect("a size");
    let tied = (0..1000u64).find_map(|seed| {
        let mut position = Position::with_rules(size, Rules::chinese_practice());
        let mut state = seed;
        for _ in 0..40 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let legal = position.legal_points();
            let point = legal.nth((state >> 33) as usize % legal.len().max(1))?;
            position.play(Move::Play(point));
            if position.is_tied_by_cycle() {
                return Some(position.moves().to_vec());
            }
        }
        None
    });
    let plays = tied.expect("some random game has a cycle");
    let colors = ["B", "W"].into_iter().cycle();
    let moves: Vec<Value> = plays
        .iter()
        .zip(colors)
        .map(|(mv, color)| json!([color, mv.format(size)]))
        .collect();
    let asked = |turn: usize| {
        query(
            json!({"rules": "chinese_practice", "boardXSize": 2, "boardYSize": 2, "moves": moves,
            "analyzeTurns": [turn]}),
        )
    };
    let mut queue = queue();
    assert_eq!(send(&mut queue, &asked(plays.len() - 1)), Vec::<Value>::new());
    let refused = send(&mut queue, &asked(plays.len()));
    assert_eq!(refused[0]["field"], "analyzeTurns");
    assert!(
        refused[0]["error"].as_str().is_some_and(|text| text.contains("tied")),
        "{refused:?}"
    );
}

#[test]
fn lines_that_are_not_queries_are_rejected() {
    let mut queue = queue();
    for line in [&b"not json"[..], b"[1]", b"{\"id\":\"a\"", b"\xff\xfe", b"\"text\""] {
        let replies = queue.handle(line).replies;
        assert_eq!(replies.len(), 1, "{line:?}");
        let reply: Value = serde_json::from_str(&replies[0]).expect("JSON");
        assert!(
            reply["error"]
                .as_str()
                .is_some_and(|text| text.contains("a JSON object")),
            "{reply}"
        );
    }
    assert!(queue.handle(b" \t\r\n").replies.is_empty(), "an empty line is ignored");
    let deep = "[".repeat(100_000);
    assert_eq!(queue.handle(deep.as_bytes()).replies.len(), 1);
    assert!(queue.reject_long_line(99).contains("fewer than 99 bytes"));
}

#[test]
fn ignored_fields_cause_warnings() {
    let mut queue = queue();
    let replies = send(
        &mut queue,
        &query(json!({
            "maxVisit": 3, "includeOwnershipStdev": true, "includeNoResultValue": false, "rootPolicyTemperature": 1.5,
            "overrideSettings": {"wideRootNoise": 0.04, "maxTime": 2},
            "avoidMoves": [{"player": "B", "moves": ["A1"], "untilDepth": 5}],
        })),
    );
    let fields: Vec<_> = replies
        .iter()
        .map(|reply| reply["field"].as_str().expect("a field"))
        .collect();
    assert_eq!(
        fields,
        [
            "maxVisit",
            "avoidMoves",
            "includeOwnershipStdev",
            "rootPolicyTemperature",
            "overrideSettings"
        ]
    );
    assert!(
        replies
            .iter()
            .all(|reply| reply["warning"].is_string() && reply["id"] == "q")
    );
    let job = queue.job(queue.most_urgent(1)[0]).expect("it is analyzed anyway");
    assert_eq!(
        (job.query.settings.visits, job.query.settings.seconds),
        (100, Some(2.0))
    );
    let a1 = Move::parse(job.query.size, "A1").expect("a move");
    assert!(!job.query.restrictions.allow(Color::Black, a1) && job.query.restrictions.allow(Color::White, a1));
}

#[test]
fn rules_can_be_forced() {
    let mut queue = queue_with(Defaults {
        rules: Some(Rules::tromp_taylor()),
        ..Defaults::default()
    });
    for (rules, part) in [
        (json!("japanese"), "japanese2008"),
        (json!("aga"), "instead of aga"),
        (json!(null), "missing"),
    ] {
        let replies = send(&mut queue, &query(json!({"rules": rules})));
        let warning = replies[0]["warning"].as_str().expect("a warning");
        assert!(
            warning.contains("analyzed under the forced rules tromp_taylor") && warning.contains(part),
            "{warning}"
        );
    }
    assert!(send(&mut queue, &query(json!({}))).is_empty());
    let all = positions(&queue);
    assert_eq!(all.len(), 4);
    assert!(
        all.iter()
            .all(|(_, position)| position.rules() == Rules::tromp_taylor())
    );
}

#[test]
fn the_highest_priority_comes_first_then_the_oldest() {
    let mut queue = queue();
    let moves = json!([["B", "C3"], ["W", "B2"]]);
    let three = json!({"id": "a", "moves": moves, "analyzeTurns": [0, 1, 2], "priorities": [-1, 5, 0]});
    send(&mut queue, &query(three));
    send(&mut queue, &query(json!({"id": "b", "priority": 5})));
    send(
        &mut queue,
        &query(json!({"id": "c", "priority": -1_000_000_000_000_000i64})),
    );
    let order: Vec<String> = queue
        .most_urgent(9)
        .into_iter()
        .map(|number| {
            let job = queue.job(number).expect("a job");
            format!("{}{}", job.query.id(), job.turn)
        })
        .collect();
    assert_eq!(order, ["a1", "b0", "a2", "a0", "c0"]);
    assert_eq!(queue.most_urgent(2).len(), 2);
}

#[test]
fn answers_have_all_requested_fields_from_the_requested_viewpoint() {
    let fields = json!({"moves": [["B", "A1"]], "includeOwnership": true, "includeMovesOwnership": true,
        "includePolicy": true, "includePVVisits": true});
    let mut queue = take(fields.clone());
    let answer = answered(&mut queue, false);
    assert_eq!(answer["isDuringSearch"], true);
    assert_eq!((&answer["id"], &answer["turnNumber"]), (&json!("q"), &json!(1)));
    // White is to move; the answer is from Black's viewpoint.
    let root = &answer["rootInfo"];
    assert_eq!(root["currentPlayer"], "W");
    let [winrate, lead, raw] = ["winrate", "scoreLead", "rawWinrate"].map(|key| root[key].as_f64());
    assert_eq!(
        (winrate, lead, raw, root["visits"].as_u64()),
        (Some(0.25), Some(-2.5), Some(0.375), Some(10)),
        "the position itself counts as a visit"
    );
    assert_eq!(root["rawLead"], 0.0, "NaN is reported as 0");
    assert_eq!(root["thisHash"].as_str().map(str::len), Some(32));
    let infos = answer["moveInfos"].as_array().expect("a list");
    assert_eq!(infos.len(), 2, "moves without a visit are left out");
    let expected = json!({"move": "C3", "order": 0, "visits": 6, "winrate": 0.25, "lcb": 0.5, "scoreLead": -2.5,
        "scoreMean": -2.5, "scoreSelfplay": -2.5, "utility": -0.25, "prior": 0.125, "pv": ["C3", "pass", "A1"],
        "pvVisits": [6, 2, 1], "ownership": vec![-0.5; 25]});
    assert_eq!(infos[0], expected);
    assert_eq!(answer["ownership"], json!(vec![1.0; 25]));
    assert_eq!(
        answer["policy"],
        json!(vec![-1.0; 26]),
        "probabilities have no viewpoint"
    );
    assert_eq!(answered(&mut queue, true)["isDuringSearch"], false);
    assert!(queue.is_empty());
    for (viewpoint, seen) in [("WHITE", 0.75), ("sidetomove", 0.75), ("BLACK", 0.25)] {
        let mut changed = fields.clone();
        changed["overrideSettings"] = json!({"reportAnalysisWinratesAs": viewpoint, "analysisPVLen": 1});
        let answer = answered(&mut take(changed), true);
        assert_eq!(answer["rootInfo"]["winrate"], seen, "{viewpoint}");
        assert_eq!(answer["moveInfos"][0]["pv"], json!(["C3", "pass"]));
        assert_eq!(answer["moveInfos"][0]["pvVisits"], json!([6, 2]));
    }
    let mut white = queue_with(Defaults {
        settings: Settings {
            viewpoint: Viewpoint::White,
            ..Settings::default()
        },
        ..Defaults::default()
    });
    send(&mut white, &query(json!({})));
    let answer = answered(&mut white, true);
    assert_eq!(answer["rootInfo"]["winrate"], 0.25, "Black to move, White's viewpoint");
    for key in ["ownership", "policy"] {
        assert_eq!(answer[key], Value::Null, "only requested fields are reported");
        assert_eq!(answer["moveInfos"][0][key], Value::Null);
    }
}

#[test]
fn actions_are_answered_with_all_their_fields() {
    let mut queue = queue();
    let version = send(&mut queue, &json!({"id": "v", "action": "query_version", "mine": [1]}));
    assert_eq!(
        version,
        [json!({"id": "v", "action": "query_version", "mine": [1], "version": "1.2.3", "git_hash": "<omitted>"})]
    );
    let models = send(&mut queue, &json!({"id": "m", "action": "query_models"}));
    assert_eq!(models[0]["models"][0]["name"], "a-network");
    let clear = json!({"id": "c", "action": "clear_cache"});
    let handled = queue.handle(clear.to_string().as_bytes());
    assert!(handled.clear_cache);
    assert_eq!(handled.replies, [clear.to_string()]);
}

#[test]
fn terminated_jobs_come_first_and_end_without_results() {
    let mut queue = queue();
    let moves = json!([["B", "C3"], ["W", "B2"]]);
    send(
        &mut queue,
        &query(json!({"id": "a", "moves": moves, "analyzeTurns": [0, 1, 2]})),
    );
    send(&mut queue, &query(json!({"id": "b"})));
    let stopped = |queue: &QueryQueue| -> Vec<usize> {
        let numbers = queue.most_urgent(9).into_iter();
        let jobs = numbers.map(|number| queue.job(number).expect("a job"));
        jobs.filter(|job| job.stopped).map(|job| job.turn).collect()
    };
    let end = json!({"id": "t", "action": "terminate", "terminateId": "a", "turnNumbers": [1, 7]});
    assert_eq!(send(&mut queue, &end), [end]);
    assert_eq!(stopped(&queue), [1]);
    let first = queue.most_urgent(1)[0];
    let line = queue.end_without_results(first).expect("a line");
    assert_eq!(
        serde_json::from_str::<Value>(&line).expect("JSON"),
        json!({"id": "a", "isDuringSearch": false, "noResults": true, "turnNumber": 1})
    );
    assert_eq!(
        queue.end_without_results(first),
        None,
        "a job gets only one final answer"
    );
    send(
        &mut queue,
        &json!({"id": "t", "action": "terminate", "terminateId": "b"}),
    );
    assert_eq!(stopped(&queue), [0]);
    send(&mut queue, &json!({"id": "t", "action": "terminate_all"}));
    assert_eq!(stopped(&queue).len(), 3);
    let failed = queue.fail(queue.most_urgent(1)[0], "no network").expect("a line");
    assert!(
        failed.contains("\"error\":\"no network\"") && failed.contains("\"id\":\"a\""),
        "{failed}"
    );
}
