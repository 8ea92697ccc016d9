//! Writing and reading SGF.

use tengen_records::{EndReason, GameRecord};
use tengen_rules::{Color, Komi, Move, Size};
use tengen_sgf::{Ruling, read_sgf, write_sgf, write_sgf_collection, write_sgf_ruled};
use tengen_testing::{random_game, random_games};

fn check_round_trip(game: &GameRecord) {
    let text = write_sgf(game);
    let read = read_sgf(&text).unwrap();
    assert_eq!(read.len(), 1);
    let read = &read[0];
    assert_eq!(read.size, game.size);
    assert_eq!(read.komi, Some(game.komi));
    assert_eq!(read.black.as_deref(), Some(game.black_model.as_str()));
    assert_eq!(read.white.as_deref(), Some(game.white_model.as_str()));
    assert_eq!(read.result, Some(game.result_text()));
    let turns: Vec<_> = game
        .plies
        .iter()
        .enumerate()
        .map(|(ply, record)| (game.mover(ply), record.mv))
        .collect();
    assert_eq!(read.moves, turns);
}

#[test]
fn games_survive_a_round_trip() {
    for (width, height) in [(1, 1), (2, 5), (9, 9), (19, 19)] {
        for seed in 0..4 {
            check_round_trip(&random_game(Size::new(width, height).unwrap(), seed, 300));
        }
    }
    let mut game = random_game(Size::square(9).unwrap(), 1, 20);
    game.black_model = "odd ] name \\ with (brackets; and [more".to_owned();
    check_round_trip(&game);
}

#[test]
fn the_header_contains_what_programs_expect() {
    let mut game = random_game(Size::square(5).unwrap(), 1, 20);
    game.komi = Komi::from_half_points(49);
    game.start_time_ms = 1_790_000_000_000;
    let text = write_sgf(&game);
    assert!(text.starts_with("(;GM[1]FF[4]CA[UTF-8]AP[Tengen:"), "{text}");
    for part in [
        "SZ[5]",
        "KM[24.5]",
        "RU[tromp_taylor]",
        "DT[2026-09-21]",
        "C[value ",
        " margin ",
        " visits ",
    ] {
        assert!(text.contains(part), "expected {part} in {text}");
    }
    assert!(write_sgf(&random_game(Size::new(3, 4).unwrap(), 1, 5)).contains("SZ[3:4]"));
    game.start_time_ms = 0;
    assert!(!write_sgf(&game).contains("DT["), "the start time is unknown");
}

#[test]
fn the_file_says_how_a_game_ended() {
    let mut game = random_game(Size::square(9).unwrap(), 1, 20);
    game.score_half_points = None;
    let mut text_of = |reason| {
        game.end_reason = reason;
        write_sgf(&game)
    };
    for (reason, parts) in [
        (
            EndReason::PlyLimit,
            [
                "RE[Void]",
                "GC[No result: the game was stopped after 20 plies, the limit.]",
            ],
        ),
        (
            EndReason::UndecidedLife,
            ["RE[Void]", "GC[No result: the score depends on whether"],
        ),
        (EndReason::LongCycle, ["RE[0]", "GC[A long cycle tied the game"]),
        (
            EndReason::Forfeit,
            ["RE[W+F]", "GC[Black forfeited the game after 20 plies.]"],
        ),
        (EndReason::Resign, ["RE[W+R]", "GN["]),
        (
            EndReason::Unfinished,
            ["RE[Void]", "GC[No result: the moves end after 20 plies"],
        ),
    ] {
        let text = text_of(reason);
        assert!(parts.iter().all(|part| text.contains(part)), "{reason:?}: {text}");
        assert_eq!(text.contains("GC["), reason != EndReason::Resign, "{text}");
    }
    let ruling = Ruling {
        result: "Void".to_owned(),
        reason: "White [X] refused a move.".to_owned(),
    };
    game.end_reason = EndReason::Forfeit;
    let text = write_sgf_ruled(&game, &ruling);
    assert!(
        text.contains("RE[Void]") && text.contains("GC[White [X\\] refused a move.]"),
        "{text}"
    );
    assert_eq!(read_sgf(&text).unwrap()[0].result.as_deref(), Some("Void"));
}

#[test]
fn collections_hold_every_game() {
    let games = random_games(5, 12);
    let read = read_sgf(&write_sgf_collection(&games)).unwrap();
    assert_eq!(read.len(), 12);
    assert!(
        read.iter()
            .zip(&games)
            .all(|(read, game)| read.moves.len() == game.plies.len())
    );
}

#[test]
fn a_file_written_by_gnu_go_is_read() {
    let text = "(;GM[1]FF[4]\nRU[Chinese]\nSZ[9]\nHA[0]\nKM[7.0]\nGN[GNU Go 3.8 GTP Random Seed 1 level 10]\n\
                DT[2026-11-20]\nAP[GNU Go:3.8]RE[W+3.0]\n;B[ee];W[cc]C[two\nlines]\n;B[];W[tt]\n)";
    let game = &read_sgf(text).unwrap()[0];
    assert_eq!(game.komi, Some(Komi::from_half_points(14)));
    let size = Size::square(9).unwrap();
    let play = |text: &str| Move::parse(size, text).unwrap();
    let expected = [
        (Color::Black, play("E5")),
        (Color::White, play("C7")),
        (Color::Black, Move::Pass),
        (Color::White, Move::Pass),
    ];
    assert_eq!(game.moves, expected);
    assert_eq!(game.result.as_deref(), Some("W+3.0"));
}

#[test]
fn the_main_line_is_the_first_variation() {
    let text = "mail header\n\u{feff}(;SZ[5](;B[aa](;W[bb];B[cc])(;W[dd](;B[ee])))(;B[ee]))";
    let moves: Vec<_> = read_sgf(text).unwrap()[0]
        .moves
        .iter()
        .map(|(_, mv)| mv.format(Size::square(5).unwrap()))
        .collect();
    assert_eq!(moves, ["A5", "B4", "C3"]);
}

#[test]
fn setup_stones_and_rectangles_are_read() {
    let game = &read_sgf("(;SZ[5:4]KM[6,5]AB[aa:bb][dd]AW[ec];W[ea])").unwrap()[0];
    assert_eq!(game.setup.len(), 6);
    assert_eq!(game.komi, Some(Komi::from_half_points(13)));
    assert_eq!(game.moves[0].0, Color::White);
}

#[test]
fn errors_contain_line_and_column() {
    let check = |text: &str, line: usize, words: &str| {
        let error = read_sgf(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(words), "expected {words:?} in: {error}");
    };
    check("", 1, "found none");
    check("no game", 1, "found none");
    check("(;SZ[9]\n;B[ee]", 2, "end of the text");
    check("(;SZ[9]\n;B[ee", 2, "end of the text");
    check("(;SZ[9]\n;B[jj])", 2, "9x9");
    check("(;SZ[52])", 1, "19x19");
    check("(;GM[2])", 1, "expected Go");
    check("(;SZ[9];B[aa]\n!)", 2, "expected ';'");
    check("(;SZ[9]\nB)", 2, "expected '['");
    check("(;SZ[9];B[aa]\n;AB[bb])", 2, "set up after");
}

#[test]
fn deep_nesting_and_long_comments_are_harmless() {
    let deep = format!("{}{}", "(;C[x]".repeat(50_000), ")".repeat(50_000));
    assert_eq!(read_sgf(&deep).unwrap().len(), 1);
    let long = format!("(;SZ[9]C[{}];B[ee])", "word ".repeat(400_000));
    assert_eq!(read_sgf(&long).unwrap()[0].moves.len(), 1);
}
