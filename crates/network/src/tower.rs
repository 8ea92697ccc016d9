//! How does a batch flow through the network? One description serves training and every fast path.
//!
//! The input layer is a 3x3 convolution of the planes plus a linear map of the globals, computed in fp32 and added to
//! every point. Residual blocks follow: conv-BN-ReLU-conv-BN-add-ReLU. In some blocks, the output of the first half is
//! pooled over the whole board and adds a bias per channel to the second half. Finally, a 1x1 convolution feeds the
//! last layers (`heads`).
//!
//! Off-board points are set to zero after every activation, so a board on a larger canvas gets exactly the zero padding
//! that it would get at its own edge.

use tch::{Kind, Tensor};

use crate::heads::{LastLayers, Outputs, last_layers};
use crate::inputs::{Boards, NetworkInputs, sides};

/// The board side for which the second pooled number of a channel is zero.
const USUAL_SIDE: f64 = 14.0;

/// The layers of the tower. Normalization uses batch statistics, uses running statistics, or is folded into
/// convolutions.
pub(crate) trait Layers {
    /// The error that a layer can return.
    type Error;
    /// Number of residual blocks.
    fn blocks(&self) -> usize;
    /// The first activations `[B, C, H, W]`, before the mask.
    fn stem(&self, inputs: &NetworkInputs) -> Result<Tensor, Self::Error>;
    /// The first half of a block: ReLU(norm(conv(x))), before the mask.
    fn first(&self, block: usize, x: &Tensor, boards: &Boards) -> Result<Tensor, Self::Error>;
    /// The second half of a block: ReLU(norm(conv(y)) + skip), before the mask.
    fn second(&self, block: usize, y: &Tensor, skip: Tensor, boards: &Boards) -> Result<Tensor, Self::Error>;
    /// The `[C, 3 C]` map from pooled numbers to biases; `None` in blocks that do not pool.
    fn pool_weight(&self, block: usize) -> Option<&Tensor>;
    /// The output of the 1x1 convolution before the last layers, `[B, 2 h, H, W]`, before the mask.
    fn head(&self, x: &Tensor, boards: &Boards) -> Result<Tensor, Self::Error>;
    /// The linear layers at the end.
    fn last(&self) -> &LastLayers;
}

/// Runs a batch through the layers.
pub(crate) fn forward<L: Layers>(layers: &L, inputs: &NetworkInputs) -> Result<Outputs, L::Error> {
    let boards = &inputs.boards;
    let mut x = masked(layers.stem(inputs)?, boards);
    for block in 0..layers.blocks() {
        let y = masked(layers.first(block, &x, boards)?, boards);
        let skip = match layers.pool_weight(block) {
            Some(weight) => {
                &x + pool(&y, boards)
                    .linear(weight, None::<&Tensor>)
                    .to_kind(x.kind())
                    .unsqueeze(2)
                    .unsqueeze(3)
            }
            None => x,
        };
        x = masked(layers.second(block, &y, skip, boards)?, boards);
    }
    let head = masked(layers.head(&x, boards)?, boards);
    Ok(last_layers(layers.last(), &head, inputs))
}

/// Zeroes off-board points, if there are any.
fn masked(activations: Tensor, boards: &Boards) -> Tensor {
    match &boards.mask {
        Some(mask) => activations * &mask.points,
        None => activations,
    }
}

/// `[B, 3 C]`, fp32: for each channel, the mean over the board, the mean times a measure of the board's side, and the
/// maximum. Activations are nonnegative and zero off the board, so only the mean depends on the board's area.
///
/// Using `max_pool2d` for the maximum, and a sum that is divided afterwards, has much cheaper gradients than `amax` and
/// `mean`.
pub(crate) fn pool(activations: &Tensor, boards: &Boards) -> Tensor {
    let (height, width) = sides(boards.canvas);
    let maximum = activations
        .max_pool2d([height, width], [1, 1], [0, 0], [1, 1], false)
        .flatten(1, 3);
    let sum = activations.sum_dim_intlist([2i64, 3].as_slice(), false, Kind::Float);
    let (mean, sided) = match &boards.mask {
        None => {
            let area = boards.area() as f64;
            (&sum / area, &sum * ((area.sqrt() - USUAL_SIDE) * 0.1 / area))
        }
        Some(mask) => {
            let mean = sum / &mask.areas;
            let sided = &mean * ((mask.areas.sqrt() - USUAL_SIDE) * 0.1);
            (mean, sided)
        }
    };
    Tensor::cat(&[mean, sided, maximum.to_kind(Kind::Float)], 1)
}
