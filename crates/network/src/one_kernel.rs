//! Computes a convolution, its bias, an addition, and a ReLU in one cuDNN kernel, if cuDNN gets that right.
//!
//! libtorch offers this as `cudnn_convolution_add_relu`. Its `cudnn_convolution_relu` is never used: it adds zero times
//! an uninitialized tensor, and zero times infinity is NaN.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tch::{Device, Kind, TchError, Tensor};

use crate::catching::catching;
use crate::stream::read_back;

/// Set once cuDNN lacks such a kernel for some convolution; from then on, all are computed step by step.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The largest difference from separate operations, as a share of the largest value, at which the kernel is used: more
/// than rounding (to TF32 in fp32), less than any mistake.
const MOST_DIFFERENCE: f64 = 0.05;

/// ReLU(conv(x) + bias + factor * sum), all in channels-last memory: x is `[B, I, H, W]`, the weight `[O, I, k, k]`
/// with padding that keeps the board's size, the bias `[O]`, and the sum `[B, O, H, W]`. One kernel on a GPU, step by
/// step on the CPU.
pub(crate) fn add_relu(x: &Tensor, weight: &Tensor, bias: &Tensor, sum: &Tensor, factor: f64) -> Tensor {
    if x.device().is_cuda() && !REFUSED.load(Ordering::Relaxed) {
        match in_one_kernel(x, weight, bias, sum, factor) {
            Ok(out) => return out,
            // Running out of memory is a separate error, not a missing kernel.
            Err(error) if error.to_string().contains("out of memory") => panic!("{error:?}"),
            Err(_) => REFUSED.store(true, Ordering::Relaxed),
        }
    }
    step_by_step(x, weight, bias, sum, factor)
}

/// conv(x) + bias, with the same arguments as [`add_relu`], or without a bias.
pub(crate) fn conv(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let padding = weight.size()[2] / 2;
    x.conv2d(weight, bias, [1, 1], [padding, padding], [1, 1], 1)
}

fn step_by_step(x: &Tensor, weight: &Tensor, bias: &Tensor, sum: &Tensor, factor: f64) -> Tensor {
    let out = conv(x, weight, Some(bias));
    // Zero times a finite number adds nothing.
    let mut out = if factor == 0.0 { out } else { out + sum * factor };
    out.relu_()
}

fn in_one_kernel(x: &Tensor, weight: &Tensor, bias: &Tensor, sum: &Tensor, factor: f64) -> Result<Tensor, TchError> {
    let padding = weight.size()[2] / 2;
    x.f_cudnn_convolution_add_relu(
        weight,
        sum,
        factor,
        Some(bias),
        [1i64, 1],
        [padding, padding],
        [1i64, 1],
        1,
    )
}

/// The difference between convolutions in one kernel and step by step, as a share of the largest value, and the bound
/// up to which they are used. `None` where there are none: on the CPU, or if cuDNN has no such kernel.
pub fn compared(device: Device, kind: Kind) -> Option<(f64, f64)> {
    if !device.is_cuda() || !tch::Cuda::cudnn_is_available() {
        return None;
    }
    Some((difference(device, kind, in_one_kernel)?, MOST_DIFFERENCE))
}

/// Whether the device computes convolutions correctly in one kernel in this number format. Compares a few with
/// step-by-step results, once per device and format.
pub(crate) fn is_right(device: Device, kind: Kind) -> bool {
    static KNOWN: Mutex<Vec<(Device, Kind, bool)>> = Mutex::new(Vec::new());
    if !device.is_cuda() {
        return false;
    }
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| (known.0, known.1) == (device, kind)) {
        return known.2;
    }
    let right = compared(device, kind).is_some_and(|(found, bound)| found <= bound);
    all.push((device, kind, right));
    right
}

