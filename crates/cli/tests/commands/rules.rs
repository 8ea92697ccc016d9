//! Runs `tengen rules`.

use serde_json::json;

use crate::common::tengen;

#[test]
fn perft_counts_turn_sequences() {
    for (size, depth, counts) in [
        ("3x3", "5", json!([1, 10, 91, 738, 5281, 33384])),
        ("2x2", "6", json!([1, 5, 21, 68, 156, 316, 604])),
        ("1x4", "4", json!([1, 5, 19, 58, 142])),
    ] {
        let answer = tengen(&["rules", "perft", "--size", size, "--depth", depth, "--json"]).json();
        assert_eq!(answer["counts"], counts, "{size}");
        assert_eq!(answer["rules"], "tromp_taylor");
    }
}

#[test]
fn positions_and_games_are_counted_exactly() {
    for (what, size, count) in [
        ("positions", "3x3", "12675"),
        ("positions", "5x2", "35117"),
        ("games", "1x3", "907"),
        ("games", "1x1", "1"),
    ] {
        let answer = tengen(&["rules", what, "--size", size, "--json"]).json();
        assert_eq!(answer["count"], count, "{what} {size}");
        assert_eq!(tengen(&["rules", what, "--size", size]).stdout.trim(), count);
    }
}

/// Solves a board, plays its line of best play and requires the margin at the end of it.
fn check_best_play(size: &str, margin: i64) {
    let answer = tengen(&["rules", "solve", "--size", size, "--json"]).json();
    assert_eq!(
        (&answer["margin"], &answer["rules"]),
        (&margin.into(), &"tromp_taylor".into())
    );
    assert!(answer["nodes"].as_u64().unwrap() > 0, "{answer}");
    let line: Vec<&str> = answer["line"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mv| mv.as_str().unwrap())
        .collect();
    let end = tengen(&["rules", "show", "--size", size, "--moves", &line.join(" "), "--json"]).json();
    assert_eq!(
        (&end["over"], end["margin"].as_f64()),
        (&true.into(), Some(margin as f64)),
        "{line:?}"
    );
}

#[test]
fn solve_finds_best_play_on_tiny_boards() {
    for (size, margin) in [("1x1", 0), ("2x2", 1), ("1x5", 0), ("4x1", 4)] {
        check_best_play(size, margin);
    }
    let text = tengen(&["rules", "solve", "--size", "2"]).stdout;
    assert!(
        text.starts_with("best play: Black is ahead by 1 without komi\nline: "),
        "{text}"
    );
    let after = tengen(&["rules", "solve", "--size", "3x1", "--moves", "pass B1", "--json"]).json();
    assert_eq!((&after["margin"], &after["turns"]), (&(-3).into(), &2.into()));
}

#[test]
#[ignore = "seconds: cargo test --release -p tengen-cli --test commands -- --ignored solve_finds_best_play_on_3x3"]
fn solve_finds_best_play_on_3x3() {
    check_best_play("3x3", 9);
}

#[test]
fn solve_reports_its_limits() {
    tengen(&["rules", "solve", "--size", "5x5"]).refuses(2, "5x5 is too large");
    tengen(&["rules", "solve", "--size", "2", "--moves", "A1 A1"]).refuses(1, "turn 2, white A1, is illegal");
    tengen(&["rules", "solve", "--size", "2", "--most-nodes", "0"]).refuses(2, "at least 1");
    let answer = tengen(&["rules", "solve", "--size", "4x4", "--most-nodes", "1000"]);
    answer.refuses(
        1,
        "4x4 is not solved within 1,000 positions: the margin of best play is between -16 and",
    );
    answer.refuses(1, "--most-nodes");
}

#[test]
fn usage_errors_are_one_sentence() {
    for (args, message) in [
        (
            vec!["rules", "perft", "--size", "20x20", "--depth", "1"],
            "each side from 1 to 19",
        ),
        (
            vec!["rules", "perft", "--size", "x", "--depth", "1"],
            "write a board as 9 or 7x5",
        ),
        (
            vec!["rules", "perft", "--size", "2", "--depth", "1", "--rules", "martian"],
            "martian",
        ),
        (vec!["rules", "show", "--moves", "A1 Z9"], "turn 2"),
        (vec!["rules", "show", "--komi", "7.3"], "7.3"),
        (vec!["rules"], "Usage"),
    ] {
        tengen(&args).refuses(2, message);
    }
}

