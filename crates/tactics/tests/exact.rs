//! The prover against plain searches that remember nothing.

use std::collections::HashMap;

use tengen_rng::{below, stream};
use tengen_rules::{Color, Move, PointSet, Position, Size, solve_margin};
use tengen_tactics::{Goal, Prover, Verdict};

/// Searches every line with its whole history and nothing else: no table, no knowledge about safe stones.
struct Plain {
    nodes: u64,
}

impl Plain {
    const MOST_NODES: u64 = 15_000;

    /// The color that gets its way; `None` after too many positions.
    fn winner(position: &Position, goal: &Goal) -> Option<Color> {
        let left = match goal {
            Goal::Capture { stones, .. } => *stones,
            Goal::Margin(_) => PointSet::new(),
        };
        Plain { nodes: 0 }.search(&mut position.clone(), goal, left)
    }

    fn search(&mut self, position: &mut Position, goal: &Goal, before: PointSet) -> Option<Color> {
        self.nodes += 1;
        if self.nodes > Plain::MOST_NODES {
            return None;
        }
        let mut left = before;
        match *goal {
            Goal::Capture { attacker, .. } => {
                for point in before {
                    if position.at(point) != Some(attacker.opposite()) {
                        left.remove(point);
                    }
                }
                if left.is_empty() {
                    return Some(attacker);
                }
                if position.is_over() {
                    return Some(attacker.opposite());
                }
            }
            Goal::Margin(least) => {
                if position.is_over() {
                    let reached = position.board_margin() >= least;
                    return Some(if reached { Color::Black } else { Color::White });
                }
            }
        }
        let to_move = position.to_move();
        let moves: Vec<Move> = [Move::Pass]
            .into_iter()
            .chain(position.legal_points().iter().map(Move::Play))
            .collect();
        let mut undecided = false;
        for mv in moves {
            position.play(mv);
            let winner = self.search(position, goal, left);
            position.undo();
            match winner {
                Some(winner) if winner == to_move => return Some(to_move),
                Some(_) => {}
                None => undecided = true,
            }
        }
        (!undecided).then_some(to_move.opposite())
    }
}

/// A position after random legal moves, without two passes in a row.
fn random_position(size: Size, seed: u64, plies: usize) -> Position {
    let mut rng = stream(seed, &[size.width() as u64, size.height() as u64]);
    let mut position = Position::new(size);
    while position.ply() < plies {
        let points = position.legal_points();
        let pass = points.is_empty() || below(&mut rng, 12) == 0;
        let mv = match points.nth(below(&mut rng, points.len().max(1))) {
            Some(point) if !pass => Move::Play(point),
            _ if position.consecutive_passes() == 0 => Move::Pass,
            _ => break,
        };
        position.play(mv);
    }
    position
}

/// The capture of the first chain of each color, and a margin.
fn goals(position: &Position, seed: u64) -> Vec<Goal> {
    let capture = |attacker: Color| {
        let first = position.stones(attacker.opposite()).iter().next()?;
        let stones = position.chain(first);
        Some(Goal::Capture { attacker, stones })
    };
    let area = position.size().area() as u64;
    let margin = Goal::Margin((seed % (2 * area + 1)) as i32 - area as i32);
    Color::ALL.into_iter().filter_map(capture).chain([margin]).collect()
}

/// Compares many positions; the provers are kept, so that results of other histories are reused.
fn compare(width: usize, height: usize, seeds: u64, plies: usize) -> (u64, u64) {
    let size = Size::new(width, height).unwrap();
    let mut provers: HashMap<Goal, Prover> = HashMap::new();
    let (mut compared, mut left_out) = (0, 0);
    for seed in 0..seeds {
        let position = random_position(size, seed, plies);
        for goal in goals(&position, seed) {
            let Some(expected) = Plain::winner(&position, &goal) else {
                left_out += 1;
                continue;
            };
            let prover = provers.entry(goal).or_insert_with(|| Prover::new(goal, 1_000_000));
            let moves: Vec<String> = position.moves().iter().map(|mv| mv.format(size)).collect();
            assert_eq!(prover.winner(&position), Some(expected), "{size} {moves:?} {goal:?}");
            compared += 1;
        }
    }
    (compared, left_out)
}

#[test]
fn answers_are_those_of_a_plain_search() {
    for (width, height, seeds, plies) in [
        (2, 2, 3000, 10),
        (1, 5, 3000, 10),
        (1, 6, 2000, 14),
        (2, 3, 3000, 16),
        (2, 3, 3000, 26),
        (3, 3, 1500, 40),
    ] {
        let (compared, left_out) = compare(width, height, seeds, plies);
        assert!(compared > left_out, "{width}x{height}: {compared} compared, {left_out} left out");
    }
}

#[test]
fn margins_are_those_of_the_solver() {
    for (width, height, plies) in [(2, 2, 2), (3, 2, 3), (3, 3, 5), (4, 3, 9)] {
        let size = Size::new(width, height).unwrap();
        for seed in 0..25 {
            let position = random_position(size, seed, plies);
            let Ok(margin) = solve_margin(&position, 100_000) else {
                continue;
            };
            for (least, expected) in [(margin, Verdict::Proved), (margin + 1, Verdict::Disproved)] {
                let verdict = Prover::new(Goal::Margin(least), 1_000_000).prove(&position);
                assert_eq!(verdict, expected, "{size} seed {seed}");
            }
        }
    }
}
