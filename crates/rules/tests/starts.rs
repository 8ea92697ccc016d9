//! Starts other than the empty grid, handicaps, the button, illegal moves, and pass-alive areas.
#![allow(missing_docs)]

mod support;

use tengen_rng::{below, stream};
use tengen_rules::{
    Color, Handicap, IllegalMove, Komi, Move, PointSet, Position, Rules, Scoring, SetupError, Size, Suicide,
    parse_point, solve_margin,
};

use support::{setup, stones_of};

fn play(position: &mut Position, moves: &str) {
    for mv in moves.split(' ') {
        position.play(Move::parse(position.size(), mv).unwrap());
    }
}

fn refusal(position: &Position, mv: &str) -> Option<IllegalMove> {
    position.legality(Move::parse(position.size(), mv).unwrap()).err()
}

#[test]
fn illegal_moves_name_the_rule() {
    let size = Size::square(3).unwrap();
    let mut position = Position::new(size);
    let far = Size::square(19).unwrap().point(18, 18).unwrap();
    assert_eq!(position.legality(Move::Play(far)), Err(IllegalMove::OffBoard));
    play(&mut position, "B3 A1 A2 pass B1");
    // A1 has been captured; a stone there would be a single stone without liberties.
    assert_eq!(refusal(&position, "A1"), Some(IllegalMove::Superko { repeats_ply: 5 }));
    assert_eq!(refusal(&position, "B1"), Some(IllegalMove::Occupied));
    let forbidden = Rules::chinese_written();
    let mut other = Position::with_rules(size, forbidden);
    play(&mut other, "B3 A1 A2 pass B1");
    assert_eq!(refusal(&other, "A1"), Some(IllegalMove::Suicide));
    play(&mut position, "pass pass");
    assert_eq!(refusal(&position, "pass"), Some(IllegalMove::GameOver));
    assert_eq!(refusal(&position, "C1"), Some(IllegalMove::GameOver));
    assert!(position.legal_points().is_empty());
}

#[test]
#[should_panic(expected = "C2 is illegal: the point is occupied")]
fn an_illegal_play_panics() {
    play(&mut Position::new(Size::square(3).unwrap()), "C2 C2");
}

#[test]
fn consecutive_handicap() {
    let size = Size::square(5).unwrap();
    let rules = Rules::aga();
    let mut position = Position::with_handicap(size, rules, Handicap::Consecutive(3)).unwrap();
    assert_eq!(refusal(&position, "pass"), Some(IllegalMove::HandicapPlayDue));
    play(&mut position, "A1 B2");
    assert_eq!(position.to_move(), Color::Black);
    play(&mut position, "C3");
    assert_eq!(position.to_move(), Color::White);
    position.assert_valid();
    play(&mut position, "pass pass pass pass");
    // Twenty-five points minus two for three stones.
    assert_eq!(position.margin(Komi::ZERO).to_string(), "B+23");
    while position.undo().is_some() {}
    assert_eq!(
        position,
        Position::with_handicap(size, rules, Handicap::Consecutive(3)).unwrap()
    );
}

#[test]
fn handicap_by_white_passes() {
    let size = Size::square(5).unwrap();
    let mut position = Position::with_handicap(size, Rules::new_zealand(), Handicap::WhitePasses(3)).unwrap();
    play(&mut position, "A1");
    assert_eq!(refusal(&position, "B1"), Some(IllegalMove::HandicapPassDue));
    assert!(position.legal_points().is_empty());
    play(&mut position, "pass B2 pass C3");
    assert_eq!(position.legal_points().len(), 22);
    assert_eq!(position.to_move(), Color::White);
}

#[test]
fn fixed_handicap() {
    let size = Size::square(9).unwrap();
    let position = Position::with_handicap(size, Rules::tromp_taylor(), Handicap::Fixed(4)).unwrap();
    assert_eq!(position.stones(Color::Black).len(), 4);
    assert_eq!(position.to_move(), Color::White);
    let small = Size::square(5).unwrap();
    assert_eq!(
        Position::with_handicap(small, Rules::tromp_taylor(), Handicap::Fixed(2)).err(),
        Some(SetupError::NoFixedHandicap(2))
    );
}

