//! Work on a GPU that does not wait for other threads. Each thread has a stream of its own, and waits for it alone.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use tch::{Device, Tensor};

use crate::fused::{FusedError, last_error, taken};

unsafe extern "C" {
    fn tengen_own_stream(device: i64, urgent: c_int) -> c_int;
    fn tengen_finish_stream(device: i64) -> c_int;
    fn tengen_copy_into(from: *const c_void, to: *const c_void) -> c_int;
    fn tengen_read_back(tensor: *const c_void) -> *mut c_void;
}

thread_local! {
    /// Whether this thread works on a stream of its own.
    static HAS_STREAM: Cell<bool> = const { Cell::new(false) };
}

/// What a thread uses a GPU for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Predictions, which searches wait for.
    Prediction,
    /// Training, which comes second.
    Training,
}

/// Gives the calling thread a stream of its own, unless it has one or computes on the CPU.
pub(crate) fn use_own(device: Device, work: Work) {
    let Device::Cuda(index) = device else { return };
    if HAS_STREAM.replace(true) {
        return;
    }
    // If this fails, the thread stays on the common stream, where everything works too. A broken GPU shows with the
    // next operation.
    // SAFETY: no pointers are passed, and libtorch's CUDA part is loaded once there is a CUDA device.
    unsafe { tengen_own_stream(index as i64, c_int::from(work == Work::Prediction)) };
}

/// Waits until everything that this thread has asked of the device is done, so that other threads can use its results.
pub(crate) fn finish(device: Device) -> Result<(), FusedError> {
    let Device::Cuda(index) = device else { return Ok(()) };
    // SAFETY: no pointers are passed.
    match unsafe { tengen_finish_stream(index as i64) } {
        0 => Err(last_error()),
        _ => Ok(()),
    }
}

/// Copies a tensor in pinned memory into one of a GPU, of the same shape, without waiting.
pub(crate) fn copy_into(pinned: &Tensor, to: &Tensor) -> Result<(), FusedError> {
    // SAFETY: both tensors outlive the call; libtorch keeps the pinned memory until it is copied.
    match unsafe { tengen_copy_into(pinned.as_ptr().cast(), to.as_ptr().cast()) } {
        0 => Err(last_error()),
        _ => Ok(()),
    }
}

/// The tensor on the CPU. Waits only for the work of this thread.
pub fn read_back(tensor: &Tensor) -> Tensor {
    if tensor.device() == Device::Cpu {
        return tensor.shallow_clone();
    }
    // SAFETY: the tensor outlives the call, which keeps no reference to it.
    let copy = taken(unsafe { tengen_read_back(tensor.as_ptr().cast()) });
    copy.unwrap_or_else(|error| panic!("{error}"))
}
