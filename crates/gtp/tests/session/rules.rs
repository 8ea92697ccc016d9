//! The effects of a session's rules.

use crate::first_point::{check, session};

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
fn life_is_decided_under_territory_scoring() {
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
fn rules_determine_legality_and_score() {
    // A suicide of two stones and a handicap bonus.
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
    // Territory is counted once the life of all chains is decided.
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
         ? cannot score: it is not yet decided which chains are independently alive; play on",
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
fn superko_and_the_end_of_the_game() {
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
         ? syntax error: expected alive, dead or seki
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
fn single_rule_settings_can_be_changed() {
    check(
        "> kata-set-rule suicide false
         =
         > kata-get-rules
         = {\"friendlyPassOk\":false,\"hasButton\":false,\"ko\":\"POSITIONAL\",\"scoring\":\"AREA\",\"suicide\":false,\
         \"tax\":\"NONE\",\"whiteHandicapBonus\":\"0\"}
         > kata-set-rule ko
         ? syntax error: expected a setting and its value
         > kata-set-rule ko SIMPLE
         ? unsupported rules: ko simple: long cycles void the game in KataGo; chinese_practice makes them a tie",
    );
}
