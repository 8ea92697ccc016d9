//! `tengen gtp --finish`: boards played to the very end.

use std::path::PathBuf;

use tengen_gtp::{Answer, Controller, Timeouts};
use tengen_rules::{Color, Komi, Move, Size};

fn start(command: &str) -> Controller {
    Controller::start(&command.parse().unwrap(), Timeouts::default()).unwrap()
}

fn tengen(options: &str) -> Controller {
    start(&format!("{} gtp {options}", env!("CARGO_BIN_EXE_tengen")))
}

/// A position on a board without komi.
fn set_up(engine: &mut Controller, size: Size, moves: &[(Color, Move)]) {
    engine.new_game(size, Komi::from_half_points(0)).unwrap();
    for &(color, mv) in moves {
        engine.play(size, color, mv).unwrap();
    }
}

fn genmove(engine: &mut Controller, size: Size, color: Color) -> Move {
    match engine.genmove(size, color).unwrap() {
        Answer::Move(mv) => mv,
        other => panic!("{other:?}"),
    }
}

/// Plays until both sides pass and returns the moves; `judge` follows along.
fn play_out(engines: [&mut Controller; 2], judge: Option<&mut Controller>, size: Size, first: Color) -> Vec<Move> {
    let [black, white] = engines;
    let mut judge = judge;
    let (mut color, mut moves) = (first, Vec::new());
    while !moves.ends_with(&[Move::Pass, Move::Pass]) {
        let (mover, other) = match color {
            Color::Black => (&mut *black, &mut *white),
            Color::White => (&mut *white, &mut *black),
        };
        let mv = genmove(mover, size, color);
        other.play(size, color, mv).unwrap();
        if let Some(judge) = &mut judge {
            judge.play(size, color, mv).expect("legal for the judge too");
        }
        moves.push(mv);
        color = color.opposite();
        assert!(moves.len() < 4 * size.area(), "the game ends");
    }
    moves
}

#[test]
fn dead_stones_are_captured_before_the_pass() {
    // On 5x5 Black has the left and White the right, both with eyes; the white stone on A3 is dead.
    let size = Size::square(5).unwrap();
    let text = "C1 D1 C2 D2 C3 D3 C4 D4 C5 D5 B2 E2 B4 E4 pass A3";
    let colors = [Color::Black, Color::White].into_iter().cycle();
    let moves: Vec<_> = colors
        .zip(text.split(' ').map(|text| Move::parse(size, text).unwrap()))
        .collect();
    for mind in ["uniform --visits 40", "random"] {
        let [mut black, mut white] = [(); 2].map(|()| tengen(&format!("--model {mind} --finish")));
        set_up(&mut black, size, &moves);
        set_up(&mut white, size, &moves);
        assert_eq!(black.ask("final_score").unwrap(), "W+4", "as it stands");
        assert_eq!(black.ask("final_status_list dead").unwrap(), "A3");
        assert_eq!(white.ask("kata-get-param finish").unwrap(), "true");
        // White only passes here; what matters is that Black does not.
        let mut turns = 0;
        while genmove(&mut black, size, Color::Black) != Move::Pass {
            black.play(size, Color::White, Move::Pass).unwrap();
            turns += 1;
            assert!(turns < 8, "{mind}");
        }
        assert_eq!(black.ask("final_score").unwrap(), "B+5", "{mind}");
        assert_eq!(black.ask("final_status_list dead").unwrap(), "");
    }
}

/// GNU Go's command line with the flags closest to Tromp-Taylor rules.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn gnu_go() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/games")]);
    let found = folders
        .map(|folder| folder.join("gnugo"))
        .find(|program| program.exists());
    let Some(program) = found else {
        eprintln!("SKIPPED: GNU Go is not installed (scripts/setup-gnugo), so the final boards were not judged");
        return None;
    };
    let program = program.display();
    Some(format!(
        "{program} --mode gtp --chinese-rules --positional-superko --allow-suicide --never-resign --level 0 --seed 1"
    ))
}

/// GNU Go plays itself after some random stones and leaves dead stones on the board, and two Tengen engines play on. In
/// the end the score of GNU Go, which removes dead stones before it counts, equals the score of the board as it stands.
#[test]
fn gnu_go_finds_nothing_dead_on_final_boards() {
    let Some(command) = gnu_go() else { return };
    let mut left_dead = 0;
    for side in [5, 7, 9] {
        let size = Size::square(side).unwrap();
        let (mut black, mut white) = (tengen("--model random --finish"), tengen("--model random --finish"));
        for game in 0..3u64 {
            let (mut judge, mut other) = (start(&command), start(&command));
            let mut opening = Vec::new();
            let mut random = tengen_rng::stream(game, &[side as u64]);
            for color in [Color::Black, Color::White].into_iter().cycle().take(side) {
                let point = tengen_rules::Point::from_index(size, tengen_rng::below(&mut random, size.area()));
                let mv = Move::Play(point.unwrap());
                if !opening.contains(&(color, mv)) && !opening.contains(&(color.opposite(), mv)) {
                    opening.push((color, mv));
                }
            }
            let first = opening.last().unwrap().0.opposite();
            set_up(&mut judge, size, &opening);
            set_up(&mut other, size, &opening);
            let mut moves = play_out([&mut judge, &mut other], None, size, first);
            left_dead += judge.ask("final_status_list dead").unwrap().split_whitespace().count();
            moves.truncate(moves.len() - 2);
            let colors = [first, first.opposite()].into_iter().cycle();
            let played: Vec<_> = opening.into_iter().chain(colors.zip(moves)).collect();
            let next = played.last().unwrap().0.opposite();
            for engine in [&mut black, &mut white, &mut judge] {
                set_up(engine, size, &played);
            }
            play_out([&mut black, &mut white], Some(&mut judge), size, next);
            let counted = black.ask("final_score").unwrap();
            let judged = judge.ask("final_score").unwrap();
            assert_eq!(judged.trim_end_matches(".0"), counted, "{side}x{side} game {game}");
            assert_eq!(
                judge.ask("final_status_list dead").unwrap(),
                "",
                "{side}x{side} game {game}"
            );
        }
    }
    assert!(left_dead > 10, "GNU Go leaves dead stones standing: {left_dead}");
}
