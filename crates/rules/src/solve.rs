//! Best play on tiny grids, by exhaustive search with the whole history.

use std::fmt;

use crate::color::Color;
use crate::geometry::Geometry;
use crate::moves::Move;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::proof::{Proof, Question};
use crate::rules::{GameEnd, KoRule};

/// The value of a position with best play of both sides.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Solution {
    /// Area of Black minus area of White in points at the end, without komi.
    pub margin: i32,
    /// Moves of best play up to the end of the game. A side that can no longer change the margin takes its first
    /// move in the search's order.
    pub line: Vec<Move>,
    /// Positions searched.
    pub nodes: u64,
}

/// Why a position was not solved.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum SolveError {
    /// The search is made for positional superko, the end at two passes and no button.
    Rules,
    /// The limit came first; best play leads to a margin within these bounds.
    NotDecided {
        /// The least margin in points, Black minus White.
        least: i32,
        /// The greatest margin in points.
        most: i32,
    },
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolveError::Rules => f.write_str("only games under positional superko that end with two passes are solved"),
            SolveError::NotDecided { least, most } => write!(
                f,
                "not decided within the limit: the margin is between {least} and {most} points"
            ),
        }
    }
}

impl std::error::Error for SolveError {}

/// Finds the margin of best play from a position and a line of such play, searching at most `most_nodes` positions.
///
/// The search is exact: every result follows from the rules and the history, never from a position reached otherwise.
///
/// # Errors
/// [`SolveError`] if the rules are others or the limit came first.
pub fn solve(position: &Position, most_nodes: u64) -> Result<Solution, SolveError> {
    let mut position = position.clone();
    let mut nodes = 0;
    let margin = margin_of(&mut position, most_nodes, &mut nodes)?;
    let mut line = Vec::new();
    while !position.is_over() {
        let goal = margin + position.to_move().index() as i32;
        let found = reaches(&mut position, goal, most_nodes, &mut nodes);
        let (least, most) = (margin, margin);
        let (_, mv) = found.ok_or(SolveError::NotDecided { least, most })?;
        position.play(mv);
        line.push(mv);
    }
    Ok(Solution { margin, line, nodes })
}

/// [`solve`] without the line of best play, which takes a search for every move of it: only the margin, Black's area
/// minus White's in points.
///
/// # Errors
/// As [`solve`].
pub fn solve_margin(position: &Position, most_nodes: u64) -> Result<i32, SolveError> {
    margin_of(&mut position.clone(), most_nodes, &mut 0)
}

fn margin_of(position: &mut Position, most_nodes: u64, nodes: &mut u64) -> Result<i32, SolveError> {
    let rules = position.rules();
    if rules.ko != KoRule::PositionalSuperko || rules.end != GameEnd::TwoPasses || rules.button {
        return Err(SolveError::Rules);
    }
    let area = position.size().area() as i32;
    let (mut least, mut most) = (-area, area);
    while least < most {
        let goal = (least + most).div_euclid(2) + 1;
        match reaches(position, goal, most_nodes, nodes) {
            Some((Color::Black, _)) => least = goal,
            Some((Color::White, _)) => most = goal - 1,
            None => return Err(SolveError::NotDecided { least, most }),
        }
    }
    Ok(least)
}

/// Who wins the question whether Black reaches a margin of `goal` points, and a move by which the player to move gets
/// what he can; counts the positions searched.
fn reaches(position: &mut Position, goal: i32, most_nodes: u64, nodes: &mut u64) -> Option<(Color, Move)> {
    let mut proof = Proof::new(position, Goal(goal), most_nodes - (*nodes).min(most_nodes));
    let found = proof.run();
    *nodes += proof.nodes;
    found
}

/// Black wants to reach this margin in points, White to prevent it.
struct Goal(i32);

impl Question for Goal {
    /// The score tells if the game is over, else what is safe for a side that only passes.
    fn winner(&self, position: &Position) -> Option<Color> {
        if position.is_over() {
            return Some(self.content(position));
        }
        let area = position.size().area() as i32;
        let is_safe = |color: Color, points: i32| {
            let others = position.stones(color.opposite()).len() as i32;
            area - others >= points && safe_points(position, color).len() as i32 >= points
        };
        // So many safe points of one side, the rest the other's at best, decide about the goal.
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
    /// Who gets what he wants if the board stays as it is.
    fn content(&self, position: &Position) -> Color {
        if position.board_margin() >= self.0 {
            Color::Black
        } else {
            Color::White
        }
    }
}

/// Points that belong to a color at the end of the game though it only passes from now on: its pass-alive chains and
/// their eyes of one point, where the opponent cannot play.
fn safe_points(position: &Position, color: Color) -> PointSet {
    let geometry: &Geometry = position.geometry();
    let own = position.stones(color);
    let held = position.pass_alive_of(color);
    let eyes = held - geometry.adjacent(&(geometry.all - own)) - own;
    (held & own) | (eyes & position.empty_points())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;

    #[test]
    fn limits_are_kept() {
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