#[test]
fn show_lists_illegal_points_with_reasons() {
    let answer = tengen(&[
        "rules",
        "show",
        "--size",
        "3",
        "--moves",
        "A2 C3 B1 C2 C1 pass B2 A1",
        "--json",
    ]);
    answer.refuses(1, "turn 8, white A1, is illegal");
    let answer = tengen(&[
        "rules",
        "show",
        "--size",
        "3",
        "--moves",
        "A2 C3 B1 C2 C1 pass B2",
        "--json",
    ])
    .json();
    assert_eq!(answer["board"], json!(["..O", "XXO", ".XX"]));
    assert_eq!(answer["to_move"], "white");
    assert_eq!(answer["illegal"][0]["point"], "A1");
    let text = tengen(&["rules", "show", "--size", "3", "--moves", "A2 C3 B1 C2 C1 pass B2"]).stdout;
    assert!(text.contains(" 1 ! X X 1"), "{text}");
}

#[test]
fn verify_reads_both_formats_and_finds_one_altered_fact() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let facts = |count: &str| {
        let perft = json!([{ "width": 2, "height": 2, "rule": "psk", "counts": [1, 5, 21, 68] }]);
        let counts = json!([{ "width": 2, "height": 2, "count": count, "status": "verified" }]);
        json!({ "format": "tt-facts/1", "legal_position_counts": counts, "perft": perft }).to_string()
    };
    let good = write("good.json", facts("57"));
    let report = tengen(&["rules", "verify", &good, "--json"]).json();
    assert!(
        report["mismatches"] == 0 && report["checked"].as_u64().unwrap() >= 2,
        "{report}"
    );
    let altered = write("altered.json", facts("58"));
    let answer = tengen(&["rules", "verify", &good, &altered, "--json"]);
    answer.refuses(1, "altered.json");
    let report = answer.object();
    assert_eq!(report["mismatches"], 2, "the board and the turned board: {report}");
    let named = &report["files"][1]["report"]["named_mismatches"];
    assert_eq!(named.as_array().unwrap().len(), 2, "{report}");
    for name in named.as_array().unwrap() {
        answer.refuses(1, name.as_str().unwrap());
    }
    let report = tengen(&["rules", "verify", &write("games.jsonl", one_game(0)), "--json"]).json();
    assert!(report["checked"].as_u64().unwrap() > 0, "{report}");
    tengen(&["rules", "verify", &write("wrong.jsonl", one_game(1))]).refuses(1, "line 1");
    tengen(&["rules", "verify", &write("other.json", "{}".to_owned())]).refuses(1, "other.json");
    tengen(&["rules", "verify", "/no/such/file"]).refuses(1, "/no/such/file");
    tengen(&["rules", "verify"]).refuses(2, "FILE");
}

/// A game of two passes on 1x1, where Black can never play, with a claimed number of legal points before each move.
fn one_game(legal: u32) -> String {
    let fnv = |bytes: &[u8]| {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    };
    let rules = json!({ "ko": "POSITIONAL", "score": "AREA", "tax": "NONE", "multi_stone_suicide": true });
    json!({
        "size": [1, 1], "rules_id": "tromp-taylor", "rules": rules, "komi": 0.5, "style": "passy",
        "moves": ["B pass", "W pass"], "legal_counts": [legal, legal], "legal_fnv": fnv(b"00"),
        "boards_fnv": fnv(b".."), "final_board": ".", "end": "two_passes", "score_black_area": 0,
        "score_white_area": 0, "tt_black_minus_white": -0.5, "winner": "W",
        "katago_black_minus_white": -0.5, "katago_winner": "W",
        "stats": { "capture_moves": 0, "suicide_moves": 0, "simple_ko_bans": 0, "superko_bans": 0 },
    })
    .to_string()
}

#[test]
fn score_replays_files_and_reports_the_first_illegal_move() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.sgf");
    let first = "(;GM[1]FF[4]SZ[3]KM[0.5]RE[W+R];B[bb];W[];B[])";
    let second = "(;GM[1]FF[4]SZ[2];B[ab];W[bb];B[ba];W[bb];B[aa])";
    std::fs::write(&path, format!("{first}\n{second}")).unwrap();
    let path = path.to_str().unwrap();
    let games = tengen(&["rules", "score", path, "--json"]).json()["games"].clone();
    assert_eq!(
        (&games[0]["result"], &games[0]["claimed"]),
        (&"B+8.5".into(), &"W+R".into())
    );
    assert_eq!((&games[0]["legal"], &games[0]["over"]), (&true.into(), &true.into()));
    assert_eq!(
        (&games[1]["breach"]["turn"], &games[1]["breach"]["color"]),
        (&4.into(), &"white".into())
    );
    let text = tengen(&["rules", "score", path, "--komi", "10"]).stdout;
    assert!(text.contains("turn 4, white B1, is illegal"), "{text}");
    assert!(text.contains("W+1"), "{text}");
    tengen(&["rules", "score", "/no/such.sgf"]).refuses(1, "/no/such.sgf");
}

