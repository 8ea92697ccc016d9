//! What a proof is about: a goal that one color reaches and the other prevents.

use tengen_rules::{Color, Move, Point, PointSet, Position};

use crate::table::Numbers;

/// A goal that one color, its claimant, tries to reach and the other tries to prevent, with any legal moves of both.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Goal {
    /// The attacker captures every one of these stones of the opponent.
    ///
    /// The goal is about the stones, not the points: a stone has been captured once it has left the board, by capture
    /// or suicide, even if its owner plays on the same point later. The attacker has reached the goal as soon as each
    /// stone has left the board once. The defender has prevented it if one of the stones is still on the board at the
    /// end of the game; so stones that Tromp-Taylor scoring counts as alive because nobody took them off have not been
    /// captured, and a seki prevents the goal.
    Capture {
        /// The color that tries to capture the stones.
        attacker: Color,
        /// Stones of the other color.
        stones: PointSet,
    },
    /// Black's area minus White's at the end of the game, without komi, is at least this many points.
    Margin(i32),
}

impl Goal {
    /// The color that tries to reach the goal.
    pub fn claimant(&self) -> Color {
        match *self {
            Goal::Capture { attacker, .. } => attacker,
            Goal::Margin(_) => Color::Black,
        }
    }

    /// The target stones that are on the board in the first position of a question.
    pub(crate) fn targets(&self, position: &Position) -> PointSet {
        match self {
            Goal::Capture { attacker, stones } => *stones & position.stones(attacker.opposite()),
            Goal::Margin(_) => PointSet::new(),
        }
    }

    /// The target stones that are still on the board after a turn, given those before it.
    ///
    /// A stone that left the board never returns, since no single turn both clears and fills a point.
    pub(crate) fn left(&self, before: PointSet, position: &Position) -> PointSet {
        match self {
            Goal::Capture { attacker, .. } => before & position.stones(attacker.opposite()),
            Goal::Margin(_) => before,
        }
    }

    /// The color that gets its way, if that is certain; `left` holds the target stones that are still on the board.
    pub(crate) fn winner(&self, position: &Position, left: PointSet) -> Option<Color> {
        match *self {
            Goal::Capture { attacker, .. } if left.is_empty() => Some(attacker),
            Goal::Capture { attacker, .. } => {
                // A pass-alive stone survives even if its owner only passes, which is always legal.
                let defender = attacker.opposite();
                let is_saved = position.is_over() || position.pass_alive_of(defender).intersects(&left);
                is_saved.then_some(defender)
            }
            Goal::Margin(least) => margin_winner(position, least),
        }
    }
}

impl Goal {
    /// The proof numbers that a position begins with, for the player to move there; they only guide the search.
    ///
    /// A capture needs about as many moves as the target has liberties, and moves near the target matter more.
    pub(crate) fn guess(&self, position: &Position, left: PointSet, mv: Move) -> Numbers {
        let mover = position.to_move().opposite();
        let fills_eye = mv.point().is_some_and(|point| position.is_one_point_eye(point, mover));
        let Goal::Capture { attacker, .. } = *self else {
            let unlikely = if fills_eye { 20 } else { 0 };
            return Numbers {
                phi: 1,
                delta: 1 + unlikely,
            };
        };
        let empty = position.empty_points();
        let size = position.size();
        let liberties: PointSet = left
            .iter()
            .flat_map(|point| point.neighbors(size))
            .filter(|&point| empty.contains(point))
            .collect();
        let near = |point: Point| {
            liberties.contains(point) || point.neighbors(size).any(|next| (liberties | left).contains(next))
        };
        let far = if fills_eye {
            20
        } else if mv.point().is_some_and(near) {
            0
        } else {
            2
        };
        let capture = liberties.len().max(1) as u32;
        let saving = 4u32.saturating_sub(capture).max(1);
        match position.to_move() == attacker {
            true => Numbers {
                phi: capture,
                delta: saving + far,
            },
            false => Numbers {
                phi: saving,
                delta: capture + far,
            },
        }
    }
}

/// Decided by the score once the game is over, and before that by the points that are safe even after passing.
fn margin_winner(position: &Position, least: i32) -> Option<Color> {
    if position.is_over() {
        return Some(match position.board_margin() >= least {
            true => Color::Black,
            false => Color::White,
        });
    }
    let area = position.size().area() as i32;
    // Enough safe points for one side decide the goal even if the other side gets all the rest.
    let has_safe = |color: Color, points: i32| {
        let others = position.stones(color.opposite()).len() as i32;
        area - others >= points && position.safe_points_of(color).len() as i32 >= points
    };
    if has_safe(Color::Black, (area + least + 1).div_euclid(2)) {
        Some(Color::Black)
    } else if has_safe(Color::White, (area - least).div_euclid(2) + 1) {
        Some(Color::White)
    } else {
        None
    }
}
