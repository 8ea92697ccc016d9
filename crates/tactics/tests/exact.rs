//! The prover against plain searches that remember nothing.

use std::collections::HashMap;

use tengen_rng::{below, stream};
use tengen_rules::{Color, Move, PointSet, Position, Rules, Size, solve_margin};
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

/// A position after random legal moves, without two passes in a row, from the empty board or random stones.
fn random_position(size: Size, seed: u64, plies: usize) -> Position {
    let mut rng = stream(seed, &[size.width() as u64, size.height() as u64]);
    let mut position = Position::new(size);
    if below(&mut rng, 2) == 0 {
        let mut stones = [PointSet::new(); 2];
        for point in size.points() {
            if let Some(set) = stones.get_mut(below(&mut rng, 3)) {
                set.insert(point);
            }
        }
        let start = Position::from_setup(size, Rules::tromp_taylor(), &stones[0], &stones[1], Color::Black);
        position = start.unwrap_or(position);
    }
    let plies = below(&mut rng, plies + 1);
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

/// The capture of the first chain of each color, of all stones of each color, and a margin.
fn goals(position: &Position, seed: u64) -> Vec<Goal> {
    let mut goals = Vec::new();
    for attacker in Color::ALL {
        let all = position.stones(attacker.opposite());
        if let Some(first) = all.iter().next() {
            let stones = position.chain(first);
            goals.push(Goal::Capture { attacker, stones });
            if all != stones {
                goals.push(Goal::Capture { attacker, stones: all });
            }
        }
    }
    let area = position.size().area() as u64;
    goals.push(Goal::Margin((seed % (2 * area + 1)) as i32 - area as i32));
    goals
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

fn answers_are_those_of_a_plain_search(width: usize, height: usize, seeds: u64, plies: usize) {
    let (compared, left_out) = compare(width, height, seeds, plies);
    assert!(
        compared > left_out,
        "{width}x{height}: {compared} compared, {left_out} left out"
    );
}

// One test for each of the boards that take long, so that they run side by side.

#[test]
fn answers_on_up_to_six_points_are_those_of_a_plain_search() {
    for (width, height, seeds, plies) in [(2, 2, 2500, 14), (1, 4, 2500, 14), (1, 5, 1500, 14), (1, 6, 1000, 20)] {
        answers_are_those_of_a_plain_search(width, height, seeds, plies);
    }
}

#[test]
fn answers_on_2x3_are_those_of_a_plain_search() {
    answers_are_those_of_a_plain_search(2, 3, 2500, 24);
}

#[test]
fn answers_on_3x3_are_those_of_a_plain_search() {
    answers_are_those_of_a_plain_search(3, 3, 700, 60);
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

/// The same grid, player, and passes with different histories: the shorter one is asked first, so that a result that
/// depends on the history would be reused wrongly for the longer one.
#[test]
fn a_longer_history_is_not_answered_from_a_shorter_one() {
    let mut compared = 0;
    for (width, height) in [(2, 2), (1, 4), (1, 5), (2, 3), (3, 3)] {
        let size = Size::new(width, height).unwrap();
        for seed in 0..2000 {
            let start = random_position(size, seed, 0);
            let mut rng = stream(seed, &[1]);
            let mut long = start.clone();
            for _ in 0..1 + below(&mut rng, 3) {
                let points = long.legal_points();
                let Some(point) = points.nth(below(&mut rng, points.len().max(1))) else {
                    break;
                };
                long.play(Move::Play(point));
                long.play(Move::Pass);
            }
            let Some(short) = with_less_history(&long) else {
                continue;
            };
            assert_eq!((short.hash(), short.to_move()), (long.hash(), long.to_move()));
            for goal in goals(&long, seed) {
                let mut prover = Prover::new(goal, 1_000_000);
                for position in [&short, &long] {
                    let Some(expected) = Plain::winner(position, &goal) else {
                        continue;
                    };
                    let moves: Vec<String> = long.moves().iter().map(|mv| mv.format(size)).collect();
                    assert_eq!(
                        prover.winner(position),
                        Some(expected),
                        "{size} {seed} {moves:?} {goal:?}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 5_000, "{compared}");
}

/// The position whose history holds only its last two turns.
fn with_less_history(position: &Position) -> Option<Position> {
    let mut before = position.clone();
    let (pass, play) = (before.undo()?, before.undo()?);
    let (black, white) = (before.stones(Color::Black), before.stones(Color::White));
    let start = Position::from_setup(before.size(), before.rules(), &black, &white, before.to_move());
    let mut short = start.ok()?;
    short.play(play);
    short.play(pass);
    Some(short)
}
