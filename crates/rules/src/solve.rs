//! Optimal play on tiny grids, by exhaustive search with the whole history.

use std::fmt;

use crate::color::Color;
use crate::moves::Move;
use crate::position::Position;
use crate::proof::{Proof, Question};
use crate::rules::{GameEnd, KoRule};

/// The value of a position under optimal play by both sides.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Solution {
    /// Black's area minus White's in points at the end, without komi.
    pub margin: i32,
    /// A line of optimal play up to the end of the game. A side that can no longer improve the margin plays its first
    /// move in search order.
    pub line: Vec<Move>,
    /// The number of positions searched.
    pub nodes: u64,
}

/// The reason why a position was not solved.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum SolveError {
    /// The search supports only positional superko without the button, where two passes end the game.
    Rules,
    /// The search reached its limit; optimal play leads to a margin within these bounds.
    NotDecided {
        /// The smallest possible margin in points, Black minus White.
        least: i32,
        /// The largest possible margin in points, Black minus White.
        most: i32,
    },
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolveError::Rules => {
                f.write_str("only positional superko without the button, with two passes ending the game, is supported")
            }
            SolveError::NotDecided { least, most } => write!(
                f,
                "not solved within the limit: the margin is between {least} and {most} points"
            ),
        }
    }
}

impl std::error::Error for SolveError {}

/// Finds the margin under optimal play from a position and a line of such play, searching at most `max_nodes`
/// positions.
///
/// The search is exact: it never reuses the result of the same grid with a different history.
///
/// # Errors
/// [`SolveError`] if the rules are not supported or the search reaches its limit.
pub fn solve(position: &Position, max_nodes: u64) -> Result<Solution, SolveError> {
    let mut position = position.clone();
    let mut nodes = 0;
    let margin = margin_of(&mut position, max_nodes, &mut nodes)?;
    let mut line = Vec::new();
    while !position.is_over() {
        let goal = margin + position.to_move().index() as i32;
        let found = reaches(&mut position, goal, max_nodes, &mut nodes);
        let (least, most) = (margin, margin);
        let (_, mv) = found.ok_or(SolveError::NotDecided { least, most })?;
        position.play(mv);
        line.push(mv);
    }
    Ok(Solution { margin, line, nodes })
}

/// Finds only the margin under optimal play, Black's area minus White's in points. This is faster than [`solve`], which
/// also searches for every move of the line of optimal play.
///
/// # Errors
/// The same as for [`solve`].
pub fn solve_margin(position: &Position, max_nodes: u64) -> Result<i32, SolveError> {
    margin_of(&mut position.clone(), max_nodes, &mut 0)
}

fn margin_of(position: &mut Position, max_nodes: u64, nodes: &mut u64) -> Result<i32, SolveError> {
    let rules = position.rules();
    if rules.ko != KoRule::PositionalSuperko || rules.end != GameEnd::TwoPasses || rules.button {
        return Err(SolveError::Rules);
    }
    let area = position.size().area() as i32;
    let (mut least, mut most) = (-area, area);
    while least < most {
        let goal = (least + most).div_euclid(2) + 1;
        match reaches(position, goal, max_nodes, nodes) {
            Some((Color::Black, _)) => least = goal,
            Some((Color::White, _)) => most = goal - 1,
            None => return Err(SolveError::NotDecided { least, most }),
        }
    }
    Ok(least)
}

/// Which side wins if Black's goal is a margin of `goal` points, and a best move for the player to move; adds the
/// number of positions searched to `nodes`.
fn reaches(position: &mut Position, goal: i32, max_nodes: u64, nodes: &mut u64) -> Option<(Color, Move)> {
    let mut proof = Proof::new(position, Goal(goal), max_nodes - (*nodes).min(max_nodes));
    let found = proof.run();
    *nodes += proof.nodes;
    found
}

/// The question whether Black can reach this margin in points.
struct Goal(i32);

impl Question for Goal {
    /// Decided by the score once the game is over, and before that by the points that are safe even after passing.
    fn winner(&self, position: &Position) -> Option<Color> {
        if position.is_over() {
            return Some(self.content(position));
        }
        let area = position.size().area() as i32;
        let is_safe = |color: Color, points: i32| {
            let others = position.stones(color.opposite()).len() as i32;
            area - others >= points && position.safe_points_of(color).len() as i32 >= points
        };
        // Enough safe points for one side decide the goal even if the other side gets all the rest.
        if is_safe(Color::Black, (area + self.0 + 1).div_euclid(2)) {
            Some(Color::Black)
        } else if is_safe(Color::White, (area - self.0).div_euclid(2) + 1) {
            Some(Color::White)
        } else {
            None
        }
    }

    fn pass_first(&self, position: &Position) -> bool {
        self.content(position) == position.to_move()
    }
}

impl Goal {
    /// The side that reaches its goal if the board does not change.
    fn content(&self, position: &Position) -> Color {
        if position.board_margin() >= self.0 {
            Color::Black
        } else {
            Color::White
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;

    #[test]
    fn the_node_limit_leaves_bounds_on_the_margin() {
        let position = Position::new(Size::square(4).unwrap());
        let error = solve(&position, 1000).unwrap_err();
        assert!(
            matches!(
                error,
                SolveError::NotDecided {
                    least: -16..=2,
                    most: 2..=16
                }
            ),
            "{error}"
        );
    }
}
