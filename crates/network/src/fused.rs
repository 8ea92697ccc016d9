//! Layers that tch does not offer, through a few C functions.
//!
//! The C++ side is in `shim/`. For prediction, weights are packed once for oneDNN, and bias, addition, and ReLU happen
//! in the same pass (`fused.cpp`). For training, normalization, addition, and ReLU are one pass (`norm.cpp`). Pooling
//! is one pass, too (`pool.cpp`). The last layers are in `fused_heads`.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

use tch::{Device, Kind, Tensor};

use tengen_convolutions::ConvError;

use crate::catching::LibtorchError;
use crate::group::Group;
use crate::layers::After;
use crate::libtorch::text;

unsafe extern "C" {
    fn tengen_fused_error() -> *const c_char;
    fn tengen_inference_begin() -> *mut c_void;
    fn tengen_inference_end(guard: *mut c_void);
    fn tengen_pack(weight: *const c_void, padding: i64, input_shape: *const i64) -> *mut c_void;
    fn tengen_conv(
        input: *const c_void,
        weight: *const c_void,
        bias: *const c_void,
        padding: i64,
        relu: c_int,
    ) -> *mut c_void;
    fn tengen_conv_add_relu(
        sum: *mut c_void,
        input: *const c_void,
        weight: *const c_void,
        bias: *const c_void,
        padding: i64,
    ) -> *mut c_void;
    fn tengen_linear(
        x: *const c_void,
        table: *const c_void,
        bias: *const c_void,
        first: i64,
        outputs: i64,
    ) -> *mut c_void;
    fn tengen_pool(activations: *const c_void, sided: f64) -> *mut c_void;
    fn tengen_norm_add_relu(
        x: *const c_void,
        board: *const c_void,
        sum: *const c_void,
        scale: *const c_void,
        shift: *const c_void,
        running_mean: *const c_void,
        running_variance: *const c_void,
        rate: f64,
        epsilon: f64,
        relu: c_int,
        group: *mut c_void,
    ) -> *mut c_void;
}

/// While a guard exists, libtorch records nothing for gradients on this thread, and tensors created in the meantime can
/// only be used for prediction. Guards must be dropped in the reverse order of their creation.
#[derive(Debug)]
#[must_use = "the mode ends when the guard is dropped: bind it to a name"]
pub struct InferenceGuard {
    guard: *mut c_void,
    /// libtorch's mode is per thread, so the guard must stay on its thread.
    _not_send: PhantomData<*const ()>,
}

impl InferenceGuard {
    /// Disables gradients on this thread.
    #[expect(clippy::new_without_default, reason = "a mode that begins should be spelled out")]
    pub fn new() -> InferenceGuard {
        // SAFETY: allocates a guard on the heap and reads nothing.
        InferenceGuard {
            guard: unsafe { tengen_inference_begin() },
            _not_send: PhantomData,
        }
    }
}

impl Drop for InferenceGuard {
    fn drop(&mut self) {
        // SAFETY: created by `new` on this thread and freed once.
        unsafe { tengen_inference_end(self.guard) }
    }
}

/// A convolution without stride whose weight is packed for oneDNN.
#[derive(Debug)]
pub(crate) struct PackedConv {
    weight: Tensor,
    bias: Tensor,
    padding: i64,
}

impl PackedConv {
    /// Packs a `[out, in, k, k]` weight for batches of roughly this `shape`, `[B, in, H, W]`; the padding keeps the
    /// board's size.
    ///
    /// # Errors
    /// libtorch's message when it cannot pack the weight, for example without oneDNN.
    pub(crate) fn new(weight: &Tensor, bias: &Tensor, shape: [i64; 4]) -> Result<PackedConv, FusedError> {
        let padding = weight.size()[2] / 2;
        // SAFETY: the tensor outlives the call and the shape has the four numbers that the function reads.
        let packed = unsafe { tengen_pack(weight.as_ptr().cast(), padding, shape.as_ptr()) };
        Ok(PackedConv {
            weight: taken(packed)?,
            bias: bias.shallow_clone(),
            padding,
        })
    }

