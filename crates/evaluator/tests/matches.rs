//! Whole matches between players without a network.

use std::ops::ControlFlow;

use tengen_encoding::{InputBatch, PLANE_OPPONENT_AREA, PLANE_OWN_AREA};
use tengen_evaluator::{
    AColor, Answer, AtLimit, Choice, Decision, FaultKind, GameScore, GateConfig, GateReason, GateVerdict, MatchConfig,
    MatchContext, MatchEvent, MatchResult, NoModels, Player, PlayerError, RandomPlayer, SearchPlayer, Side, SprtConfig,
    SprtState, Turn, build_player, continue_match, known_match, run_match,
};
use tengen_records::EndReason;
use tengen_rules::{Color, HandicapBonus, Komi, Move, Rules, Scoring, Size};
use tengen_search::{PredictError, Predictions, Predictor, ScriptedPredictor, SearchConfig};

fn player(text: &str) -> Box<dyn Player> {
    build_player(&text.parse().expect("a player"), &mut NoModels).expect("a player")
}

fn config(side: usize, games: usize) -> MatchConfig {
    MatchConfig {
        size: Size::square(side).expect("a size"),
        komi: Komi::from_half_points(0),
        games,
        openings: "random:2".parse().expect("openings"),
        parallel: 16,
        seed: 7,
        ..MatchConfig::default()
    }
}

fn context() -> MatchContext {
    MatchContext {
        match_id: "test".to_owned(),
        config_id: "c".to_owned(),
        start_time_ms: 1,
    }
}

fn play(config: &MatchConfig, a: &mut dyn Player, b: &mut dyn Player) -> MatchResult {
    run_match(config, a, b, &context(), &mut |_| ControlFlow::Continue(())).expect("a result")
}

fn check_sums(result: &MatchResult) {
    assert_eq!(result.a_points + result.b_points, result.games as f64);
    assert_eq!(result.game_list.len(), result.games + result.unfinished + result.void);
    assert_eq!(result.records.len(), result.game_list.len());
    for (number, (record, line)) in result.records.iter().zip(&result.game_list).enumerate() {
        record.validate().expect("a valid record");
        assert_eq!(line.game, number);
        assert_eq!(record.game_id, format!("test-{number:05}"));
    }
    let estimate = &result.estimate;
    assert!(estimate.elo.is_finite() && estimate.los.is_finite());
    assert!(
        estimate.elo_low.is_none_or(|low| low < estimate.elo)
            && estimate.elo_high.is_none_or(|high| high > estimate.elo)
    );
}

/// Predicts that the current areas are final, which is enough for a search to beat the random player.
struct AreaPredictor;

impl Predictor for AreaPredictor {
    fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
        out.reset(inputs.len(), inputs.canvas());
        for (row, planes) in inputs.planes().outer_iter().enumerate() {
            let count = |plane: usize| -> u32 { planes.row(plane).iter().map(|word| word.count_ones()).sum() };
            let margin = count(PLANE_OWN_AREA) as f32 - count(PLANE_OPPONENT_AREA) as f32 + inputs.komi()[row];
            out.margin[row] = margin;
            out.win[row] = 1.0 / (1.0 + (-margin / 4.0).exp());
            out.loss[row] = 1.0 - out.win[row];
        }
        Ok(())
    }

    fn name(&self) -> String {
        "area".to_owned()
    }
}

fn area(visits: u32) -> SearchPlayer {
    SearchPlayer::new(
        "area".to_owned(),
        Box::new(AreaPredictor),
        SearchConfig {
            candidates: 16,
            ..SearchConfig::for_play(visits)
        },
    )
}

#[test]
fn search_beats_the_random_player() {
    let result = play(&config(5, 40), &mut area(48), &mut *player("random"));
    check_sums(&result);
    assert!(result.a_points >= 28.0, "{:?}", result.a_total);
    assert!(result.estimate.elo_low.is_some_and(|low| low > 50.0) && result.estimate.los > 0.99);
    assert_eq!(result.pentanomial.pairs(), 20);
    assert!(result.a_cost.evaluations > 0 && result.a_cost.moves > 0 && result.b_cost.evaluations == 0);
    assert!(result.mean_a_margin.expect("finished games") > 5.0);
}

