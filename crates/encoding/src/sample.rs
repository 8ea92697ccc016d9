//! Training samples: one position with its targets.

use ndarray::Array2;

use crate::features::Features;

/// Number of horizons over which a position has short-term values.
pub const HORIZONS: usize = 3;

/// One position with its targets, in the frame of one of its mirror images. Values are from the mover's view.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The network's input for the position.
    pub features: Features,
    /// Policy target as (move index on the sample's board, probability); the index after the last point is the pass.
    pub policy: Vec<(u16, f32)>,
    /// 1 if there is a policy target, else 0.
    pub policy_weight: f32,
    /// The opponent's policy at the next turn, like [`policy`](Self::policy); empty if there is none or it was not
    /// requested.
    pub reply: Vec<(u16, f32)>,
    /// The mover's score minus the opponent's at the end of the game, in points, without the points in
    /// [`Features::komi`]; clamped to plus or minus the number of points. 0 if `result_weight` is 0.
    pub board_margin: i32,
    /// Target for win, tie and loss: the game's result mixed with the search value. Sums to 1.
    pub value_target: [f32; 3],
    /// The search's values over the next plies, P(win) - P(loss): for each horizon, about 1, 5 and 14 plies on 9x9, the
    /// mean of the values from this position on, weighted by a decay per ply, with the game's result after its end.
    pub short_term: [f32; HORIZONS],
    /// Owner of every point of the final position, `[row, column]` of the sample's board: 1 the mover, -1 the opponent,
    /// 0 neither; values in between if a teacher provides the expected owners.
    pub ownership: Array2<f32>,
    /// 1 if the owners are known from a score or a teacher; 0 if not, in which case they are not trained on.
    pub ownership_weight: f32,
    /// 1 if the margin is known from a score; 0 if not, in which case it is not trained on.
    pub result_weight: f32,
    /// 1 if the value target and the short-term values are known; 0 if not, in which case they are not trained on.
    /// Self-play games are scored or not; for other games, the winner may be known without a score.
    pub value_weight: f32,
    /// Weight of the sample in the loss. Drawing already accounts for the record's weights, so this is 1.
    pub weight: f32,
}