    /// Computes conv(input) + bias, followed by a ReLU if `after` asks for one.
    pub(crate) fn apply(&self, input: &Tensor, after: After) -> Result<Tensor, FusedError> {
        let relu = c_int::from(after == After::Relu);
        // SAFETY: all three tensors outlive the call, which keeps no references to them.
        taken(unsafe {
            tengen_conv(
                input.as_ptr().cast(),
                self.weight.as_ptr().cast(),
                self.bias.as_ptr().cast(),
                self.padding,
                relu,
            )
        })
    }

    /// Computes ReLU(conv(input) + bias + sum), reusing the memory of `sum`.
    pub(crate) fn add_relu(&self, input: &Tensor, mut sum: Tensor) -> Result<Tensor, FusedError> {
        // SAFETY: all four tensors outlive the call; `sum` is owned here, so no other code sees it change.
        taken(unsafe {
            tengen_conv_add_relu(
                sum.as_mut_ptr().cast(),
                input.as_ptr().cast(),
                self.weight.as_ptr().cast(),
                self.bias.as_ptr().cast(),
                self.padding,
            )
        })
    }
}

/// The parameters of a batch normalization, each `[C]` in fp32.
#[derive(Debug)]
pub(crate) struct Norm {
    /// Factors of the normalized values.
    pub(crate) scale: Tensor,
    /// Offsets added after scaling.
    pub(crate) shift: Tensor,
    /// The running mean.
    pub(crate) mean: Tensor,
    /// The running variance.
    pub(crate) variance: Tensor,
}

impl Norm {
    /// Normalizes `x`, `[B, C, H, W]`, with the statistics of the batch, adds `sum` if given, and applies a ReLU if
    /// `after` asks for one, in one pass with gradients. The running statistics move toward those of the batch by
    /// `rate`. Works on the CPU, in fp32 and bf16. With `board`, `[B, H W]` in fp32, only the points where it is not 0
    /// count, and the others become 0. With a group, the batches of all its ranks count as one.
    pub(crate) fn of_batch(
        &self,
        x: &Tensor,
        board: Option<&Tensor>,
        sum: Option<&Tensor>,
        after: After,
        (rate, epsilon): (f64, f64),
        group: Option<&Group>,
    ) -> Result<Tensor, FusedError> {
        let pointer = |tensor: &Tensor| tensor.as_ptr().cast::<c_void>();
        // SAFETY: all tensors outlive the call, and the statistics, which it changes, are not read meanwhile. libtorch
        // counts the references that the gradient keeps.
        taken(unsafe {
            tengen_norm_add_relu(
                pointer(x),
                board.map_or(std::ptr::null(), pointer),
                sum.map_or(std::ptr::null(), pointer),
                pointer(&self.scale),
                pointer(&self.shift),
                pointer(&self.mean),
                pointer(&self.variance),
                rate,
                epsilon,
                c_int::from(after == After::Relu),
                group.map_or(std::ptr::null_mut(), Group::pointer),
            )
        })
    }
}

/// `[B, 3 C]`, fp32: for each channel of nonnegative activations `[B, C, H, W]`, the mean over all points, the mean
/// times `sided`, and the maximum. On the CPU.
pub(crate) fn pooled(activations: &Tensor, sided: f64) -> Result<Tensor, FusedError> {
    // SAFETY: the tensor outlives the call, which keeps no reference to it.
    taken(unsafe { tengen_pool(activations.as_ptr().cast(), sided) })
}

/// A linear layer in fp32 on the CPU with its outputs innermost in memory. Unlike with BLAS libraries, a row's result
/// does not depend on the number of rows.
#[derive(Debug)]
pub(crate) struct Columns {
    /// `[inputs, stride]`.
    table: Tensor,
    /// `[stride]`.
    bias: Tensor,
    /// The column of the first output.
    first: i64,
    outputs: i64,
}

/// How many outputs the shim computes at once (`kColumns`). It may read this many columns past the last output.
const COLUMNS: i64 = 64;

impl Columns {
    /// The layer with this weight, `[outputs, inputs]`, and bias, `[outputs]` or none.
    pub(crate) fn new(weight: &Tensor, bias: Option<&Tensor>) -> Columns {
        let (outputs, options) = (weight.size()[0], (Kind::Float, Device::Cpu));
        let bias = bias.map_or_else(|| Tensor::zeros(outputs, options), Tensor::shallow_clone);
        Columns {
            table: weight.tr().constant_pad_nd([0, COLUMNS]).contiguous(),
            bias: bias.constant_pad_nd([0, COLUMNS]).contiguous(),
            first: 0,
            outputs,
        }
    }