#[test]
fn random_players_are_equal_and_finish() {
    let result = play(
        &config(7, 200),
        &mut *player("random,name=one"),
        &mut *player("random,name=two"),
    );
    check_sums(&result);
    assert_eq!(
        (result.a.as_str(), result.b.as_str(), result.unfinished),
        ("one", "two", 0)
    );
    assert!(
        result.estimate.elo_low.is_some_and(|low| low < 0.0) && result.estimate.elo_high.is_some_and(|high| high > 0.0),
        "{:?}",
        result.estimate
    );
}

#[test]
fn the_same_seed_gives_the_same_match_for_any_parallelism() {
    let settings = config(4, 12);
    let run = |parallel, seed| {
        let settings = MatchConfig {
            parallel,
            seed,
            ..settings.clone()
        };
        play(&settings, &mut *player("uniform,visits=12"), &mut *player("random")).records
    };
    assert_eq!(run(16, 7), run(1, 7));
    let (first, other) = (run(16, 7), run(16, 8));
    let moves = |records: &[tengen_records::GameRecord]| -> Vec<Vec<Move>> {
        records
            .iter()
            .map(|record| record.plies.iter().map(|ply| ply.mv).collect())
            .collect()
    };
    assert_ne!(moves(&first), moves(&other));
}

#[test]
fn pairs_share_openings_with_colors_swapped() {
    let result = play(
        &config(5, 20),
        &mut *player("random,name=one"),
        &mut *player("random,name=two"),
    );
    for pair in result.records.chunks(2) {
        let opening = |game: usize| pair[game].plies.iter().take(2).map(|ply| ply.mv).collect::<Vec<_>>();
        assert_eq!(opening(0), opening(1));
        assert_eq!(
            (pair[0].black_model.as_str(), pair[1].black_model.as_str()),
            ("one", "two")
        );
        assert_eq!(pair[0].opening_plies, 2);
    }
}

#[test]
fn colors_can_be_fixed() {
    let settings = MatchConfig {
        a_color: AColor::White,
        ..config(5, 7)
    };
    let result = play(
        &settings,
        &mut *player("random,name=one"),
        &mut *player("random,name=two"),
    );
    check_sums(&result);
    assert!(result.records.iter().all(|record| record.white_model == "one"));
    assert_eq!((result.pentanomial.pairs(), result.a_black.wins), (0, 0));
}

/// Plays the middle point of a 3x3 board if `plays` is set and the point is free; otherwise passes.
struct Middle {
    plays: bool,
}

impl Player for Middle {
    fn name(&self) -> String {
        "middle".to_owned()
    }

    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError> {
        let choice = |turn: &Turn<'_>| {
            let middle = Move::parse(turn.position.size(), "B2").expect("a move");
            let mv = if self.plays && turn.position.is_legal(middle) {
                middle
            } else {
                Move::Pass
            };
            Answer::Play(Choice { mv, search: None })
        };
        Ok(turns.iter().map(choice).collect())
    }
}

#[test]
fn margins_and_full_boards_are_counted() {
    let settings = MatchConfig {
        openings: "none".parse().expect("openings"),
        komi: Komi::from_half_points(3),
        ..config(3, 4)
    };
    let result = play(&settings, &mut Middle { plays: false }, &mut Middle { plays: true });
    check_sums(&result);
    // B owns all nine points in every game, so Black's margin is 9 − 1.5 when B is Black and −9 − 1.5 when B is White.
    assert_eq!(
        (result.a_full_board_wins, result.b_full_board_wins, result.b_points),
        (0, 4, 4.0)
    );
    assert_eq!(
        (result.mean_a_margin, result.mean_black_margin),
        (Some(-9.0), Some(-1.5))
    );
    // The second pair repeats the first.
    assert_eq!(result.pentanomial.counts, [1, 0, 0, 0, 0]);
}

