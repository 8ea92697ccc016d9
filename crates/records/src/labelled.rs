//! Positions with known answers.

use tengen_rules::{Color, Komi, Position};

/// A position with what is known about it.
#[derive(Clone, Debug)]
pub struct LabelledPosition {
    /// The position, with its history as far as the file tells it.
    pub position: Position,
    /// Points added to White's area.
    pub komi: Komi,
    /// `[A + 1]`, in the order of move indexes: how good each move is, 0 to 1, with sum 1. If several moves are equally
    /// right, they share the 1.
    pub policy: Option<Vec<f32>>,
    /// The result for the side to move: 1 a win, 0.5 a tie, 0 a loss.
    pub result: Option<f32>,
    /// The final margin after komi, in points, from the viewpoint of the side to move.
    pub margin: Option<f32>,
}

impl LabelledPosition {
    /// The position without any label.
    pub fn unlabelled(position: Position, komi: Komi) -> LabelledPosition {
        LabelledPosition {
            position,
            komi,
            policy: None,
            result: None,
            margin: None,
        }
    }

    /// The position with what a score after komi, positive for Black, says about the side to move: margin and result.
    #[must_use]
    pub fn with_score(mut self, score: f32) -> LabelledPosition {
        let margin = match self.position.to_move() {
            Color::Black => score,
            Color::White => -score,
        };
        self.margin = Some(margin);
        self.result = Some(if margin > 0.0 {
            1.0
        } else if margin < 0.0 {
            0.0
        } else {
            0.5
        });
        self
    }
}
