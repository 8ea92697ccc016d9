//! GPU work that does not wait for other threads: each thread has its own CUDA stream and waits only for that.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::slice;

use tch::{Device, Kind, Tensor};

use crate::catching::LibtorchError;
use crate::fused::{FusedError, last_error, taken};
use crate::graph;

unsafe extern "C" {
    fn tengen_own_stream(device: i64, urgent: c_int) -> c_int;
    fn tengen_finish_stream(device: i64) -> c_int;
    fn tengen_pinned_words(count: i64) -> *mut c_void;
    fn tengen_copy_into(from: *const c_void, to: *const c_void) -> c_int;
    fn tengen_read_back(tensor: *const c_void) -> *mut c_void;
    fn tengen_copy_back(tensor: *const c_void) -> *mut c_void;
    fn tengen_moment(device: i64) -> *mut c_void;
    fn tengen_stream_handle(device: i64) -> *mut c_void;
    fn tengen_moment_free(moment: *mut c_void);
    fn tengen_moment_wait(moment: *const c_void) -> c_int;
    fn tengen_moment_since(earlier: *const c_void, later: *const c_void) -> f64;
}

thread_local! {
    /// A bit for each GPU on which this thread has its own stream.
    static STREAMS: Cell<u64> = const { Cell::new(0) };
}

/// What a thread uses a GPU for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Predictions, which searches wait for.
    Prediction,
    /// Training, which yields to predictions.
    Training,
}

/// Gives the calling thread its own stream, unless it has one or computes on the CPU.
pub(crate) fn use_own(device: Device, work: Work) {
    let Device::Cuda(index) = device else { return };
    let bit = 1u64.checked_shl(index as u32).unwrap_or(0);
    if STREAMS.replace(STREAMS.get() | bit) & bit == bit {
        return;
    }
    // If this fails, the thread stays on the default stream, where everything works too. A broken GPU shows up in the
    // next operation.
    graph::between_recordings(|| unsafe { tengen_own_stream(index as i64, c_int::from(work == Work::Prediction)) });
}

/// Waits until everything this thread has queued on the device is done, so that other threads can use its results.
///
/// # Errors
/// If the GPU has failed.
pub fn finish(device: Device) -> Result<(), LibtorchError> {
    let Device::Cuda(index) = device else { return Ok(()) };
    // SAFETY: no pointers are passed.
    match unsafe { tengen_finish_stream(index as i64) } {
        0 => Err(last_error().into()),
        _ => Ok(()),
    }
}

/// The calling thread's current stream on a GPU; `None` on the CPU.
pub(crate) fn current(device: Device) -> Option<tengen_gpu::Stream> {
    let Device::Cuda(index) = device else { return None };
    // SAFETY: no pointers are passed, and libtorch's CUDA part is loaded once there is a CUDA device.
    Some(tengen_gpu::Stream(unsafe { tengen_stream_handle(index as i64) }))
}

/// An int64 tensor of this length on the host, which `fill` has to write. If it will go to a GPU, it is in pinned
/// memory and holds anything at first; otherwise zeros.
pub(crate) fn host_words(count: usize, to: Device, fill: impl FnOnce(&mut [i64])) -> Result<Tensor, FusedError> {
    let words = match to {
        Device::Cpu => Tensor::zeros([count as i64], (Kind::Int64, Device::Cpu)),
        // SAFETY: no pointers are passed.
        _ => taken(unsafe { tengen_pinned_words(count as i64) })?,
    };
    // SAFETY: nobody else has the new tensor, whose memory is aligned, contiguous, and this long.
    fill(unsafe { slice::from_raw_parts_mut(words.data_ptr().cast(), count) });
    Ok(words)
}

/// The values of an fp32 tensor on the host, in C order.
///
/// # Panics
/// If it is not such a tensor.
pub(crate) fn floats(tensor: &Tensor) -> &[f32] {
    assert_eq!((tensor.kind(), tensor.device()), (Kind::Float, Device::Cpu));
    assert!(tensor.is_contiguous());
    match tensor.numel() {
        0 => &[],
        // SAFETY: the memory holds this many floats for as long as the tensor lives, and nothing writes to it.
        count => unsafe { slice::from_raw_parts(tensor.data_ptr().cast(), count) },
    }
}

