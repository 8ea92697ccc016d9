//! What it means that stones are captured or saved.

use tengen_rules::{Color, Move, PointSet, Position, Rules, Size};
use tengen_tactics::{Goal, Prover, Verdict};

/// The position of a diagram of `X` (Black), `O` (White), and dots.
fn position(diagram: &[&str], to_move: Color) -> Position {
    let size = Size::new(diagram[0].len(), diagram.len()).unwrap();
    let of = |letter: char| -> PointSet {
        let text: Vec<char> = diagram.iter().flat_map(|row| row.chars()).collect();
        size.points().filter(|point| text[point.index()] == letter).collect()
    };
    Position::from_setup(size, Rules::tromp_taylor(), &of('X'), &of('O'), to_move).unwrap()
}

/// The chain that includes a point.
fn chain(position: &Position, name: &str) -> PointSet {
    position.chain(tengen_rules::parse_point(position.size(), name).unwrap())
}

fn prove(position: &Position, attacker: Color, stones: PointSet) -> Verdict {
    Prover::new(Goal::Capture { attacker, stones }, 100_000).prove(position)
}

#[test]
fn another_living_chain_does_not_save_the_target() {
    let position = position(&[".X.XOX", "XXXXO.", "OOOOOO"], Color::White);
    assert_eq!(prove(&position, Color::White, chain(&position, "F3")), Verdict::Proved);
    assert_eq!(
        prove(&position, Color::White, chain(&position, "B3")),
        Verdict::Disproved
    );
    let both = chain(&position, "F3") | chain(&position, "B3");
    assert_eq!(
        prove(&position, Color::White, both),
        Verdict::Disproved,
        "one of the stones survives"
    );
}

#[test]
fn dead_stones_that_nobody_takes_off_are_not_captured() {
    let position = position(&[".X.XOX", "XXXXO.", "OOOOOO"], Color::White);
    let mut passed = position.clone();
    passed.play(Move::Pass);
    passed.play(Move::Pass);
    assert_eq!(prove(&passed, Color::White, chain(&position, "F3")), Verdict::Disproved);
}

#[test]
fn the_capture_of_every_stone_ends_the_question() {
    // White C3 takes both black stones at once, whatever becomes of the points.
    let position = position(&["OX.", ".OX", "OOO"], Color::White);
    let target = position.stones(Color::Black);
    let mut prover = Prover::new(
        Goal::Capture {
            attacker: Color::White,
            stones: target,
        },
        100,
    );
    let capture = Move::parse(position.size(), "C3").unwrap();
    assert_eq!(prover.answer(&position, capture), Verdict::Proved);
    assert_eq!(prover.nodes(), 1);
}

#[test]
fn every_legal_move_is_answered() {
    let position = position(&[".X.XOX", "XXXXO.", "OOOOOO"], Color::Black);
    let stones = chain(&position, "F3");
    let mut prover = Prover::new(
        Goal::Capture {
            attacker: Color::White,
            stones,
        },
        100_000,
    );
    let answers = prover.answers(&position).unwrap();
    assert_eq!(answers.len(), position.legal_points().len() + 1);
    assert_eq!(answers.last().unwrap().mv, Move::Pass);
    assert!(
        Prover::new(Goal::Margin(1), 5)
            .answers(&Position::new(Size::square(9).unwrap()))
            .is_none()
    );
}

#[test]
fn a_stone_played_on_an_empty_point_of_the_goal_is_no_target() {
    let position = position(&[".X.X.", "XXXXX"], Color::Black);
    let eye = tengen_rules::parse_point(position.size(), "A2").unwrap();
    let goal = Goal::Capture {
        attacker: Color::White,
        stones: [eye].into_iter().collect(),
    };
    // No target stone is on the board, so none is left to capture.
    let filled = Prover::new(goal, 100).answer(&position, Move::Play(eye));
    assert_eq!(filled, Verdict::Disproved);
}
