//! Convolutions in fp32 on the CPU (`shim/convolutions.cpp`): 3x3 ones by Winograd's minimal filtering, with 2.8
//! products for each point and pair of channels on 9x9 instead of 9, at the price of maps before and after them, and
//! 1x1 ones as plain matrix products.
//!
//! This crate knows nothing of networks or of Go: only tensors of libtorch.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use tch::{Device, Kind, Tensor};

unsafe extern "C" {
    fn tengen_convolution_error() -> *const c_char;
    fn tengen_convolution_fits(inputs: i64, outputs: i64) -> c_int;
    fn tengen_convolution_weight(weight: *const c_void, height: i64, width: i64) -> *mut c_void;
    fn tengen_convolution_conv(
        x: *const c_void,
        inputs: i64,
        weight: *const c_void,
        bias: *const c_void,
        own: *const c_void,
        relu: c_int,
    ) -> *mut c_void;
    fn tengen_convolution_conv_add_relu(
        sum: *mut c_void,
        x: *const c_void,
        inputs: i64,
        weight: *const c_void,
        bias: *const c_void,
        own: *const c_void,
    ) -> *mut c_void;
    fn tengen_convolution_train(x: *const c_void, weight: *const c_void) -> *mut c_void;
}

/// Whether a convolution with this weight, `[O, I, k, k]`, can be computed here: a 3x3 or 1x1 one in fp32 on a CPU with
/// AVX2, with a multiple of 8 outputs. Other numbers of inputs than multiples of 8 cost as much as the next one.
pub fn fits(weight: &Tensor) -> bool {
    let [outputs, inputs, height, width] = weight.size()[..] else {
        return false;
    };
    matches!((height, width), (1, 1) | (3, 3))
        && (weight.kind(), weight.device()) == (Kind::Float, Device::Cpu)
        // SAFETY: the function reads nothing but its numbers.
        && unsafe { tengen_convolution_fits(inputs, outputs) != 0 }
}

/// A convolution for prediction. A position's result does not depend on the rest of its batch.
#[derive(Debug)]
pub struct CpuConv {
    inputs: i64,
    /// The weight after its map.
    weight: Tensor,
    bias: Tensor,
}

impl CpuConv {
    /// The convolution with a weight that [`fits`], and a bias `[O]` in fp32; it is fastest on boards of about this
    /// height and width, and works on all.
    ///
    /// # Errors
    /// libtorch's message, such as when the weight does not fit.
    pub fn new(weight: &Tensor, bias: &Tensor, (height, width): (i64, i64)) -> Result<CpuConv, ConvError> {
        // SAFETY: the tensor outlives the call.
        let mapped = taken(unsafe { tengen_convolution_weight(pointer(weight), height, width) })?;
        Ok(CpuConv {
            inputs: weight.size()[1],
            weight: mapped,
            bias: bias.shallow_clone(),
        })
    }

    /// Computes conv(x) + bias + own for x `[B, I, H, W]`, followed by a ReLU if there is to be one. `own`, `[B, O]` in
    /// fp32, is a bias of each position.
    ///
    /// # Errors
    /// libtorch's message, such as when x has another shape.
    pub fn apply(&self, x: &Tensor, own: Option<&Tensor>, relu: bool) -> Result<Tensor, ConvError> {
        let (weight, bias, relu) = (pointer(&self.weight), pointer(&self.bias), c_int::from(relu));
        let own = own.map_or(std::ptr::null(), pointer);
        // SAFETY: all tensors outlive the call, which checks their shapes and keeps no references to them.
        taken(unsafe { tengen_convolution_conv(pointer(x), self.inputs, weight, bias, own, relu) })
    }

    /// Computes ReLU(conv(x) + bias + own + sum), reusing the memory of `sum`, `[B, O, H, W]`.
    ///
    /// # Errors
    /// As [`CpuConv::apply`].
    pub fn add_relu(&self, x: &Tensor, own: Option<&Tensor>, mut sum: Tensor) -> Result<Tensor, ConvError> {
        let (over, weight, bias) = (sum.as_mut_ptr().cast(), pointer(&self.weight), pointer(&self.bias));
        let own = own.map_or(std::ptr::null(), pointer);
        // SAFETY: all tensors outlive the call, which checks their shapes. `sum` is owned here, so no other code sees
        // it change.
        taken(unsafe { tengen_convolution_conv_add_relu(over, pointer(x), self.inputs, weight, bias, own) })
    }
}