    /// The layer that computes only `count` of the outputs, from `first` on.
    pub(crate) fn outputs(&self, first: i64, count: i64) -> Columns {
        Columns {
            table: self.table.shallow_clone(),
            bias: self.bias.shallow_clone(),
            first: self.first + first,
            outputs: count,
        }
    }

    /// `[B, outputs]` from `[B, inputs]`.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor, FusedError> {
        let [x, table, bias] = [x, &self.table, &self.bias].map(|tensor| tensor.as_ptr().cast::<c_void>());
        // SAFETY: the tensors outlive the call, which keeps no reference to them.
        taken(unsafe { tengen_linear(x, table, bias, self.first, self.outputs) })
    }
}

/// Takes ownership of a tensor from the shim, or returns the error if there is none.
pub(crate) fn taken(tensor: *mut c_void) -> Result<Tensor, FusedError> {
    if tensor.is_null() {
        return Err(last_error());
    }
    // SAFETY: the shim created it with `new at::Tensor`, as libtorch's C interface does, and keeps no copy.
    Ok(unsafe { Tensor::from_ptr(tensor.cast()) })
}

/// Why the last call on this thread failed.
pub(crate) fn last_error() -> FusedError {
    // SAFETY: the text lives in this thread until its next failure.
    FusedError(text(unsafe { tengen_fused_error() }))
}

/// libtorch's message when a fused layer failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{FAILED}{0}")]
pub(crate) struct FusedError(String);

impl From<FusedError> for LibtorchError {
    fn from(error: FusedError) -> LibtorchError {
        LibtorchError::new(&error.0)
    }
}

impl From<ConvError> for FusedError {
    fn from(error: ConvError) -> FusedError {
        FusedError(error.to_string())
    }
}

impl FusedError {
    /// libtorch's message alone.
    pub(crate) fn message(self) -> String {
        self.0
    }
}