#[test]
fn games_at_the_ply_limit_have_no_result() {
    let settings = MatchConfig {
        max_plies: 5,
        ..config(5, 6)
    };
    let result = play(&settings, &mut *player("random"), &mut *player("random"));
    check_sums(&result);
    assert_eq!((result.games, result.unfinished, result.a_points), (0, 6, 0.0));
    assert!(
        result
            .records
            .iter()
            .all(|record| record.end_reason == EndReason::PlyLimit && record.plies.len() == 5)
    );
}

/// Always plays the top left corner, even if it is occupied, and resigns from a given ply on.
struct Corner {
    resign_at: usize,
}

impl Player for Corner {
    fn name(&self) -> String {
        "corner".to_owned()
    }

    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError> {
        let corner = |turn: &Turn<'_>| match turn.position.ply() {
            ply if ply >= self.resign_at => Answer::Resign,
            _ => Answer::Play(Choice {
                mv: Move::parse(turn.position.size(), "A5").expect("a move"),
                search: None,
            }),
        };
        Ok(turns.iter().map(corner).collect())
    }
}

#[test]
fn illegal_moves_lose_and_resignations_count() {
    let settings = MatchConfig {
        openings: "none".parse().expect("openings"),
        ..config(5, 4)
    };
    let result = play(&settings, &mut Corner { resign_at: usize::MAX }, &mut *player("random"));
    check_sums(&result);
    assert_eq!(
        (result.a_points, result.faults, result.a_faults, result.games),
        (0.0, 4, 4, 4)
    );
    let report = &result.fault_reports[0];
    assert_eq!((report.player, report.fault.kind), (Side::A, FaultKind::IllegalMove));
    assert!(
        report.fault.reason.contains("A5") && report.fault.reason.contains("occupied"),
        "{report:?}"
    );
    assert!(
        result
            .records
            .iter()
            .all(|record| record.end_reason == EndReason::Forfeit)
    );

    let result = play(&settings, &mut Corner { resign_at: 0 }, &mut *player("random"));
    assert_eq!((result.b_points, result.resigned, result.faults), (4.0, 4, 0));
}

#[test]
fn an_observer_sees_everything_and_can_stop_the_match() {
    let (mut finished, mut rounds) = (Vec::new(), 0);
    let mut observer = |event: &MatchEvent<'_>| {
        match event {
            MatchEvent::GameFinished { game } => finished.push(game.game),
            MatchEvent::Round { playing, .. } => {
                assert!(*playing <= 16);
                rounds += 1;
            }
            MatchEvent::Looked { .. } => {}
        }
        if rounds >= 30 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let settings = config(5, 10_000);
    let (mut a, mut b) = (player("random"), player("random"));
    let result = run_match(&settings, &mut *a, &mut *b, &context(), &mut observer).expect("a result");
    assert!(result.stopped);
    check_finished_are_listed(&result, finished);
}

fn check_finished_are_listed(result: &MatchResult, mut finished: Vec<usize>) {
    finished.sort();
    assert!(!finished.is_empty());
    let listed: Vec<usize> = result.game_list.iter().map(|game| game.game).collect();
    assert_eq!(listed, finished);
}

#[test]
fn a_sequential_test_stops_early() {
    let settings = MatchConfig {
        sprt: Some(SprtConfig::default()),
        pairs_per_look: 5,
        ..config(5, 2000)
    };
    let result = play(&settings, &mut area(48), &mut *player("random"));
    check_sums(&result);
    let sprt = result.sprt.expect("a test");
    assert_eq!(sprt.state, SprtState::Accepted);
    assert!(
        result.games < 200 && result.games.is_multiple_of(10) && !result.stopped,
        "{} games",
        result.games
    );
}

fn scripted(name: &str, visits: u32) -> SearchPlayer {
    let config = SearchConfig::for_play(visits);
    SearchPlayer::new(name.to_owned(), Box::new(ScriptedPredictor::new(3)), config)
}

fn gate(config: &GateConfig, candidate: &mut dyn Player, champion: &mut dyn Player) -> GateVerdict {
    let settings = config.match_config(
        Size::square(4).expect("a size"),
        Rules::tromp_taylor(),
        Komi::from_half_points(0),
        3,
    );
    let names = [candidate.name(), champion.name()];
    let result = play(&settings, candidate, champion);
    GateVerdict::of(config, &names[0], &names[1], Some(result))
}

