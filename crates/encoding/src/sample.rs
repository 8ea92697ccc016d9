//! What does the network learn from? One position with its targets.

use ndarray::Array2;

use crate::features::Features;

/// One position with its targets, in the frame of one of its mirror images. Values are from the mover's view.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What the network sees.
    pub features: Features,
    /// Policy target as (move index on the sample's board, probability); the number of points is a pass.
    pub policy: Vec<(u16, f32)>,
    /// 1 when there is a policy target, else 0.
    pub policy_weight: f32,
    /// The mover's score minus the opponent's at the end of the game, in points, without what [`Features::komi`] holds;
    /// cut to the number of points either way. 0 where `result_weight` is 0.
    pub board_margin: i32,
    /// Target for win, tie and loss: the game's result mixed with the search's value. Sums to 1.
    pub value_target: [f32; 3],
    /// Owner of every point at the end, `[row, column]` of the sample's board: 1 the mover, -1 the opponent, 0 neither.
    pub ownership: Array2<i8>,
    /// 1 when the game was counted; 0 when it ended without a count, so that value, margin and owners teach nothing.
    pub result_weight: f32,
    /// Weight of the sample in the loss. Drawing follows the record's weights already, so this is 1.
    pub weight: f32,
}