#[test]
fn impossible_starts_are_rejected() {
    let check = |rows: &[&str], expected: SetupError| {
        let [black, white] = stones_of(rows);
        let size = Size::new(rows[0].len(), rows.len()).unwrap();
        let result = Position::from_setup(size, Rules::tromp_taylor(), &black, &white, Color::Black);
        assert_eq!(result.err(), Some(expected));
    };
    let size = Size::square(3).unwrap();
    let point = |name| parse_point(size, name).unwrap();
    check(&["XO.", "O..", "..."], SetupError::NoLiberty(point("A3")));
    let one: PointSet = [point("B2")].into_iter().collect();
    let both = Position::from_setup(size, Rules::tromp_taylor(), &one, &one, Color::Black);
    assert_eq!(both.err(), Some(SetupError::BothColors(point("B2"))));
    let tiny = Size::square(1).unwrap();
    let off = Position::from_setup(tiny, Rules::tromp_taylor(), &one, &PointSet::new(), Color::Black);
    assert_eq!(off.err(), Some(SetupError::OffBoard(point("B2"))));
}

/// Taking the button lifts a superko ban and is worth half a point.
#[test]
fn taking_the_button_lifts_a_ko_ban() {
    let rows = [".XO.", "XO.O", ".XO.", "...."];
    let rules = Rules {
        button: true,
        ..Rules::tromp_taylor()
    };
    let mut with = setup(&rows, rules, Color::Black);
    let mut without = setup(&rows, Rules::tromp_taylor(), Color::Black);
    for position in [&mut with, &mut without] {
        play(position, "C3");
        assert_eq!(refusal(position, "B3"), Some(IllegalMove::Superko { repeats_ply: 0 }));
        play(position, "pass A1");
    }
    assert_eq!(refusal(&with, "B3"), None);
    assert_eq!(with.button_taker(), Some(Color::White));
    assert_eq!(without.button_taker(), None);
    assert_eq!(
        with.margin(Komi::ZERO).half_points() + 1,
        without.margin(Komi::ZERO).half_points()
    );
    with.assert_valid();
}

#[test]
fn pass_alive_areas() {
    let check = |rows: &[&str], black: usize, white: usize| {
        let position = setup(rows, Rules::tromp_taylor(), Color::Black);
        let alive = position.pass_alive();
        assert_eq!([alive.black.len(), alive.white.len()], [black, white], "{rows:?}");
    };
    check(&["...", ".X.", "..."], 0, 0);
    check(&[".X.X", "XXXX", "...."], 12, 0);
    check(&[".XX.", "XXXX", "...."], 12, 0);
    check(&["XX..", "XX..", "...."], 0, 0);
    // One eye, and a region too deep to be the second.
    check(&[".XX...", "XXX...", "......"], 0, 0);
    check(&[".XXO.", "XXXOO", "X.XO.", "XXXOO"], 12, 8);
    check(&["XX.", "XXX", ".OO"], 9, 0);
}

#[test]
fn suicide_may_break_a_large_eye() {
    // Both eyes of the ring are three points deep where White has stones; after a suicide White could live there.
    let rows = [
        "XXXXXXXXX",
        "XOOOXOOOX",
        "XO.OX.OOX",
        "XOOOXOOOX",
        "XXXXXXXXX",
        ".........",
        ".........",
    ];
    let empty_points_decide = setup(&rows, Rules::aga(), Color::Black);
    let all_points_decide = setup(&rows, Rules::tromp_taylor(), Color::Black);
    assert_eq!(empty_points_decide.pass_alive().black.len(), 0);
    assert_eq!(all_points_decide.pass_alive().black.len(), 0);
    let rows = [
        "XXXXXXXXX",
        "XOOOXOOOX",
        "XOOOXOOOX",
        "X.OOXOO.X",
        "XXXXXXXXX",
        ".........",
        ".........",
    ];
    let empty_points_decide = setup(&rows, Rules::aga(), Color::Black);
    let all_points_decide = setup(&rows, Rules::tromp_taylor(), Color::Black);
    assert_eq!(empty_points_decide.pass_alive().black.len(), 45);
    assert_eq!(all_points_decide.pass_alive().black.len(), 0);
}