#[test]
fn the_gate_promotes_the_stronger_and_rejects_the_weaker() {
    let config = GateConfig::default();
    let verdict = gate(&config, &mut area(48), &mut *player("random"));
    assert_eq!(
        (verdict.decision, verdict.reason),
        (Decision::Promote, GateReason::TestAccepted)
    );
    assert!(verdict.promotes());
    let verdict = gate(&config, &mut *player("random"), &mut area(48));
    assert_eq!(
        (verdict.decision, verdict.reason),
        (Decision::Reject, GateReason::TestRejected)
    );
    let text = serde_json::to_value(&verdict).expect("JSON");
    let again: GateVerdict = serde_json::from_value(text.clone()).expect("a verdict");
    assert_eq!(serde_json::to_value(&again).expect("JSON"), text, "it reads back whole");
    assert_eq!(text["decision"], "reject");
    assert_eq!(text["candidate"], "random");
    assert!(text["result"]["elo_high"].as_f64().expect("a number") < 0.0);
    assert!(text["result"]["sprt"]["llr"].as_f64().expect("a number") < -2.9);
    assert_eq!(text["result"]["config"]["size"], "4x4");
    assert!(text["result"]["records"].is_null(), "games go into their own files");
}

#[test]
fn at_limit_decides_between_equal_players() {
    let base = GateConfig {
        games: 20,
        ..GateConfig::default()
    };
    for (at_limit, decision) in [
        (AtLimit::PromoteIfHalf, Decision::Promote),
        (AtLimit::PromoteIfAhead, Decision::Reject),
        (AtLimit::Reject, Decision::Reject),
    ] {
        let config = GateConfig {
            at_limit,
            ..base.clone()
        };
        let verdict = gate(&config, &mut scripted("same", 8), &mut scripted("same", 8));
        // The same player on both sides of every opening scores exactly half the points.
        assert_eq!(verdict.result.as_ref().map(MatchResult::a_score), Some(0.5));
        assert_eq!(
            (verdict.decision, verdict.reason),
            (decision, GateReason::GameLimit),
            "{at_limit:?}"
        );
    }
}

#[test]
fn a_gate_can_always_promote_or_be_stopped() {
    let verdict = GateVerdict::of(&GateConfig::default(), "new", "old", None);
    assert_eq!(
        (verdict.decision, verdict.reason),
        (Decision::Promote, GateReason::AlwaysPromote)
    );
    assert!(verdict.result.is_none());

    let config = GateConfig::default();
    let settings = config.match_config(
        Size::square(5).expect("a size"),
        Rules::tromp_taylor(),
        Komi::from_half_points(0),
        3,
    );
    let (mut a, mut b) = (RandomPlayer::default(), RandomPlayer::default());
    let stop = &mut |_: &MatchEvent<'_>| ControlFlow::Break(());
    let result = run_match(&settings, &mut a, &mut b, &context(), stop).expect("a result");
    let verdict = GateVerdict::of(&config, "new", "old", Some(result));
    assert_eq!(
        (verdict.decision, verdict.reason),
        (Decision::Undecided, GateReason::Stopped)
    );
    assert!(GateConfig { games: 1, ..config }.validate().is_err());
}

