//! Pools each channel over the whole board.

use tch::{Kind, Tensor};

use crate::inputs::{Boards, sides};

/// The board side for which the second pooled number of a channel is zero.
const USUAL_SIDE: f64 = 14.0;

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
