//! How does a batch flow through the network? One description, for training and for every fast path.
//!
//! Input: a 3x3 convolution of the planes, plus a linear map of the globals added to every point in fp32. Then residual
//! blocks, conv-BN-ReLU-conv-BN-add-ReLU; in some, what the first half found over the whole board is pooled and adds a
//! bias per channel to the second half. Then one 1x1 convolution feeds the last layers (`heads`).
//!
//! Off-board points are set to zero after every activation, so a board on a larger canvas sees exactly the zero padding
//! that its own edge would give.

use tch::{Kind, Tensor};

use crate::heads::{LastLayers, Outputs, last_layers};
use crate::inputs::{Boards, NetworkInputs, sides};

/// The side at which the second pooled number of a channel is zero.
const USUAL_SIDE: f64 = 14.0;

/// The layers of the tower, with normalisation either done by the batch, by running statistics, or folded away.
pub(crate) trait Layers {
    /// What can go wrong in a layer.
    type Error;
    /// Number of residual blocks.
    fn blocks(&self) -> usize;
    /// The first activations `[B, C, H, W]`, before the mask.
    fn stem(&self, inputs: &NetworkInputs) -> Result<Tensor, Self::Error>;
    /// First half of a block: ReLU(norm(conv(x))), before the mask.
    fn first(&self, block: usize, x: &Tensor, boards: &Boards) -> Result<Tensor, Self::Error>;
    /// Second half of a block: ReLU(norm(conv(y)) + skip), before the mask.
    fn second(&self, block: usize, y: &Tensor, skip: Tensor, boards: &Boards) -> Result<Tensor, Self::Error>;
    /// The `[C, 3 C]` map from pooled numbers to biases, in blocks that pool.
    fn pool_weight(&self, block: usize) -> Option<&Tensor>;
    /// The 1x1 convolution in front of the last layers, `[B, 2 h, H, W]`, before the mask.
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

/// Zeroes off-board points, where there are any.
fn masked(activations: Tensor, boards: &Boards) -> Tensor {
    match &boards.mask {
        Some(mask) => activations * &mask.points,
        None => activations,
    }
}

/// `[B, 3 C]`, fp32: of each channel the mean over the board, the mean times a measure of the board's side, and the
/// maximum. Activations are not negative and zero off the board, so only the mean has to know the board's area.
///
/// A maximum by `max_pool2d` and a sum divided afterwards have much cheaper gradients than `amax` and `mean`.
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