/// Pass-alive stones are never captured, whatever the opponent plays, even if their owner only passes.
#[test]
fn pass_alive_chains_are_never_captured() {
    let mut random = stream(5, &[]);
    let mut seen = 0;
    for _ in 0..300 {
        let size = Size::new(3 + below(&mut random, 4), 3 + below(&mut random, 3)).unwrap();
        let suicide = [Suicide::Allowed, Suicide::Forbidden][below(&mut random, 2)];
        let rules = Rules {
            end: tengen_rules::GameEnd::FourPasses,
            suicide,
            ..Rules::tromp_taylor()
        };
        let mut position = Position::with_rules(size, rules);
        for _ in 0..3 * size.area() {
            let legal = position.legal_points();
            let choice = legal.nth(below(&mut random, legal.len() + 1));
            if position.try_play(choice.map_or(Move::Pass, Move::Play)).is_err() {
                break;
            }
        }
        let owner = position.to_move();
        let alive = *position.pass_alive().of(owner) & position.stones(owner);
        seen += usize::from(!alive.is_empty());
        for _ in 0..60 {
            if position.is_over() {
                break;
            }
            let legal = position.legal_points();
            let mv = match legal.nth(below(&mut random, legal.len().max(1))) {
                Some(point) if position.to_move() != owner => Move::Play(point),
                _ => Move::Pass,
            };
            position.play(mv);
            assert!(alive.is_subset(&position.stones(owner)));
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn settled_boards() {
    let check = |rows: &[&str], expected: bool| {
        for name in Rules::names() {
            for to_move in Color::ALL {
                let position = setup(rows, name.parse().unwrap(), to_move);
                let counts_area = position.rules().scoring != Scoring::Territory;
                assert_eq!(position.is_settled(), expected && counts_area, "{name}: {rows:?}");
            }
        }
    };
    check(&[".X.X", "XXXX", "...."], true);
    check(&[".XXO.", "XXXOO", "X.XO.", "XXXOO"], true);
    // A neutral point; the same with the point taken.
    check(&[".X.X.O.O.", "XXXX.OOOO", "XXXXXOOOO"], false);
    check(&[".X.XXO.O.", "XXXXXOOOO", "XXXXXOOOO"], true);
    // A stone inside the opponent's pass-alive area still counts for its owner.
    check(&[".X.O", "XXXX", "...."], false);
    check(&["XX.", "XXX", ".OO"], false);
    // One eye, an eye that is too deep, an empty board.
    check(&[".XX", "XXX", "XXX"], false);
    check(&[".XX...", "XXX...", "......"], false);
    check(&["...", "...", "..."], false);
}

/// Exhaustive search finds no better margin for either side in settled positions from random play.
#[test]
fn optimal_play_keeps_the_margin_of_settled_boards() {
    let mut random = stream(9, &[]);
    let mut seen = 0;
    while seen < 60 {
        let (width, height) = [(3, 3), (4, 2), (5, 2), (4, 3)][below(&mut random, 4)];
        let mut position = Position::new(Size::new(width, height).unwrap());
        for _ in 0..40 {
            let legal = position.legal_points();
            let choice = legal.nth(below(&mut random, legal.len().max(1)));
            position.play(choice.map_or(Move::Pass, Move::Play));
            if position.is_over() || position.is_settled() {
                break;
            }
        }
        if position.is_over() || !position.is_settled() {
            continue;
        }
        seen += 1;
        assert_eq!(solve_margin(&position, 1_000_000), Ok(position.board_margin()));
        position.play(Move::Pass);
        if !position.is_over() {
            assert_eq!(solve_margin(&position, 1_000_000), Ok(position.board_margin()));
        }
    }
}