/// The largest difference between `way` and computing [`add_relu`] step by step, as a share of the largest value.
/// Infinite if a result is not finite; `None` if it fails.
fn difference(device: Device, kind: Kind, way: Way) -> Option<f64> {
    let _no_grad = tch::no_grad_guard();
    let number = |seed: f64, shape: [i64; 4]| {
        let numbers = (Tensor::arange(shape.iter().product::<i64>(), (Kind::Float, device)) * seed).sin();
        let [outer, channels, height, width] = shape;
        let last = numbers.view([outer, height, width, channels]).permute([0, 3, 1, 2]);
        last.to_kind(kind)
    };
    let compare = || -> Option<f64> {
        let mut largest: f64 = 0.0;
        for side in [1, 3] {
            let (x, sum) = (number(0.37, [3, 16, 5, 5]), number(0.91, [3, 16, 5, 5]));
            let (weight, bias) = (
                number(0.53, [16, 16, side, side]),
                number(1.7, [1, 16, 1, 1]).flatten(0, 3),
            );
            for factor in [0.0, 1.0] {
                let expected = step_by_step(&x, &weight, &bias, &sum, factor).to_kind(Kind::Float);
                let found = way(&x, &weight, &bias, &sum, factor).ok()?.to_kind(Kind::Float);
                let scale = expected.abs().max().clamp_min(1e-6);
                let share = read_back(&((found - expected).abs().max() / scale)).double_value(&[]);
                largest = if share.is_finite() {
                    largest.max(share)
                } else {
                    f64::INFINITY
                };
            }
        }
        Some(largest)
    };
    catching(compare).ok().flatten()
}

/// A way to compute [`add_relu`].
type Way = fn(&Tensor, &Tensor, &Tensor, &Tensor, f64) -> Result<Tensor, TchError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_right_kernel_passes() {
        crate::limit_threads();
        let right: Way = |x, weight, bias, sum, factor| Ok(step_by_step(x, weight, bias, sum, factor));
        let zeros: Way = |x, _, _, _, _| Ok(x.zeros_like());
        let forgets_the_sum: Way = |x, weight, bias, sum, _| Ok(step_by_step(x, weight, bias, sum, 0.0));
        let forgets_the_bias: Way =
            |x, weight, bias, sum, factor| Ok(step_by_step(x, weight, &bias.zeros_like(), sum, factor));
        let forgets_relu: Way = |x, weight, bias, sum, factor| Ok(conv(x, weight, Some(bias)) + sum * factor);
        let not_a_number: Way =
            |x, weight, bias, sum, factor| Ok(step_by_step(x, weight, bias, sum, factor) * f64::NAN);
        let fails: Way = |_, _, _, _, _| Err(TchError::Torch("no engine".to_owned()));
        for kind in [Kind::Float, Kind::BFloat16] {
            let passes = |way| difference(Device::Cpu, kind, way).is_some_and(|found| found <= MOST_DIFFERENCE);
            assert!(passes(right), "{kind:?}");
            for wrong in [
                zeros,
                forgets_the_sum,
                forgets_the_bias,
                forgets_relu,
                not_a_number,
                fails,
            ] {
                assert!(!passes(wrong), "{kind:?}");
            }
        }
        assert!(!is_right(Device::Cpu, Kind::Float));
    }

    /// A sum with factor 0 changes no bit of the result.
    #[test]
    fn a_sum_with_factor_zero_changes_nothing() {
        crate::limit_threads();
        let x = (Tensor::arange(2 * 8 * 9, (Kind::Float, Device::Cpu)) * 0.3)
            .sin()
            .view([2, 8, 3, 3]);
        let weight = (Tensor::arange(8 * 8 * 9, (Kind::Float, Device::Cpu)) * 0.7)
            .sin()
            .view([8, 8, 3, 3]);
        let bias = Tensor::arange(8, (Kind::Float, Device::Cpu)) * 0.1 - 0.3;
        let found = add_relu(&x, &weight, &bias, &x, 0.0);
        assert_eq!(found, conv(&x, &weight, Some(&bias)).relu());
        assert_eq!(found, (conv(&x, &weight, Some(&bias)) + &x * 0.0).relu());
    }
}
