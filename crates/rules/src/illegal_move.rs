//! Why a move is illegal.

use std::fmt;

/// The reason why a move is illegal.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum IllegalMove {
    /// The point is outside the grid.
    OffBoard,
    /// The point already has a stone.
    Occupied,
    /// The play would remove its own chain, which the rules forbid.
    Suicide,
    /// The ko rule forbids the play because it repeats the position after an earlier turn.
    Superko {
        /// The number of turns taken when that position was on the board; 0 = the start.
        repeats_ply: usize,
    },
    /// The game has ended, so no more moves are allowed.
    GameOver,
    /// Black must play all handicap stones before passing.
    HandicapPlayDue,
    /// White must pass while Black plays the handicap stones.
    HandicapPassDue,
}

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IllegalMove::OffBoard => f.write_str("the point is off the board"),
            IllegalMove::Occupied => f.write_str("the point is occupied"),
            IllegalMove::Suicide => f.write_str("suicide is forbidden"),
            IllegalMove::Superko { repeats_ply: 0 } => f.write_str("the ko rule forbids it: it repeats the start"),
            IllegalMove::Superko { repeats_ply } => {
                write!(
                    f,
                    "the ko rule forbids it: it repeats the position after ply {repeats_ply}"
                )
            }
            IllegalMove::GameOver => f.write_str("the game is over"),
            IllegalMove::HandicapPlayDue => f.write_str("Black must play the handicap stones first"),
            IllegalMove::HandicapPassDue => f.write_str("White must pass while Black plays the handicap stones"),
        }
    }
}

impl std::error::Error for IllegalMove {}