/// The prefix of a [`FusedError`]'s message.
pub(crate) const FAILED: &str = "libtorch's fused layer failed: ";

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    const RATE: f64 = 0.1;
    const EPSILON: f64 = 1e-5;

    /// Numbers around an offset that differs per channel, in channels-last memory.
    fn activations(seed: f64, kind: Kind) -> Tensor {
        let flat = (Tensor::arange(6 * 5 * 5 * 8, (Kind::Float, Device::Cpu)) * seed).sin();
        let offsets = Tensor::arange(8, (Kind::Float, Device::Cpu)) * 0.7 - 2.0;
        let values = (flat.view([6, 5, 5, 8]) + offsets).permute([0, 3, 1, 2]);
        values.to_kind(kind).detach().set_requires_grad(true)
    }

    fn norm() -> Norm {
        let channels = |seed: f64| (Tensor::arange(8, (Kind::Float, Device::Cpu)) * seed).cos();
        Norm {
            scale: channels(0.9).set_requires_grad(true),
            shift: channels(1.7).set_requires_grad(true),
            mean: channels(2.3),
            variance: channels(0.4) + 2.0,
        }
    }

    /// The same as [`Norm::of_batch`], one operation after the other, in fp32.
    fn plain(norm: &Norm, x: &Tensor, sum: Option<&Tensor>, after: After) -> Tensor {
        let normal = x.to_kind(Kind::Float).batch_norm(
            Some(&norm.scale),
            Some(&norm.shift),
            Some(&norm.mean),
            Some(&norm.variance),
            true,
            RATE,
            EPSILON,
            false,
        );
        let added = match sum {
            Some(sum) => normal + sum.to_kind(Kind::Float),
            None => normal,
        };
        if after == After::Relu { added.relu() } else { added }
    }

    /// The largest difference as a share of the largest value.
    fn difference(a: &Tensor, b: &Tensor) -> f64 {
        let (a, b) = (a.to_kind(Kind::Float), b.to_kind(Kind::Float));
        (&a - &b).abs().max().double_value(&[]) / b.abs().max().double_value(&[])
    }

    #[test]
    fn one_pass_equals_normalization_addition_and_relu_with_all_gradients() {
        crate::limit_threads();
        for (kind, tolerance) in [(Kind::Float, 1e-5), (Kind::BFloat16, 8e-3)] {
            for with_sum in [false, true] {
                for after in [After::Nothing, After::Relu] {
                    let (x, sum) = (activations(0.37, kind), activations(0.91, kind));
                    let sum = with_sum.then_some(&sum);
                    let weights = (Tensor::arange(8, (Kind::Float, Device::Cpu)) * 1.3)
                        .sin()
                        .view([1, 8, 1, 1]);
                    let results = [true, false].map(|fused| {
                        let norm = norm();
                        let out = match fused {
                            true => norm
                                .of_batch(&x, None, sum, after, (RATE, EPSILON), None)
                                .expect("libtorch"),
                            false => plain(&norm, &x, sum, after),
                        };
                        let slope = (&x.to_kind(Kind::Float).detach() * 3.1).sin() * &weights;
                        let loss = (out.to_kind(Kind::Float) * slope).sum(Kind::Float);
                        let mut inputs = vec![&x, &norm.scale, &norm.shift];
                        inputs.extend(sum);
                        let mut all = Tensor::run_backward(&[loss], &inputs, false, false);
                        all.extend([out.detach(), norm.mean.copy(), norm.variance.copy()]);
                        all
                    });
                    for (number, (fused, plain)) in results[0].iter().zip(&results[1]).enumerate() {
                        let found = difference(fused, plain);
                        assert!(
                            found < tolerance,
                            "{kind:?} {with_sum} {after:?}, tensor {number}: {found}"
                        );
                    }
                }
            }
        }
    }

    /// Six boards of 3x4 points in a corner of a 5x5 canvas give the same numbers as on a canvas of 3x4.
    #[test]
    fn points_off_the_board_count_for_nothing() {
        crate::limit_threads();
        let corner = |tensor: &Tensor| tensor.narrow(2, 0, 3).narrow(3, 0, 4);
        let board = {
            let points = Tensor::zeros([6, 1, 5, 5], (Kind::Float, Device::Cpu));
            let _ = corner(&points).fill_(1.0);
            points.flatten(1, 3)
        };
        for (kind, tolerance) in [(Kind::Float, 1e-5), (Kind::BFloat16, 8e-3)] {
            let whole = [0.37, 0.91].map(|seed| activations(seed, kind));
            let small = [0.37, 0.91].map(|seed| {
                corner(&activations(seed, kind))
                    .detach()
                    .contiguous()
                    .set_requires_grad(true)
            });
            let results = [(&whole, Some(&board)), (&small, None)].map(|([x, sum], board)| {
                let norm = norm();
                let out = norm.of_batch(x, board, Some(sum), After::Relu, (RATE, EPSILON), None);
                let out = out.expect("libtorch");
                let loss = (out.to_kind(Kind::Float) * (x.to_kind(Kind::Float).detach() * 3.1).sin()).sum(Kind::Float);
                let mut all = vec![out.detach()];
                all.extend(Tensor::run_backward(
                    &[loss],
                    &[x, sum, &norm.scale, &norm.shift],
                    false,
                    false,
                ));
                all.extend([norm.mean.copy(), norm.variance.copy()]);
                all
            });
            for (number, (masked, small)) in results[0].iter().zip(&results[1]).enumerate() {
                let masked = match number {
                    0..=2 => {
                        let off = masked.abs().sum(Kind::Float) - corner(masked).abs().sum(Kind::Float);
                        assert!(
                            off.double_value(&[]).abs() < 1e-3,
                            "{kind:?}, tensor {number} is 0 off the board"
                        );
                        corner(masked)
                    }
                    _ => masked.shallow_clone(),
                };
                let found = difference(&masked, small);
                assert!(found < tolerance, "{kind:?}, tensor {number}: {found}");
            }
        }
    }

    #[test]
    fn values_that_are_not_finite_stay_visible() {
        crate::limit_threads();
        for kind in [Kind::Float, Kind::BFloat16] {
            let bad = activations(0.37, kind).detach();
            let _ = bad.get(0).get(3).fill_(f64::NAN);
            let out = norm()
                .of_batch(&bad, None, None, After::Relu, (RATE, EPSILON), None)
                .expect("libtorch");
            let lost = out.isnan().any().int64_value(&[]) == 0;
            assert!(!lost, "a NaN of {kind:?} must reach the loss");
        }
    }
}