/// conv(x) with gradients, for x `[B, I, H, W]` in fp32 on the CPU and a weight that [`fits`].
///
/// # Errors
/// libtorch's message, such as when x has another shape.
pub fn convolved(x: &Tensor, weight: &Tensor) -> Result<Tensor, ConvError> {
    // SAFETY: both tensors outlive the call, which checks their shapes. libtorch counts the references that the
    // gradient keeps.
    taken(unsafe { tengen_convolution_train(pointer(x), pointer(weight)) })
}

/// Takes ownership of a tensor from the shim, or returns the error if there is none.
fn taken(tensor: *mut c_void) -> Result<Tensor, ConvError> {
    if tensor.is_null() {
        // SAFETY: the text lives in this thread until its next failure.
        let text = unsafe { CStr::from_ptr(tengen_convolution_error()) };
        return Err(ConvError(text.to_string_lossy().into_owned()));
    }
    // SAFETY: the shim created it with `new at::Tensor`, as libtorch's C interface does, and keeps no copy.
    Ok(unsafe { Tensor::from_ptr(tensor.cast()) })
}

/// libtorch's message when a convolution failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConvError(String);

fn pointer(tensor: &Tensor) -> *const c_void {
    tensor.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern, in channels-last memory.
    fn numbers(seed: f64, shape: [i64; 4]) -> Tensor {
        let [samples, channels, height, width] = shape;
        let flat = Tensor::arange(shape.iter().product::<i64>(), (Kind::Double, Device::Cpu)) * seed;
        let flat = (flat.sin() * 1e4).frac().to_kind(Kind::Float);
        flat.view([samples, height, width, channels]).permute([0, 3, 1, 2])
    }

    /// Whether this processor has such convolutions, which all with AVX2 have.
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn fits_here(weight: &Tensor) -> bool {
        let fits = fits(weight);
        if !fits {
            eprintln!("SKIPPED: this processor has no AVX2");
        }
        fits
    }

    /// The largest difference as a share of the largest value.
    fn difference(found: &Tensor, expected: &Tensor) -> f64 {
        let difference = (found.to_kind(Kind::Double) - expected).abs().max();
        difference.double_value(&[]) / expected.abs().max().double_value(&[])
    }

    /// Boards that tiles of 3 to 5 points fit, and boards that none does, with any mix of channels.
    const SHAPES: [([i64; 2], [i64; 2]); 14] = [
        ([9, 9], [32, 32]),
        ([7, 7], [16, 48]),
        ([5, 5], [8, 24]),
        ([5, 5], [64, 64]),
        ([9, 9], [64, 32]),
        ([13, 13], [24, 16]),
        ([19, 19], [64, 16]),
        ([13, 11], [24, 40]),
        ([1, 6], [8, 8]),
        ([2, 1], [16, 8]),
        ([8, 3], [40, 32]),
        ([4, 10], [96, 64]),
        ([9, 9], [13, 32]),
        ([7, 7], [1, 16]),
    ];

    /// These with 3x3 and with 1x1 kernels.
    fn shapes() -> impl Iterator<Item = (([i64; 2], [i64; 2]), i64)> {
        SHAPES.into_iter().flat_map(|shape| [(shape, 3), (shape, 1)])
    }

    #[test]
    fn convolutions_and_their_gradients_are_those_of_libtorch_in_double_precision() {
        tch::set_num_threads(1);
        for (([height, width], [inputs, outputs]), side) in shapes() {
            let x = numbers(0.7, [7, inputs, height, width]).set_requires_grad(true);
            let weight = numbers(1.3, [outputs, inputs, side, side]).set_requires_grad(true);
            if !fits_here(&weight) {
                return;
            }
            let padding = [side / 2, side / 2];
            let slope = numbers(2.9, [7, outputs, height, width]);
            let results = [true, false].map(|ours| {
                let kind = if ours { Kind::Float } else { Kind::Double };
                let [x, weight] = [&x, &weight].map(|tensor| tensor.to_kind(kind));
                let out = match ours {
                    true => convolved(&x, &weight).expect("libtorch"),
                    false => x.conv2d(&weight, None::<&Tensor>, [1, 1], padding, [1, 1], 1),
                };
                let loss = (&out * slope.to_kind(kind)).sum(kind);
                let mut all = Tensor::run_backward(&[loss], &[&x, &weight], false, false);
                all.push(out.detach());
                all
            });
            for (number, (found, expected)) in results[0].iter().zip(&results[1]).enumerate() {
                let difference = difference(found, expected);
                assert!(
                    difference < 2e-5,
                    "{height}x{width} {inputs} {outputs} {side}x{side}, tensor {number}: {difference}"
                );
            }
        }
    }

    #[test]
    fn what_follows_a_convolution_is_computed_with_it() {
        tch::set_num_threads(1);
        for (([height, width], [inputs, outputs]), side) in shapes() {
            let _guard = tch::no_grad_guard();
            let (x, weight) = (
                numbers(0.7, [5, inputs, height, width]),
                numbers(1.3, [outputs, inputs, side, side]),
            );
            let padding = [side / 2, side / 2];
            let (sum, bias) = (
                numbers(3.1, [5, outputs, height, width]),
                numbers(4.3, [1, outputs, 1, 1]).view([-1]),
            );
            if !fits_here(&weight) {
                return;
            }
            let own = numbers(5.3, [5, outputs, 1, 1]).view([5, -1]);
            let wide = |tensor: &Tensor| tensor.to_kind(Kind::Double);
            let plain = wide(&x).conv2d(&wide(&weight), Some(&wide(&bias)), [1, 1], padding, [1, 1], 1);
            let each = |own: &Tensor| wide(own).unsqueeze(2).unsqueeze(3);
            // The weights may be mapped for other boards than those of the batch.
            for board in [(9, 9), (7, 7)] {
                let conv = CpuConv::new(&weight, &bias, board).expect("libtorch");
                let found = [
                    (conv.apply(&x, None, false).expect("libtorch"), plain.shallow_clone()),
                    (conv.apply(&x, None, true).expect("libtorch"), plain.relu()),
                    (
                        conv.apply(&x, Some(&own), true).expect("libtorch"),
                        (&plain + each(&own)).relu(),
                    ),
                    (
                        conv.add_relu(&x, None, sum.copy()).expect("libtorch"),
                        (&plain + wide(&sum)).relu(),
                    ),
                    (
                        conv.add_relu(&x, Some(&own), sum.copy()).expect("libtorch"),
                        (&plain + each(&own) + wide(&sum)).relu(),
                    ),
                ];
                for (number, (found, expected)) in found.iter().enumerate() {
                    let difference = difference(found, expected);
                    assert!(
                        difference < 2e-5,
                        "{height}x{width} {side}x{side} {board:?} {number}: {difference}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_position_has_the_same_bits_in_every_batch_and_a_gradient_on_any_number_of_threads() {
        tch::set_num_threads(1);
        for (side, board) in [(1, 9), (3, 5), (3, 7), (3, 9)] {
            let weight = numbers(1.3, [48, 24, side, side]).set_requires_grad(true);
            if !fits_here(&weight) {
                return;
            }
            let x = numbers(0.7, [37, 24, board, board]);
            let together = convolved(&x, &weight).expect("libtorch");
            for (first, count) in [(0, 1), (36, 1), (3, 17)] {
                let alone = convolved(&x.narrow(0, first, count), &weight).expect("libtorch");
                assert_eq!(
                    alone,
                    together.narrow(0, first, count),
                    "{board}x{board} {first} {count}"
                );
            }
            let gradient = || {
                let loss = convolved(&x, &weight).expect("libtorch").square().sum(Kind::Float);
                Tensor::run_backward(&[loss], &[&weight], false, false).remove(0)
            };
            let one = gradient();
            tch::set_num_threads(3);
            let three = gradient();
            tch::set_num_threads(1);
            assert_eq!(one, three, "{side}x{side} on {board}x{board}");
        }
    }

    #[test]
    fn values_that_are_not_finite_stay_visible() {
        tch::set_num_threads(1);
        for side in [3, 1] {
            let weight = numbers(1.3, [8, 8, side, side]);
            if !fits_here(&weight) {
                return;
            }
            let (x, bias) = (numbers(0.7, [2, 8, 9, 9]), Tensor::zeros(8, (Kind::Float, Device::Cpu)));
            let _ = x.get(1).get(3).get(4).get(4).fill_(f64::NAN);
            let conv = CpuConv::new(&weight, &bias, (9, 9)).expect("libtorch");
            for found in [
                conv.apply(&x, None, true).expect("libtorch"),
                conv.add_relu(&x, None, x.zeros_like()).expect("libtorch"),
                convolved(&x, &weight).expect("libtorch"),
            ] {
                let lost = [0, 1].map(|sample| found.get(sample).isnan().any().int64_value(&[]));
                assert_eq!(lost, [0, 1], "a NaN must stay, and in its own position");
            }
        }
    }

    #[test]
    fn tensors_of_other_shapes_are_refused() {
        let zeros = |shape: &[i64]| Tensor::zeros(shape, (Kind::Float, Device::Cpu));
        let (x, weight, bias) = (zeros(&[2, 13, 9, 9]), zeros(&[8, 13, 3, 3]), zeros(&[8]));
        if !fits_here(&weight) {
            return;
        }
        for other in [
            zeros(&[4, 13, 3, 3]),
            zeros(&[8, 13, 1, 3]),
            zeros(&[8, 13, 2, 2]),
            zeros(&[8, 13, 3]),
        ] {
            assert!(convolved(&x, &other).is_err(), "{other:?}");
            assert!(CpuConv::new(&other, &bias, (9, 9)).is_err(), "{other:?}");
        }
        let conv = CpuConv::new(&weight, &bias, (9, 9)).expect("libtorch");
        let sum = || zeros(&[2, 8, 9, 9]);
        assert!(conv.apply(&x, None, false).is_ok() && convolved(&x, &weight).is_ok());
        assert!(conv.add_relu(&x, None, sum()).is_ok());
        // The channels up to a multiple of 8 are not the caller's.
        for other in [zeros(&[2, 14, 9, 9]), zeros(&[13, 9, 9]), x.to_kind(Kind::Double)] {
            assert!(conv.apply(&other, None, false).is_err(), "{other:?}");
            assert!(conv.add_relu(&other, None, sum()).is_err(), "{other:?}");
            assert!(convolved(&other, &weight).is_err(), "{other:?}");
        }
        for other in [zeros(&[1, 8, 9, 9]), zeros(&[2, 16, 9, 9]), zeros(&[2, 8, 9, 8])] {
            assert!(conv.add_relu(&x, None, other).is_err());
        }
        for own in [zeros(&[2, 7]), zeros(&[1, 8]), zeros(&[8])] {
            assert!(conv.apply(&x, Some(&own), false).is_err(), "{own:?}");
            assert!(conv.add_relu(&x, Some(&own), sum()).is_err(), "{own:?}");
        }
        let short = CpuConv::new(&weight, &zeros(&[7]), (9, 9)).expect("libtorch");
        assert!(short.apply(&x, None, false).is_err());
    }

    #[test]
    fn other_convolutions_are_left_to_libtorch() {
        let of = |shape: [i64; 4], kind| Tensor::zeros(shape, (kind, Device::Cpu));
        for [outputs, height, width] in [[4, 3, 3], [4, 1, 1], [32, 5, 5], [32, 1, 3]] {
            assert!(!fits(&of([outputs, 32, height, width], Kind::Float)));
        }
        for side in [1, 3] {
            assert!(!fits(&of([32, 32, side, side], Kind::BFloat16)));
        }
    }
}
