//! Access to convolutions that tch does not offer, through a few C functions that call libtorch's dispatcher.
//!
//! The C++ side is `shim/fused.cpp`. Weights are packed once for oneDNN; bias, addition, and ReLU happen in the same
//! pass.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

use tch::Tensor;

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
}

/// While a guard exists, libtorch records nothing for gradients on this thread, and tensors created meanwhile can be
/// used only for prediction. Guards must be dropped in the reverse order of their creation.
#[derive(Debug)]
#[must_use = "the mode ends when the guard is dropped: bind it to a name"]
pub(crate) struct InferenceGuard {
    guard: *mut c_void,
    /// libtorch's mode is per thread, so the guard must stay on its thread.
    _not_send: PhantomData<*const ()>,
}

impl InferenceGuard {
    /// Disables gradients on this thread.
    pub(crate) fn new() -> InferenceGuard {
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
    /// Packs a `[out, in, k, k]` weight for batches of about `shape`, `[B, in, H, W]`; the padding keeps the board's
    /// size.
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

    /// Computes conv(input) + bias, followed by a ReLU if `after` says so.
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

/// Takes ownership of a tensor from the shim, or returns the error if there is none.
fn taken(tensor: *mut c_void) -> Result<Tensor, FusedError> {
    if tensor.is_null() {
        // SAFETY: the text lives in this thread until its next failure.
        return Err(FusedError(text(unsafe { tengen_fused_error() })));
    }
    // SAFETY: the shim created it with `new at::Tensor`, as libtorch's C interface does, and keeps no copy.
    Ok(unsafe { Tensor::from_ptr(tensor.cast()) })
}

/// libtorch's message when a fused convolution failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("libtorch's fused convolution failed: {0}")]
pub(crate) struct FusedError(String);