#[test]
fn score_decides_life_or_lists_undecided_chains() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.sgf");
    std::fs::write(
        &path,
        "(;SZ[4:1];B[ba];W[];B[ca];W[];B[])(;SZ[9];B[ee];W[cc];B[ef];W[];B[])",
    )
    .unwrap();
    let args = ["rules", "score", path.to_str().unwrap(), "--rules", "japanese2008"];
    let games = tengen(&[&args[..], &["--json"]].concat()).json()["games"].clone();
    assert_eq!(
        (&games[0]["result"], &games[0]["undecided"]),
        (&"B+2".into(), &json!([]))
    );
    assert_eq!(games[1]["result"], json!(null));
    assert_eq!(games[1]["undecided"], json!(["C7", "E5"]));
    let text = tengen(&args).stdout;
    assert!(
        text.contains("it is undecided whether the chains at C7, E5 are alive"),
        "{text}"
    );
}

#[test]
fn score_reports_a_tie_by_a_long_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.sgf");
    // The eternal life from the published facts; superko bans the cycle one move before the tie.
    let game = "(;SZ[4:3]KM[6.5]AB[ba][cb][db]AW[da][ab][bb];B[aa];W[ca];B[ba];W[da];B[aa])";
    std::fs::write(&path, game).unwrap();
    let path = path.to_str().unwrap();
    for rules in ["japanese2008", "chinese_practice"] {
        let scored = tengen(&["rules", "score", path, "--rules", rules, "--json"]).json()["games"][0].clone();
        let found = ["over", "tied_by_cycle", "legal", "result", "margin", "turns"].map(|key| scored[key].clone());
        let expected = [json!(true), json!(true), json!(true), json!("0"), json!(null), json!(5)];
        assert_eq!(found, expected, "{rules}");
        assert_eq!(scored["undecided"], json!([]));
        let text = tengen(&["rules", "score", path, "--rules", rules]).stdout;
        assert!(text.contains("a long cycle tied the game (0;"), "{text}");
    }
    let basic = tengen(&["rules", "score", path, "--rules", "ko=basic", "--json"]).json()["games"][0].clone();
    assert_eq!(
        (&basic["over"], &basic["tied_by_cycle"]),
        (&json!(false), &json!(false))
    );
    assert!(basic["margin"].is_number());
    let superko = tengen(&["rules", "score", path, "--json"]).json()["games"][0].clone();
    assert_eq!(
        (&superko["legal"], &superko["breach"]["turn"]),
        (&json!(false), &json!(4))
    );
}

#[test]
fn score_skips_broken_games_and_reports_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = "(;GM[1]SZ[3];B[bb];W[];B[])";
    let path = write(
        "mixed.sgf",
        format!("{good}\n(;GM[1]SZ[3];B[zz])\n(;GM[1]SZ[52])\n{good}\n").as_bytes(),
    );
    let answer = tengen(&["rules", "score", &path, "--json"]);
    answer.refuses(1, "cannot read 2 of 4 games in");
    answer.refuses(
        1,
        "game 2: line 2, column 14: expected a point on 3x3 or nothing, found \"zz\"",
    );
    answer.refuses(
        1,
        "game 3: line 3, column 8: expected a board of 1x1 to 19x19, found SZ[52]",
    );
    let object = answer.object();
    assert_eq!(object["games"][1]["result"], "B+9");
    assert_eq!(
        (&object["broken"][0]["line"], &object["broken"][0]["game"]),
        (&2.into(), &2.into())
    );

    let handicap = "(;SZ[9]HA[2]KM[0,5];B[cc];B[gg];W[ee];B[])(;SZ[9]HA[2]AB[cc][gg];W[ee])";
    let games = tengen(&["rules", "score", &write("handicap.sgf", handicap.as_bytes()), "--json"]).json();
    for game in 0..2 {
        assert_eq!(games["games"][game]["legal"], true, "{games}");
    }
    let dead = write("dead.sgf", b"(;SZ[3]AB[aa][ba]AW[ab][bb][ca])");
    tengen(&["rules", "score", &dead]).refuses(1, "line 1, column 8: the setup stones do not form a legal position");
    for (name, bytes) in [("empty.sgf", &b""[..]), ("binary.sgf", &b"\x7fELF\x02\x01\0\0(\0)"[..])] {
        tengen(&["rules", "score", &write(name, bytes)]).refuses(1, "is not an SGF file");
    }
}

