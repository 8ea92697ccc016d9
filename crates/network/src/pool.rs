//! Pools each channel over the whole board.

use tch::{Device, Kind, Tensor};

use tengen_rules::Size;

use crate::fused::{FusedError, pooled};
use crate::inputs::{Boards, sides};
use crate::kernels;

/// The board side for which the second pooled value of a channel is zero.
const USUAL_SIDE: f64 = 14.0;

/// `[B, 3 C]`, fp32: for each channel, the mean over the board, the mean times a measure of the board's side, and the
/// maximum. Activations are nonnegative and zero off the board, so only the mean depends on the board's area.
///
/// On the CPU, boards are pooled in one pass, except in fp16, a GPU format. A GPU uses our own kernel where it can.
/// Otherwise, `max_pool2d` for the maximum, and a sum divided afterwards, have much cheaper gradients than `amax` and
/// `mean`. Without gradients, a GPU finds the maximum of a whole board with `amax`, since its `max_pool2d` is made for
/// small windows.
pub(crate) fn pool(activations: &Tensor, boards: &Boards) -> Tensor {
    if activations.device() == Device::Cpu && activations.kind() != Kind::Half {
        return pooled_on_cpu(activations, boards).unwrap_or_else(|error| panic!("{error}"));
    }
    kernels::pool(activations, boards).unwrap_or_else(|| pooled_by_libtorch(activations, boards))
}

/// The same in one pass, after which the means of boards that are smaller than the canvas are corrected.
fn pooled_on_cpu(activations: &Tensor, boards: &Boards) -> Result<Tensor, FusedError> {
    let area = boards.area() as f64;
    let Some(mask) = &boards.mask else {
        return pooled(activations, sided(area));
    };
    let numbers = pooled(activations, 0.0)?;
    let channels = activations.size()[1];
    let mean = numbers.narrow(1, 0, channels) * (mask.areas.reciprocal() * area);
    let sided = &mean * ((mask.areas.sqrt() - USUAL_SIDE) * 0.1);
    Ok(Tensor::cat(
        &[mean, sided, numbers.narrow(1, 2 * channels, channels)],
        1,
    ))
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
    use crate::inputs::Mask;

    /// Three boards of 24 channels in channels-last memory.
    fn activations(kind: Kind) -> Tensor {
        let flat = Tensor::arange(3 * 20 * 24, (Kind::Float, Device::Cpu)) * 0.37;
        let boards = flat.sin().relu().view([3, 4, 5, 24]);
        boards.permute([0, 3, 1, 2]).to_kind(kind)
    }

    #[test]
    fn one_pass_equals_libtorchs_operations_and_has_the_same_gradients() {
        crate::limit_threads();
        let full = Boards {
            canvas: Size::new(5, 4).expect("a board"),
            mask: None,
        };
        let slope = (Tensor::arange(3 * 72, (Kind::Float, Device::Cpu)) * 0.71).cos();
        for kind in [Kind::Float, Kind::BFloat16] {
            for boards in [&full, &some_smaller(kind)] {
                let activations = match &boards.mask {
                    Some(mask) => activations(kind) * &mask.points,
                    None => activations(kind),
                };
                let ways: [fn(&Tensor, &Boards) -> Tensor; 2] = [pool, pooled_by_libtorch];
                let [found, expected] = ways.map(|pool| {
                    let x = activations.copy().set_requires_grad(true);
                    let out = pool(&x, boards).view([-1]);
                    let gradient = Tensor::run_backward(&[out.dot(&slope)], &[&x], false, false);
                    [out.detach(), gradient[0].to_kind(Kind::Float)]
                });
                for (found, expected) in found.iter().zip(&expected) {
                    // A gradient in bf16 is rounded once here, and after every step by libtorch.
                    let most = if kind == Kind::BFloat16 { 0.01 } else { 1e-6 };
                    let difference = (found - expected).abs().max().double_value(&[]);
                    assert!(difference < most, "{kind:?} {:?}: {difference}", boards.mask);
                }
            }
        }
    }

    /// Boards of 5x4, 3x4, and 5x2 points on a canvas of 5x4.
    fn some_smaller(kind: Kind) -> Boards {
        let points = Tensor::zeros([3, 1, 4, 5], (Kind::Float, Device::Cpu));
        for (board, (height, width)) in [(4, 5), (4, 3), (2, 5)].into_iter().enumerate() {
            let _ = points
                .get(board as i64)
                .narrow(1, 0, height)
                .narrow(2, 0, width)
                .fill_(1.0);
        }
        let flat = points.flatten(1, 3);
        Boards {
            canvas: Size::new(5, 4).expect("a board"),
            mask: Some(Mask {
                areas: flat.sum_dim_intlist([1i64].as_slice(), true, Kind::Float),
                points: points.to_kind(kind),
                flat,
            }),
        }
    }

    #[test]
    fn both_ways_to_find_the_maximum_agree() {
        crate::limit_threads();
        let canvas = Size::new(5, 4).expect("a board");
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            let activations = activations(kind);
            assert_eq!(reduced(&activations), windowed(&activations, canvas), "{kind:?}");
        }
    }
}