/// Copies a tensor in pinned memory into a GPU tensor of the same shape, without waiting.
pub(crate) fn copy_into(pinned: &Tensor, to: &Tensor) -> Result<(), FusedError> {
    // SAFETY: both tensors outlive the call; libtorch keeps the pinned memory until it is copied.
    match unsafe { tengen_copy_into(pinned.as_ptr().cast(), to.as_ptr().cast()) } {
        0 => Err(last_error()),
        _ => Ok(()),
    }
}

/// A CUDA event: a point in the work that a thread has queued on its GPU, with the time at which the GPU reaches it.
#[derive(Debug)]
pub(crate) struct Moment(*mut c_void);

// SAFETY: any thread may wait for, read, and free a CUDA event; nothing changes it once it is recorded.
unsafe impl Send for Moment {}
// SAFETY: as above.
unsafe impl Sync for Moment {}

impl Moment {
    /// Records an event after everything the calling thread has queued on this GPU.
    pub(crate) fn now(gpu: usize) -> Result<Moment, FusedError> {
        // SAFETY: no pointers are passed, and libtorch's CUDA part is loaded once there is a CUDA device.
        let recorded = unsafe { tengen_moment(gpu as i64) };
        match recorded.is_null() {
            true => Err(last_error()),
            false => Ok(Moment(recorded)),
        }
    }

    /// Waits until the GPU has reached the event.
    pub(crate) fn wait(&self) -> Result<(), FusedError> {
        // SAFETY: the moment was recorded and is not freed yet.
        match unsafe { tengen_moment_wait(self.0) } {
            0 => Err(last_error()),
            _ => Ok(()),
        }
    }

    /// GPU time from an earlier event to this one in seconds; `None` unless the GPU has reached both.
    pub(crate) fn seconds_since(&self, earlier: &Moment) -> Option<f64> {
        // SAFETY: both moments were recorded and are not freed yet.
        let seconds = unsafe { tengen_moment_since(earlier.0, self.0) };
        seconds.is_finite().then_some(seconds)
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        // SAFETY: it was made by `now` and is freed once.
        unsafe { tengen_moment_free(self.0) }
    }
}

/// A GPU tensor on its way to the CPU.
#[derive(Debug)]
pub struct ReadLater {
    copy: Tensor,
    arrived: Option<Moment>,
}

impl ReadLater {
    /// Starts a copy without waiting. On the CPU, it is available at once.
    ///
    /// # Errors
    /// If libtorch cannot copy it.
    pub fn new(tensor: &Tensor) -> Result<ReadLater, LibtorchError> {
        let Device::Cuda(gpu) = tensor.device() else {
            return Ok(ReadLater {
                copy: tensor.shallow_clone(),
                arrived: None,
            });
        };
        // SAFETY: the tensor outlives the call, which keeps no reference to it.
        let copy = taken(unsafe { tengen_copy_back(tensor.as_ptr().cast()) })?;
        Ok(ReadLater {
            copy,
            arrived: Some(Moment::now(gpu)?),
        })
    }

    /// The tensor on the CPU. Blocks only if it has not arrived.
    ///
    /// # Errors
    /// If the GPU has failed in the meantime.
    pub fn read(self) -> Result<Tensor, LibtorchError> {
        if let Some(arrived) = &self.arrived {
            arrived.wait()?;
        }
        Ok(self.copy)
    }
}

/// The tensor on the CPU. Waits only for this thread's work.
pub fn read_back(tensor: &Tensor) -> Tensor {
    if tensor.device() == Device::Cpu {
        return tensor.shallow_clone();
    }
    // SAFETY: the tensor outlives the call, which keeps no reference to it.
    let copy = taken(unsafe { tengen_read_back(tensor.as_ptr().cast()) });
    copy.unwrap_or_else(|error| panic!("{error}"))
}
