//! Playing until the final board needs no judgment.

use tengen_rng as rng;
use tengen_rules::{Color, Komi, Move, PointSet, Position, Size};
use tengen_search::{
    EvaluationCache, Lockstep, Search, SearchConfig, UniformPredictor, finishing_move, playout_ownership,
};

fn play(position: &mut Position, moves: &str) {
    for text in moves.split_whitespace() {
        position.play(Move::parse(position.size(), text).unwrap());
    }
}

fn ownership_at(position: &Position, text: &str) -> f32 {
    let point = tengen_rules::parse_point(position.size(), text).unwrap();
    playout_ownership(position, 200, 1)[point.index()]
}

/// Black has the left of 5x5 and White the right, both with eyes; a white stone on A3 is lost.
///
/// ```text
///   A B C D E
/// 5 . . X O .
/// 4 . X X O O
/// 3 O . X O .
/// 2 . X X O O
/// 1 . . X O .
/// ```
fn with_a_dead_stone() -> Position {
    let mut position = Position::new(Size::square(5).unwrap());
    play(&mut position, "C1 D1 C2 D2 C3 D3 C4 D4 C5 D5 B2 E2 B4 E4 pass A3");
    position
}

/// The chains whose points belong to the other color in a clear majority of random games.
fn dead_chains(position: &Position) -> PointSet {
    let ownership = playout_ownership(position, 1000, 77);
    let size = position.size();
    let lost = |point: tengen_rules::Point| {
        let color = position.at(point)?;
        let chain = position.chain(point);
        let mean = chain.iter().map(|p| ownership[p.index()]).sum::<f32>() / chain.len() as f32;
        (if color == Color::Black { mean < -0.8 } else { mean > 0.8 }).then_some(point)
    };
    size.points().filter_map(lost).collect()
}

#[test]
fn random_games_find_dead_chains() {
    let position = with_a_dead_stone();
    assert!(ownership_at(&position, "A3") > 0.6 && ownership_at(&position, "C3") > 0.6);
    assert!(ownership_at(&position, "E3") < -0.6);
    assert_eq!(playout_ownership(&position, 50, 3), playout_ownership(&position, 50, 3));
    let mut over = position.clone();
    play(&mut over, "pass pass");
    assert_eq!(ownership_at(&over, "A3"), -1.0, "a finished game is counted as it is");
}

#[test]
fn dead_stones_are_captured_before_passing() {
    let mut position = with_a_dead_stone();
    assert_eq!(
        position.board_margin(),
        7 - 11,
        "the dead stone still counts against Black"
    );
    let mut plays = 0;
    while !position.is_over() {
        let mv = match position.to_move() {
            Color::Black => finishing_move(&position, Move::Pass, 1),
            Color::White => Move::Pass,
        };
        plays += usize::from(mv != Move::Pass);
        position.play(mv);
    }
    assert_eq!(position.board_margin(), 15 - 10);
    assert!(plays <= 4, "three liberties are enough: {plays}");
}

#[test]
fn neutral_points_are_taken_but_eyes_are_not_filled() {
    // Column C is Black's, E is White's, and D is neutral except for the stones at its ends.
    let mut position = Position::new(Size::square(5).unwrap());
    play(&mut position, "C1 E1 C2 E2 C3 E3 C4 E4 C5 E5");
    let mv = finishing_move(&position, Move::Pass, 1);
    assert!(mv.format(position.size()).starts_with('D'), "{mv:?}");
    let mut complete = Position::new(Size::square(3).unwrap());
    play(&mut complete, "B1 pass B2 pass B3 pass");
    assert_eq!(
        finishing_move(&complete, Move::Pass, 1),
        Move::Pass,
        "only the player's own eyes are left"
    );
}

#[test]
fn an_early_pass_does_not_end_an_open_game() {
    let mut position = Position::new(Size::square(9).unwrap());
    play(&mut position, "E5 C3 pass");
    let wanted = Move::parse(position.size(), "G7").unwrap();
    assert_eq!(finishing_move(&position, wanted, 1), wanted);
}

/// The move of a search without knowledge beyond the rules.
fn preferred(position: &Position) -> Move {
    let config = SearchConfig::for_play(24);
    let mut search = Search::new(config, position, Komi::from_half_points(0), rng::stream(1, &[]));
    let mut cache = EvaluationCache::new(0);
    Lockstep::new()
        .run(&mut [&mut search], &mut UniformPredictor, &mut cache)
        .unwrap();
    search.result().best
}

/// The move of the opponent: a random player that only passes from some ply on.
fn opponent(position: &Position, stops_at: usize, random: &mut rng::Rng) -> Move {
    let sensible = |&point: &tengen_rules::Point| !position.is_one_point_eye(point, position.to_move());
    let moves: Vec<_> = position.legal_points().iter().filter(sensible).collect();
    match moves.len() {
        0 => Move::Pass,
        _ if position.ply() >= stops_at => Move::Pass,
        count => Move::Play(moves[rng::below(random, count)]),
    }
}

#[test]
fn final_boards_have_no_dead_stones() {
    let mut captured = 0;
    for (side, games) in [(5, 12), (7, 8), (9, 6)] {
        for game in 0..games {
            let size = Size::square(side).unwrap();
            let mut random = rng::stream(game, &[side as u64]);
            let mut position = Position::new(size);
            // Random moves first, then one side plays to finish the game and the opponent eventually only passes.
            for _ in 0..size.area() / 2 {
                let mv = opponent(&position, usize::MAX, &mut random);
                position.play(mv);
                if position.is_over() {
                    break;
                }
            }
            let (ours, stops_at) = (if game % 2 == 0 { Color::Black } else { Color::White }, size.area());
            while !position.is_over() {
                let mv = match position.to_move() == ours {
                    true => finishing_move(&position, preferred(&position), game),
                    false => opponent(&position, stops_at, &mut random),
                };
                captured += usize::from(mv != Move::Pass && position.last_move() == Some(Move::Pass));
                position.play(mv);
                assert!(
                    position.ply() < 8 * size.area(),
                    "{side}x{side} game {game} does not end"
                );
            }
            let dead = dead_chains(&position) & position.stones(ours.opposite());
            let judged = position.area_without(&dead).margin();
            assert_eq!(
                position.board_margin(),
                judged,
                "{side}x{side} game {game}: {dead:?} were not captured"
            );
        }
    }
    assert!(
        captured > 20,
        "dead stones of opponents that only pass are captured: {captured}"
    );
}
