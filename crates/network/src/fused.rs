//! How does tch reach convolutions that it does not offer? Through a few C functions over libtorch's dispatcher.
//!
//! The C++ side is `shim/fused.cpp`. Weights are packed once for oneDNN; bias, addition and ReLU happen in the same pass.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;

use tch::Tensor;

unsafe extern "C" {
    fn tengen_fused_error() -> *const c_char;
    fn tengen_torch_version() -> *const c_char;
    fn tengen_cpu_capability() -> *const c_char;
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

/// While it lives, libtorch keeps no record for gradients on this thread, nor the means for one. Tensors made meanwhile
/// are for prediction only. Guards end in the opposite order of their beginning.
#[derive(Debug)]
#[must_use = "it ends when it is dropped: bind it to a name"]
pub(crate) struct InferenceGuard {
    guard: *mut c_void,
    /// libtorch keeps the mode for each thread, so the guard must stay on its own.
    _not_send: PhantomData<*const ()>,
}

impl InferenceGuard {
    /// Switches gradients off.
    pub(crate) fn new() -> InferenceGuard {
        // SAFETY: makes a guard on the heap; nothing is read.
        InferenceGuard {
            guard: unsafe { tengen_inference_begin() },
            _not_send: PhantomData,
        }
    }
}

impl Drop for InferenceGuard {
    fn drop(&mut self) {
        // SAFETY: made by `new` on this thread and given back once.
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

/// What follows the convolution and its bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing.
    Nothing,
    /// A ReLU.
    Relu,
}

impl PackedConv {
    /// Packs a `[out, in, k, k]` weight for batches of about `shape`, `[B, in, H, W]`; the padding keeps the board's size.
    ///
    /// # Errors
    /// What libtorch says when it cannot pack, for example without oneDNN.
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

    /// conv(input) + bias, then perhaps a ReLU.
    pub(crate) fn apply(&self, input: &Tensor, after: After) -> Result<Tensor, FusedError> {
        let relu = c_int::from(after == After::Relu);
        // SAFETY: all three tensors outlive the call, which does not keep them.
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

    /// ReLU(conv(input) + bias + sum), written over `sum`'s memory.
    pub(crate) fn add_relu(&self, input: &Tensor, mut sum: Tensor) -> Result<Tensor, FusedError> {
        // SAFETY: all four tensors outlive the call; `sum` is owned here, so nobody sees it change.
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

/// Owns a tensor that the shim made, or says why it made none.
fn taken(tensor: *mut c_void) -> Result<Tensor, FusedError> {
    if tensor.is_null() {
        // SAFETY: the text lives in this thread until its next failure.
        return Err(FusedError(text(unsafe { tengen_fused_error() })));
    }
    // SAFETY: the shim made it with `new at::Tensor`, as libtorch's C interface does, and keeps no copy.
    Ok(unsafe { Tensor::from_ptr(tensor.cast()) })
}

fn text(text: *const c_char) -> String {
    // SAFETY: only called with the shim's own zero-terminated texts.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The libtorch version whose headers this program was built with.
pub(crate) fn torch_version() -> String {
    // SAFETY: a literal.
    text(unsafe { tengen_torch_version() })
}

/// The best instructions that libtorch's CPU kernels use here, such as `AVX512`.
pub(crate) fn cpu_capability() -> String {
    // SAFETY: a static text.
    text(unsafe { tengen_cpu_capability() })
}

/// Whether this processor multiplies bf16 numbers itself.
pub(crate) fn fast_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What libtorch said when a fused convolution failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("libtorch's fused convolution failed: {0}")]
pub(crate) struct FusedError(String);
