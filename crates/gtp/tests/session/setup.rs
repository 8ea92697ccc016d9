//! Setting up: board, komi, handicap, positions, parameters.

use crate::first_point::{check, session};

#[test]
fn administrative_commands() {
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
fn setup_commands_and_their_errors() {
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
         ? the rules 'japanese' are not supported: their official text leaves the life of chains to judgment, and \
         KataGo's version plays cleanup phases; japanese2008 is the computable variant
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
fn handicap_needs_an_empty_board() {
    check(
        "> loadsgf stones.sgf 1
         = white
         > fixed_handicap 2
         ? board not empty
         > place_free_handicap 2
         ? board not empty
         > set_free_handicap A1 B1
         ? board not empty
         > set_position b C3
         =
         > fixed_handicap 2
         ? board not empty
         > loadsgf white.sgf 1
         = white
         > set_free_handicap D4 B2
         =
         > play w D4
         ? illegal move (the point is occupied)
         > genmove w
         = A5",
    );
}

#[test]
fn cleanup_and_parameters() {
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
         ? unknown parameter weakness; the parameters are: strength
         > kata-set-param strength
         ? syntax error: the value is missing
         > clear_cache
         =
         > stop
         =",
    );
}

#[test]
fn positions_are_set_without_history() {
    // The engine expects Black to own every point.
    check(
        "> boardsize 5
         =
         > play b C3
         =
         > set_position w A1 b A2 b B1
         ? illegal position (the chain at A1 has no liberty)
         > set_position b A1 b A1
         ? A1 is given twice
         > set_position b A1 w
         ? invalid color or coordinate
         > set_position b pass
         ? invalid color or coordinate
         > final_status_list alive
         = C3
         > set_position b B2 w C2 b A1
         =
         > final_status_list alive
         = B2
         A1
         > final_status_list dead
         = C2
         > undo
         ? cannot undo
         > play w B1
         =
         > play w A2
         =
         > final_status_list alive
         = B2
         > final_status_list dead
         = A2
         C2
         B1
         > gg-undo 2
         =
         > final_status_list alive
         = B2
         A1
         > set_position
         =
         > final_status_list alive
         =",
    );
}

#[test]
fn seeds_can_be_set() {
    check(
        "> get_random_seed
         = 0
         > set_random_seed 17
         =
         > set_random_seed x
         ? seed not a number
         > get_random_seed
         = 17",
    );
}

#[test]
fn the_engine_receives_every_change_and_warns() {
    let mut session = session();
    let mut ask = |line: &str| session.handle(line).text.trim().to_owned();
    assert_eq!(ask("tengen-warnings"), "=");
    for line in [
        "boardsize 13",
        "komi 3",
        "komi 3",
        "kata-set-rules aga",
        "kata-set-rule suicide false",
        "clear_board",
    ] {
        ask(line);
    }
    assert_eq!(ask("tengen-warnings"), "= a large board");
    assert!(ask("showboard").ends_with("komi 3\nwarning: a large board"));
    ask("boardsize 9");
    assert!(ask("showboard").ends_with("komi 3"));
    let setups = session
        .engine()
        .setups
        .iter()
        .map(|(size, rules, komi)| format!("{size} {rules} {komi}"));
    let expected = [
        "9x9 tromp_taylor 7.5",
        "13x13 tromp_taylor 7.5",
        "13x13 tromp_taylor 3",
        "13x13 aga 3",
        "9x9 aga 3",
    ];
    assert_eq!(setups.collect::<Vec<_>>(), expected);
}
