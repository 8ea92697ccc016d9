//! Pools each channel over the whole board.

use tch::{Device, Kind, Tensor};

use tengen_rules::Size;

use crate::fused::pooled;
use crate::inputs::{Boards, sides};
use crate::kernels;

/// The board side for which the second pooled value of a channel is zero.
const USUAL_SIDE: f64 = 14.0;

/// `[B, 3 C]`, fp32: for each channel, the mean over the board, the mean times a measure of the board's side, and the
/// maximum. Activations are nonnegative and zero off the board, so only the mean depends on the board's area.
///
/// For prediction on the CPU, boards that fill the canvas are pooled in one pass, except in fp16, a GPU format. A GPU
/// uses our own kernel where it can. Otherwise, `max_pool2d` for the maximum, and a sum divided afterwards, have much
/// cheaper gradients than `amax` and `mean`. Without gradients, a GPU finds the maximum of a whole board with `amax`,
/// since its `max_pool2d` is made for small windows.
pub(crate) fn pool(activations: &Tensor, boards: &Boards) -> Tensor {
    let area = boards.area() as f64;
    let in_one_pass = activations.device() == Device::Cpu && activations.kind() != Kind::Half;
    if boards.mask.is_none() && in_one_pass && activations.is_inference() {
        return pooled(activations, sided(area)).unwrap_or_else(|error| panic!("{error}"));
    }
    kernels::pool(activations, boards).unwrap_or_else(|| pooled_by_libtorch(activations, boards))
}

/// The same with libtorch's operations.
pub(crate) fn pooled_by_libtorch(activations: &Tensor, boards: &Boards) -> Tensor {
    let area = boards.area() as f64;
    let maximum = match activations.device().is_cuda() && activations.is_inference() {
        true => reduced(activations),
        false => windowed(activations, boards.canvas),
    };
    // Summed over one dimension, in the order of the memory: the gradient then has that order, too.
    let points = activations.permute([0, 2, 3, 1]).flatten(1, 2);
    let sum = points.sum_dim_intlist([1i64].as_slice(), false, Kind::Float);
    let (mean, sided) = match &boards.mask {
        None => (&sum / area, &sum * (sided(area) / area)),
        Some(mask) => {
            let mean = sum / &mask.areas;
            let sided = &mean * ((mask.areas.sqrt() - USUAL_SIDE) * 0.1);
            (mean, sided)
        }
    };
    Tensor::cat(&[mean, sided, maximum.to_kind(Kind::Float)], 1)
}

/// `[B, C]`: the maximum of each channel, by pooling with a window of the canvas size.
fn windowed(activations: &Tensor, canvas: Size) -> Tensor {
    let (height, width) = sides(canvas);
    let window = activations.max_pool2d([height, width], [1, 1], [0, 0], [1, 1], false);
    window.flatten(1, 3)
}

/// The same by a reduction.
fn reduced(activations: &Tensor) -> Tensor {
    activations.amax([2i64, 3].as_slice(), false)
}

/// The measure of a board's side that its means are multiplied by.
pub(crate) fn sided(area: f64) -> f64 {
    (area.sqrt() - USUAL_SIDE) * 0.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::InferenceGuard;

    #[test]
    fn one_pass_equals_libtorchs_operations() {
        crate::limit_threads();
        let boards = Boards {
            canvas: Size::new(5, 4).expect("a board"),
            mask: None,
        };
        for kind in [Kind::Float, Kind::BFloat16] {
            let activations = || {
                let flat = (Tensor::arange(3 * 20 * 24, (Kind::Float, Device::Cpu)) * 0.37)
                    .sin()
                    .relu();
                flat.view([3, 4, 5, 24]).permute([0, 3, 1, 2]).to_kind(kind)
            };
            let expected = pool(&activations(), &boards);
            let guard = InferenceGuard::new();
            let inference = activations();
            assert!(inference.is_inference());
            let found = pool(&inference, &boards);
            drop(guard);
            assert_eq!(found.size(), [3, 72]);
            assert!((found - expected).abs().max().double_value(&[]) < 1e-6, "{kind:?}");
        }
    }

    #[test]
    fn both_ways_to_find_the_maximum_agree() {
        crate::limit_threads();
        let canvas = Size::new(5, 4).expect("a board");
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            let flat = (Tensor::arange(3 * 20 * 24, (Kind::Float, Device::Cpu)) * 0.37)
                .sin()
                .relu();
            let activations = flat.view([3, 4, 5, 24]).permute([0, 3, 1, 2]).to_kind(kind);
            assert_eq!(reduced(&activations), windowed(&activations, canvas), "{kind:?}");
        }
    }
}
