//! The engine side, line by line.

use proptest::prelude::*;
use tengen_gtp::{
    AnalyzeRequest, AnalyzedMove, Engine, EngineError, Genmove, LoadedGame, Next, Pondered, PositionAnalysis, Session,
    Turn, Watcher,
};
use tengen_rules::{Color, Komi, Move, Size};

/// Plays the first legal point in reading order, passes after a pass unless it has to clean up, resigns never.
#[derive(Default)]
struct FirstPoint {
    budgets: Vec<Option<f64>>,
    strength: u32,
    forgets: usize,
    fails: bool,
}

impl Engine for FirstPoint {
    fn name(&self) -> String {
        "First".to_owned()
    }

    fn version(&self) -> String {
        "1\n\n2".to_owned()
    }

    fn supports(&self, size: Size) -> bool {
        size.area() > 1
    }

    fn genmove(&mut self, turn: &Turn<'_>, watcher: Option<Watcher<'_>>) -> Result<Genmove, EngineError> {
        if self.fails {
            return Err(EngineError::Failed("no network".to_owned()));
        }
        self.budgets.push(turn.clock.budget(turn.color(), 10));
        if let Some(watcher) = watcher {
            (watcher.report)(&analysis(turn));
        }
        let point = turn.position.legal_points().iter().next();
        let pass = turn.position.last_move() == Some(Move::Pass);
        let mv = point.filter(|_| !pass || turn.cleanup).map_or(Move::Pass, Move::Play);
        Ok(Genmove {
            mv: Some(mv),
            analysis: Some(analysis(turn)),
            seconds: 20.0,
        })
    }

    fn can_analyze(&self) -> bool {
        true
    }

    fn ponder(&mut self, _turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<Pondered, EngineError> {
        Ok(Pondered::More)
    }

    fn analysis(&mut self, turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        Ok(analysis(turn))
    }

    /// Expects Black to own everything.
    fn ownership(&mut self, turn: &Turn<'_>) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(Some(vec![0.9; turn.position.size().area()]))
    }

    fn forget(&mut self) {
        self.forgets += 1;
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("strength", self.strength.to_string())]
    }

    fn set_parameter(&mut self, _name: &str, value: &str) -> Result<(), EngineError> {
        self.strength = value
            .parse()
            .map_err(|_| EngineError::Failed("strength takes a number".to_owned()))?;
        Ok(())
    }

    fn load_game(&mut self, path: &str, move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        if path != "game.sgf" {
            return Err(EngineError::Failed("no such file".to_owned()));
        }
        let size = Size::square(5).expect("a size");
        let mv = |text| Move::parse(size, text).expect("a move");
        let mut turns = vec![(Color::Black, mv("C3")), (Color::White, mv("D3"))];
        turns.truncate(move_number.map_or(usize::MAX, |number| number.saturating_sub(1)));
        Ok(LoadedGame {
            size,
            komi: None,
            rules: None,
            turns,
        })
    }
}

fn analysis(turn: &Turn<'_>) -> PositionAnalysis {
    let mv = AnalyzedMove {
        mv: Move::Pass,
        visits: 1,
        winrate: 0.5,
        lcb: 0.25,
        score_lead: 0.0,
        utility: 0.0,
        prior: 1.0,
        pv: Vec::new(),
        pv_visits: Vec::new(),
        ownership: None,
    };
    PositionAnalysis {
        moves: vec![mv],
        visits: 1,
        winrate: 0.5,
        score_lead: 0.0,
        ownership: Some(vec![0.0; turn.position.size().area()]),
        ..PositionAnalysis::default()
    }
}

fn session() -> Session<FirstPoint> {
    Session::new(
        FirstPoint::default(),
        Size::square(9).expect("a size"),
        Komi::from_half_points(15),
    )
}

/// Runs a conversation written as lines `> command` and the reply's lines, without the empty line that ends each.
fn check(conversation: &str) {
    let mut session = session();
    let mut lines = conversation
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .peekable();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix('>').expect("a command").trim();
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('>')) {
            expected.push(line);
        }
        let reply = session.handle(command);
        assert!(reply.text.ends_with("\n\n"), "{command}");
        let got: Vec<&str> = reply.text.trim_end().lines().map(str::trim_end).collect();
        assert_eq!(got, expected, "{command}");
    }
}

#[test]
fn administration() {
    check(
        "> protocol_version
         = 2
         > 7 name
         =7 First
         > version
         = 1
         2
         > 12 known_command genmove
         =12 true
         > known_command frobnicate
         = false
         > known_command
         = false
         > frobnicate 1 2
         ? unknown command
         > 9
         ?9 missing command",
    );
}

