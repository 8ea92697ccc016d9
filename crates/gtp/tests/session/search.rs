//! Moves, clocks, live analysis, and pondering.

use tengen_gtp::{Next, Pondered, Session};

use crate::first_point::{FirstPoint, check, session};

#[test]
fn clocks_determine_time_budgets() {
    let mut session = session();
    let budget_after = |session: &mut Session<FirstPoint>, lines: &[&str]| {
        for line in lines {
            assert!(session.handle(line).text.starts_with('='), "{line}");
        }
        let _ = session.handle("genmove b");
        session.engine().budgets.pop().expect("a move was requested")
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
    // The engine reports that it took 20 seconds.
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
         ? syntax error: expected none, absolute, canadian, byoyomi or fischer
         > time_left b nan 0
         ? time not a number",
    );
}

#[test]
fn moves_with_reports_have_the_format_that_clients_expect() {
    let mut session = session();
    let mut pieces = Vec::new();
    let next = session.handle_to("7 kata-genmove_analyze b 10", &mut |text| pieces.push(text.to_owned()));
    assert_eq!(next, Next::Read);
    assert_eq!(pieces.len(), 3, "each report is sent immediately: {pieces:?}");
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
fn quit_ends_the_session() {
    let reply = session().handle("3 quit");
    assert_eq!(reply.text, "=3 \n\n");
    assert_eq!(reply.next, Next::Quit);
}

#[test]
fn raw_network_output_needs_no_search() {
    let mut session = session();
    let mut ask = |line: &str| session.handle(line).text;
    ask("rectangular_boardsize 2 1");
    let one = "symmetry 1\nwhiteWin 0.500000\nwhiteLoss 0.500000\nnoResult 0.000000\nwhiteLead 0.0000\npolicy\n\
               0.000000 0.000000\npolicyPass 1.000000\n\n";
    assert_eq!(ask("kata-raw-nn 1"), format!("= {one}"));
    assert_eq!(
        ask("kata-raw-nn all").matches("symmetry ").count(),
        4,
        "a rectangle has four"
    );
    ask("boardsize 3");
    assert_eq!(ask("kata-raw-nn all").matches("symmetry ").count(), 8);
    for number in ["8", "18446744073709551615"] {
        let answer = ask(&format!("kata-raw-nn {number}"));
        assert!(
            answer.starts_with(&format!("? the symmetry {number} is not supported")),
            "{answer}"
        );
    }
    assert!(ask("kata-raw-nn").starts_with("? syntax error: symmetry is missing"));
    assert!(ask("kata-raw-nn x").starts_with("? symmetry not a number"));
}

#[test]
fn time_used_for_moves_is_summed() {
    check(
        "> cputime
         = 0.000
         > genmove b
         = A9
         > reg_genmove w
         = B9
         > gomill-cpu_time
         = 40.000",
    );
}

#[test]
fn the_engine_ponders_only_on_the_opponents_turn() {
    let mut session = session();
    let ponders = |session: &mut Session<FirstPoint>, line: &str| {
        let next = session.handle(line).next;
        assert_eq!(
            session.ponder_opponents_turn().is_some(),
            next == Next::Ponder,
            "{line}"
        );
        next == Next::Ponder
    };
    assert!(!ponders(&mut session, "genmove b"), "pondering is off");
    session.engine().ponders = true;
    assert!(ponders(&mut session, "name"), "after its move");
    assert_eq!(
        session.engine().pondered.pop().map(|moves| moves.len()),
        Some(1),
        "about the position after it"
    );
    assert!(ponders(&mut session, "time_left w 10 0") && !ponders(&mut session, "play w C3"));
    assert!(!ponders(&mut session, "undo") || session.game().turns().len() == 1);
    assert!(ponders(&mut session, "kata-genmove_analyze w 10"));
    assert!(
        !ponders(&mut session, "stop") && !ponders(&mut session, "name"),
        "until it is stopped"
    );
    assert!(ponders(&mut session, "genmove b") && !ponders(&mut session, "clear_board"));
    assert!(!ponders(&mut session, "reg_genmove b"), "reg_genmove does not play");
    assert!(ponders(&mut session, "genmove b") && !ponders(&mut session, "kata-analyze 10"));
    assert_eq!(session.ponder(), Some(Pondered::More));
    assert!(!ponders(&mut session, "quit"));
}