/// Territory and prisoners after the removal of named dead stones.
#[test]
fn dead_stones_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sgf");
    // Black has B1 to B4, White D1 to D4 with E3, and the column between them is neutral. A3 and E2 are
    // dead, and White has captured E4.
    let moves = ";B[ba];W[da];B[bb];W[db];B[bc];W[dc];B[bd];W[dd];B[ea];W[eb];B[ec];W[ab];B[];W[]";
    std::fs::write(&path, format!("(;SZ[5:4]KM[0.5]{moves})")).unwrap();
    let score = |more: &[&str]| {
        let args = ["rules", "score", path.to_str().unwrap(), "--json"];
        tengen(&[&args[..], more].concat())
    };
    let game = |more: &[&str]| score(more).json()["games"][0].clone();
    let japanese = ["--rules", "japanese2008", "--dead", "A3,E2"];
    let counted = game(&japanese);
    assert_eq!(
        (&counted["black_territory"], &counted["white_territory"]),
        (&4.into(), &3.into()),
        "{counted}"
    );
    assert_eq!(counted["dead"].as_array().unwrap().len(), 2, "{counted}");
    assert_eq!(
        (&counted["black_stones_removed"], &counted["white_stones_removed"]),
        (&2.into(), &1.into())
    );
    assert_eq!(counted["result"], "W+0.5");
    let text = tengen(&[&["rules", "score", path.to_str().unwrap()], &japanese[..]].concat()).stdout;
    for line in [
        "  territory: Black 4, White 3\n",
        "  prisoners: Black 1, White 2\n",
        "  removed as dead: A3, E2\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let chinese = game(&["--rules", "chinese_written", "--dead", "A3 E2"]);
    assert_eq!(
        (&chinese["black_area"], &chinese["result"]),
        (&8.into(), &"W+0.5".into())
    );
    assert_eq!(
        game(&["--rules", "chinese_written", "--dead", "none"])["dead"],
        json!([])
    );
    for (more, code, message) in [
        (
            &["--dead", "A3"][..],
            2,
            "under tromp_taylor nothing is removed by agreement",
        ),
        (
            &["--rules", "japanese2008", "--dead", "C1"],
            2,
            "\"C1\" is not the point of a stone on the 5x4 board",
        ),
        (
            &["--rules", "japanese2008", "--dead", "A3,B1,D1,E2"],
            1,
            "rules at B4, D4, A3, E2",
        ),
        (
            &["--rules", "aga", "--dead", "A3", "--seki", "B1"],
            2,
            "aga counts area",
        ),
        (&["--dead", "A3", "--life-positions", "5"], 2, "cannot be used with"),
        (&["--seki", "A3"], 2, "--dead"),
    ] {
        score(more).refuses(code, message);
    }
    std::fs::write(&path, "(;SZ[5];B[cc])(;SZ[5];B[cc])").unwrap();
    score(&["--rules", "aga", "--dead", "C3"]).refuses(2, "more than one game");

    let show = [
        "rules",
        "show",
        "--size",
        "5",
        "--moves",
        "C3 B4 pass pass",
        "--rules",
        "new_zealand",
    ];
    let text = tengen(&[&show[..], &["--dead", "B4"]].concat()).stdout;
    assert!(
        text.contains("prisoners: Black 1, White 0") && text.contains("count with komi 0: Black is ahead by 25"),
        "{text}"
    );
}

/// Seki without eyes: 1,000 positions do not decide it, more do.
#[test]
fn more_positions_decide_more_chains() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sgf");
    std::fs::write(
        &path,
        "(;SZ[5:3]AB[aa][ba][ca][bb][ac][bc][cc]AW[da][ea][db][dc][ec];B[];W[])",
    )
    .unwrap();
    let args = ["rules", "score", path.to_str().unwrap(), "--rules", "japanese2008"];
    let few = tengen(&[&args[..], &["--life-positions", "50"]].concat()).stdout;
    assert!(
        few.contains("try --life-positions 5000, or name the dead chains with --dead"),
        "{few}"
    );
    let many = tengen(&[&args[..], &["--life-positions", "20000", "--json"]].concat()).json()["games"][0].clone();
    assert_eq!(
        (&many["result"], &many["undecided"]),
        (&"0".into(), &json!([])),
        "{many}"
    );
    assert_eq!(
        (&many["black_territory"], &many["white_territory"]),
        (&0.into(), &0.into())
    );
}
