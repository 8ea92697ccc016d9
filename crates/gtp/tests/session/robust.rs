//! Any input is answered.

use proptest::prelude::*;

use tengen_gtp::Next;

use crate::first_point::session;

#[test]
fn a_long_line_is_answered() {
    let mut session = session();
    let long = format!("3 play {}", "b ".repeat(500_000));
    assert_eq!(session.handle(&long).text, "?3 invalid color or coordinate\n\n");
}

/// Words that occur in GTP commands, and others.
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
            "printsgf",
            "set_position",
            "kata-set-rule",
            "kata-raw-nn",
            "all",
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