#[test]
fn gate_settings_reject_unknown_keys() {
    assert!(serde_json::from_str::<GateConfig>(r#"{"games": 40, "at_limit": "reject", "sprt": {"elo1": 30}}"#).is_ok());
    assert!(serde_json::from_str::<GateConfig>(r#"{"gamse": 40}"#).is_err());
    assert!(serde_json::from_str::<GateConfig>(r#"{"sprt": {"elo2": 30}}"#).is_err());
}

#[test]
fn game_list_names_player_a_color() {
    let result = play(&config(3, 2), &mut *player("random"), &mut *player("random"));
    assert_eq!(
        [result.game_list[0].a_color, result.game_list[1].a_color],
        [Color::Black, Color::White]
    );
    assert_eq!(result.records[0].mover(0), Color::Black);
}

#[test]
fn the_gate_rejects_candidates_that_have_forgotten() {
    let config = GateConfig::default();
    let settings = config.match_config(
        Size::square(4).expect("a size"),
        Rules::tromp_taylor(),
        Komi::from_half_points(0),
        3,
    );
    // The candidate beats a champion that only passes, but not an older one that searches.
    let verdict = || {
        let mut verdict = gate(&config, &mut *player("random"), &mut Middle { plays: false });
        assert!(verdict.promotes());
        verdict.older.clear();
        verdict
    };
    let meet = |older: &mut dyn Player| {
        let settings = config.older_config(&settings, 0);
        assert_eq!((settings.games, settings.sprt), (16, None));
        play(&settings, &mut *player("random"), older)
    };
    let mut rejected = verdict();
    rejected.add_older("older".to_owned(), meet(&mut area(48)));
    assert_eq!(
        (rejected.decision, rejected.reason, rejected.older[0].weaker),
        (Decision::Reject, GateReason::Forgot, true)
    );
    let text = serde_json::to_value(&rejected).expect("JSON");
    assert_eq!(
        (&text["reason"], &text["older"][0]["champion"]),
        (&"forgot".into(), &"older".into())
    );
    let mut promoted = verdict();
    promoted.add_older("equal".to_owned(), meet(&mut *player("random,name=equal")));
    assert!(promoted.promotes() && promoted.older.len() == 1);
}

#[test]
fn matches_are_played_under_every_rule_set() {
    for name in Rules::names() {
        let rules: Rules = name.parse().expect("a named set");
        let settings = MatchConfig {
            rules,
            komi: Komi::from_half_points(1),
            ..config(4, 12)
        };
        let again: MatchConfig =
            serde_json::from_str(&serde_json::to_string(&settings).expect("JSON")).expect("settings");
        assert_eq!(again.rules, rules);
        let result = play(&settings, &mut *player("uniform,visits=24"), &mut *player("random"));
        check_sums(&result);
        let mut ends = Vec::new();
        for (record, game) in result.records.iter().zip(&result.game_list) {
            assert_eq!(record.rules, name);
            assert_eq!(game.a_points.is_none(), record.outcome().is_none());
            ends.push(record.end_reason);
        }
        let scored = ends.iter().filter(|&&end| end == EndReason::TwoPasses).count();
        let undecided = ends.iter().filter(|&&end| end == EndReason::UndecidedLife).count();
        assert!(scored > 2, "{name}: {ends:?}");
        assert!(
            undecided == 0 || rules.scoring == Scoring::Territory,
            "{name}: {ends:?}"
        );
    }
}

#[test]
fn a_match_continued_from_any_of_its_games_ends_the_same() {
    let sequential = MatchConfig {
        sprt: Some(SprtConfig::default()),
        pairs_per_look: 4,
        ..config(4, 60)
    };
    let clear = MatchConfig {
        until_clear: true,
        pairs_per_look: 4,
        ..config(4, 400)
    };
    for settings in [config(4, 20), sequential, clear] {
        let mut games = Vec::new();
        let mut resume = |earlier: Vec<GameScore>| {
            let mut observer = |event: &MatchEvent<'_>| {
                if let MatchEvent::GameFinished { game } = event {
                    games.push(GameScore::of(game));
                }
                ControlFlow::Continue(())
            };
            let (mut a, mut b) = (area(24), player("random"));
            let result = continue_match(&settings, earlier, &mut a, &mut *b, &context(), &mut observer);
            (result.expect("a result"), std::mem::take(&mut games))
        };
        let (whole, all) = resume(Vec::new());
        assert!(whole.records.is_empty() && all.len() == whole.games);
        let numbers = |result: &MatchResult| {
            let mut value = serde_json::to_value(result).expect("JSON");
            value["a_cost"].take();
            value["b_cost"].take();
            value
        };
        for every in [2, 3, 7] {
            let mut some: Vec<GameScore> = all.iter().skip(1).step_by(every).cloned().collect();
            some.extend_from_within(..1);
            let known = some.len() - 1;
            let (continued, played) = resume(some);
            assert_eq!(numbers(&continued), numbers(&whole));
            assert_eq!(played.len(), all.len() - known, "known games are not played again");
        }
        let names = || ["area".to_owned(), "random".to_owned()];
        assert!(known_match(&settings, all[1..].to_vec(), names()).is_none());
        let mut known = known_match(&settings, all, names()).expect("all games are known");
        (known.a_cost, known.b_cost) = (whole.a_cost, whole.b_cost);
        assert_eq!(numbers(&known), numbers(&whole));
    }
}

#[test]
fn repeated_games_are_no_new_evidence() {
    let settings = MatchConfig {
        openings: "none".parse().expect("openings"),
        until_clear: true,
        ..config(4, 200)
    };
    let result = play(&settings, &mut area(24), &mut area(2));
    check_sums(&result);
    // One game with each color, a hundred times: 200 points of 200 would otherwise leave no doubt.
    assert_eq!((result.games, result.distinct_games), (200, Some(2)));
    assert_eq!(result.pentanomial.pairs(), 1);
    assert_eq!(result.any_time.stronger(), None);
    let wide = result.estimate.elo_low.is_none_or(|low| low < 100.0);
    assert!(wide && result.estimate.los < 0.999, "{:?}", result.estimate);
    let different = play(&config(4, 20), &mut area(24), &mut *player("random"));
    assert!(different.distinct_games > Some(10), "{:?}", different.distinct_games);
    assert_eq!(different.evidence(), different.a_total);
}

/// On 3x3, the first ply is at a corner, a side, or the center, or a pass: all others are mirror images.
#[test]
fn mirror_images_of_games_are_copies() {
    let settings = MatchConfig {
        openings: "random:1".parse().expect("openings"),
        ..config(3, 100)
    };
    let result = play(&settings, &mut scripted("a", 16), &mut scripted("b", 4));
    let pairs = result.pentanomial.pairs();
    assert!(
        result.distinct_games <= Some(8) && pairs <= 4,
        "{pairs} different pairs"
    );
    assert_eq!(result.evidence().games(), 2 * pairs);
}

#[test]
fn copies_count_once_without_pairs_too() {
    let settings = MatchConfig {
        openings: "none".parse().expect("openings"),
        a_color: AColor::Black,
        ..config(4, 100)
    };
    let result = play(&settings, &mut area(24), &mut area(2));
    assert_eq!((result.games, result.evidence().games()), (100, 1));
    assert_eq!(result.any_time.stronger(), None);
    let wide = result.estimate.elo_low.is_none_or(|low| low < 100.0);
    assert!(wide && result.estimate.los < 0.999, "{:?}", result.estimate);
}

#[test]
fn parallel_games_do_not_change_the_end_of_a_match() {
    let games = [2, 40].map(|parallel| {
        let settings = MatchConfig {
            sprt: Some(SprtConfig::default()),
            parallel,
            ..config(3, 400)
        };
        let result = play(&settings, &mut area(8), &mut *player("random"));
        (result.games, result.a_points.to_string())
    });
    assert_eq!(games[0], games[1]);
}

#[test]
fn rules_that_machines_cannot_play_are_rejected() {
    let settings = MatchConfig {
        rules: "aga,button=yes".parse().expect("rules"),
        ..config(4, 2)
    };
    let reason = settings.validate().expect_err("the button");
    assert!(reason.contains("half a point"), "{reason}");
    // A bonus for handicap stones changes nothing where there is no handicap.
    let bonus = Rules {
        handicap_bonus: HandicapBonus::Stones,
        ..Rules::tromp_taylor()
    };
    MatchConfig {
        rules: bonus,
        ..settings
    }
    .validate()
    .expect("playable");
}

#[test]
fn a_match_can_end_as_soon_as_it_is_clear() {
    let settings = MatchConfig {
        until_clear: true,
        pairs_per_look: 5,
        ..config(5, 2000)
    };
    let result = play(&settings, &mut area(48), &mut *player("random"));
    assert!(result.games < 400 && !result.stopped, "{} games", result.games);
    assert_eq!(result.any_time.stronger(), Some(true));
    assert!(
        result
            .any_time
            .elo_low
            .is_some_and(|low| low > 0.0 && low <= result.estimate.elo)
    );
}