#[test]
fn every_listed_command_is_known() {
    let mut session = session();
    let list = session.handle("list_commands").text;
    let names: Vec<&str> = list.trim_start_matches('=').split_whitespace().collect();
    assert!(names.len() > 30);
    for name in names {
        let reply = session.handle(name);
        assert!(!reply.text.contains("unknown command"), "{name}");
        assert!(
            session.handle(&format!("known_command {name}")).text.contains("true"),
            "{name}"
        );
    }
}

#[test]
fn setup_and_its_errors() {
    check(
        "> boardsize 5
         =
         > boardsize
         ? syntax error: boardsize is missing
         > boardsize x
         ? boardsize not a number
         > boardsize 20
         ? unacceptable size
         > boardsize 1
         ? unacceptable size
         > rectangular_boardsize 7 3
         =
         > query_boardsize
         = 7 3
         > play b g3
         =
         > play w g4
         ? invalid color or coordinate
         > komi 7.25
         ? komi must be a multiple of 0.5 from -1000 to 1000
         > komi 1000.5
         ? komi must be a multiple of 0.5 from -1000 to 1000
         > komi -3.5
         =
         > get_komi
         = -3.5
         > kata-set-rules Tromp-Taylor
         =
         > kata-set-rules japanese
         ? the rules 'japanese' are not supported: its official text decides life by judgement, and KataGo's version \
         plays clean-up phases; japanese2008 is the computable variant
         > kata-set-rules aga
         =
         > kata-get-rules
         = {\"tengen\":\"aga\"}
         > kata-set-rules tromp-taylor
         =
         > time_settings 300 30 5
         =
         > time_left b 120 0
         =
         > time_left b x 0
         ? time not a number
         > clear_board
         =
         > query_boardsize
         = 7 3",
    );
}

#[test]
fn games_are_played_and_scored_under_every_rule_set() {
    for name in tengen_rules::Rules::names() {
        let mut session = session();
        let mut answers = String::new();
        for line in [
            "boardsize 5",
            &format!("kata-set-rules {name}"),
            "komi 0.5",
            "play w c3",
            "play b pass",
            "play w b3",
            "play b c4",
            "genmove w",
            "play b pass",
            "play w pass",
            "final_score",
        ] {
            answers += &session.handle(line).text;
        }
        assert!(!answers.contains("? ") || name == "japanese2008", "{name}: {answers}");
        assert_eq!(session.game().rules().name(), name);
        assert!(session.game().is_over());
    }
}

#[test]
fn life_is_judged_where_territory_is_counted() {
    let mut session = session();
    let mut ask = |line: &str| session.handle(line).text.trim().to_owned();
    ask("rectangular_boardsize 6 2");
    ask("kata-set-rules japanese2008");
    for line in [
        "b b2", "w e2", "b d2", "w e1", "b a1", "w f1", "b b1", "w pass", "b c1", "w pass", "b d1", "w pass", "b pass",
    ] {
        assert_eq!(ask(&format!("play {line}")), "=", "{line}");
    }
    let status = ["alive", "dead", "seki"].map(|status| ask(&format!("final_status_list {status}")));
    assert_eq!(status, ["= B2 D2 A1 B1 C1 D1", "= E2 E1 F1", "="]);
}

#[test]
fn rules_tell_what_is_legal_and_what_counts() {
    // A suicide of two stones, and a bonus for handicap stones.
    check(
        "> boardsize 3
         =
         > kata-set-rules aga
         =
         > play b a2
         =
         > play b b1
         =
         > play w a1
         ? illegal move (suicide is forbidden)
         > kata-set-rules tromp-taylor
         =
         > play w a1
         ? illegal move (the ko rule forbids it: it repeats the position after ply 3)
         > boardsize 5
         =
         > kata-set-rules aga
         =
         > komi 0
         =
         > set_free_handicap b2 d4
         =
         > final_score
         = B+24
         > play w c3
         =
         > kata-set-rules aga,handicap_bonus=n
         =
         > final_score
         = W+1
         > clear_board
         =
         > play w c3
         =
         > final_score
         = W+25",
    );
    // Territory is counted once life is clear.
    check(
        "> rectangular_boardsize 4 1
         =
         > komi 0
         =
         > kata-set-rules japanese2008
         =
         > play b b1
         =
         > final_score
         = 0
         > play b c1
         =
         > final_score
         = B+2
         > boardsize 9
         =
         > play b e5
         =
         > final_score
         ? cannot score: the search cannot tell yet which chains are independently alive; play on",
    );
}

#[test]
fn rules_round_trip() {
    let mut session = session();
    let rules = session.handle("kata-get-rules").text;
    let reply = session.handle(&format!("kata-set-rules {}", rules.trim_start_matches('=').trim()));
    assert_eq!(reply.text, "= \n\n");
}

#[test]
fn handicap() {
    check(
        "> boardsize 9
         =
         > fixed_handicap 3
         = C3 G7 C7
         > fixed_handicap 3
         ? board not empty
         > clear_board
         =
         > fixed_handicap 1
         ? invalid number of stones
         > place_free_handicap 2
         = C3 G7
         > clear_board
         =
         > set_free_handicap A1 A1
         ? bad vertex list
         > set_free_handicap A1 pass
         ? bad vertex list
         > set_free_handicap A1 B2
         =
         > play w A1
         ? illegal move (the point is occupied)
         > genmove w
         = A9",
    );
}

#[test]
fn playing_superko_and_the_end() {
    // A ko on 5x4, then the forbidden retake.
    check(
        "> rectangular_boardsize 5 4
         =
         > play b B4
         =
         > play w C4
         =
         > play b A3
         =
         > play w D3
         =
         > play b B2
         =
         > play w C2
         =
         > play b C3
         =
         > play w B3
         =
         > play b C3
         ? illegal move (the ko rule forbids it: it repeats the position after ply 7)
         > undo
         =
         > play w pass
         =
         > play b pass
         =
         > komi 0.5
         =
         > reg_genmove b
         = pass
         > genmove w
         = D4",
    );
}

#[test]
fn scoring() {
    check(
        "> boardsize 5
         =
         > komi 0
         =
         > final_score
         = 0
         > play b C3
         =
         > final_score
         = B+25
         > komi 24.5
         =
         > final_score
         = B+0.5
         > komi 30
         =
         > final_score
         = W+5
         > play w A1
         =
         > play b C4
         =
         > final_status_list alive
         = C4 C3
         > final_status_list dead
         = A1
         > final_status_list seki
         =
         > play w pass
         =
         > play b pass
         =
         > final_status_list dead
         =
         > final_status_list alive
         = C4 C3
         A1
         > gg-undo 2
         =
         > final_status_list what
         ? syntax error: alive, dead or seki expected
         > undo
         =
         > gg-undo 3
         ? cannot undo
         > gg-undo 2
         =
         > undo
         ? cannot undo
         > final_score
         = W+30",
    );
}

#[test]
fn clean_up_and_parameters() {
    check(
        "> boardsize 5
         =
         > play b C3
         =
         > play w pass
         =
         > kgs-genmove_cleanup b
         = A5
         > kata-list-params
         = strength
         > kata-set-param strength 12
         =
         > kata-get-param strength
         = 12
         > kata-set-param strength much
         ? strength takes a number
         > kata-get-param weakness
         ? unknown parameter weakness; there are: strength
         > kata-set-param strength
         ? syntax error: the value is missing
         > clear_cache
         =
         > stop
         =",
    );
}

#[test]
fn clocks_become_budgets() {
    let mut session = session();
    let budget_after = |session: &mut Session<FirstPoint>, lines: &[&str]| {
        for line in lines {
            assert!(session.handle(line).text.starts_with('='), "{line}");
        }
        let _ = session.handle("genmove b");
        session.engine().budgets.pop().expect("a move was asked for")
    };
    let near = |found: Option<f64>, seconds: f64| {
        let expected = seconds * 0.9 - 0.05;
        assert!(
            found.is_some_and(|found| (found - expected).abs() < 1e-9),
            "{found:?} for {seconds}"
        );
    };
    assert_eq!(budget_after(&mut session, &[]), None);
    near(budget_after(&mut session, &["time_settings 100 0 0"]), 10.0);
    // The engine says that it took 20 seconds.
    near(budget_after(&mut session, &[]), 8.0);
    near(budget_after(&mut session, &["time_left b 50.5 0"]), 5.05);
    near(budget_after(&mut session, &["time_left b 30 3"]), 10.0);
    assert_eq!(budget_after(&mut session, &["time_settings 0 1 0"]), None);
    near(budget_after(&mut session, &["kgs-time_settings byoyomi 0 10 5"]), 10.0);
    near(budget_after(&mut session, &["kata-time_settings fischer 100 5"]), 14.5);
    near(budget_after(&mut session, &["kgs-time_settings canadian 0 60 20"]), 3.0);
    near(
        budget_after(&mut session, &["kgs-time_settings absolute 50", "clear_board"]),
        5.0,
    );
    assert_eq!(budget_after(&mut session, &["kgs-time_settings none"]), None);
    check(
        "> time_settings -1 0 0
         ? main time not a number of seconds
         > time_settings 10 x 0
         ? overtime not a number
         > kgs-time_settings hourglass
         ? syntax error: none, absolute, canadian, byoyomi or fischer expected
         > time_left b nan 0
         ? time not a number",
    );
}

#[test]
fn a_watched_move_is_reported_in_the_form_clients_read() {
    let mut session = session();
    let mut pieces = Vec::new();
    let next = session.handle_to("7 kata-genmove_analyze b 10", &mut |text| pieces.push(text.to_owned()));
    assert_eq!(next, Next::Read);
    assert_eq!(pieces.len(), 3, "each report comes as soon as it is known: {pieces:?}");
    assert!(pieces[0].starts_with("=7\ninfo move pass visits 1 winrate 0.5") && pieces[0].ends_with(" pv pass\n"));
    assert!(pieces[1].starts_with("info move pass ") && pieces[1].contains(" lcb 0.25"));
    assert_eq!(pieces[2], "play A9\n\n");
    assert!(
        session
            .handle("8 lz-genmove_analyze q")
            .text
            .starts_with("?8 q has no value")
    );
    session.engine().fails = true;
    assert_eq!(session.handle("9 lz-genmove_analyze b 10").text, "?9 no network\n\n");
    assert_eq!(session.handle("genmove b").text, "? no network\n\n");
}

#[test]
fn loading_a_game() {
    check(
        "> loadsgf game.sgf
         = black
         > query_boardsize
         = 5
         > play b D3
         ? illegal move (the point is occupied)
         > loadsgf game.sgf 2
         = white
         > loadsgf other.sgf
         ? cannot load file: no such file
         > loadsgf
         ? syntax error: the file is missing",
    );
}

#[test]
fn quitting() {
    let reply = session().handle("3 quit");
    assert_eq!(reply.text, "=3 \n\n");
    assert_eq!(reply.next, Next::Quit);
}

#[test]
fn analysis_runs_until_the_next_line() {
    let mut session = session();
    assert_eq!(session.report(), None);
    let reply = session.handle("5 kata-analyze b 20 ownership true");
    assert_eq!(reply.text, "=5\n");
    assert_eq!(reply.next, Next::Analyze { interval_cs: 20 });
    let line = session.report().expect("a report");
    assert!(
        line.starts_with("info move pass visits 1 ") && line.ends_with(" 0.0000\n"),
        "{line}"
    );
    let reply = session.handle("6 name");
    assert_eq!(reply.text, "\n=6 First\n\n");
    assert_eq!(reply.next, Next::Read);
    let _ = session.handle("lz-analyze 10");
    assert_eq!(session.handle("").text, "\n");
    assert_eq!(session.report(), None);
    let reply = session.handle("lz-genmove_analyze b 10");
    assert!(reply.text.ends_with("\nplay A9\n\n"), "{}", reply.text);
    assert_eq!(session.ponder(), None);
    assert!(session.handle("kata-analyze interval").text.starts_with("? "));
}

#[test]
fn a_long_line_is_answered() {
    let mut session = session();
    let long = format!("3 play {}", "b ".repeat(500_000));
    assert_eq!(session.handle(&long).text, "?3 invalid color or coordinate\n\n");
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "boardsize",
            "play",
            "genmove",
            "undo",
            "komi",
            "final_score",
            "fixed_handicap",
            "place_free_handicap",
            "b",
            "w",
            "white",
            "pass",
            "A1",
            "C3",
            "t19",
            "I5",
            "-1",
            "0",
            "1",
            "2",
            "3",
            "5",
            "7.5",
            "nan",
            "1e400",
            "clear_board",
            "showboard",
            "reg_genmove",
            "kata-analyze",
            "lz-genmove_analyze",
            "rectangular_boardsize",
            "set_free_handicap",
            "time_left",
            "final_status_list",
            "alive",
            "loadsgf",
            "game.sgf",
            "\t",
            "#",
            "\r",
            "99999999999999999999",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_answered(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20)) {
        let mut session = session();
        for line in lines {
            let text = session.handle_bytes(&line).text;
            prop_assert!(text.is_empty() || text.ends_with('\n'));
        }
    }

    #[test]
    fn any_words_are_answered(lines in prop::collection::vec(prop::collection::vec(word(), 0..5), 0..60)) {
        let mut session = session();
        for words in lines {
            let line = words.join(" ");
            let reply = session.handle(&line);
            let body = reply.text.trim_start_matches('\n');
            if !body.is_empty() && reply.next == Next::Read {
                prop_assert!(body.starts_with('=') || body.starts_with('?'), "{}", line);
                prop_assert_eq!(body.find("\n\n"), Some(body.len() - 2), "{}", line);
            }
            let _ = (session.ponder(), session.report());
        }
    }
}
