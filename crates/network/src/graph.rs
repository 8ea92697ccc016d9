//! CUDA graphs: GPU work that is captured once and then launched in one call.
//!
//! The C++ side, `shim/graph.cpp`, needs libtorch's CUDA part, which may not be installed. It is a separate library,
//! embedded in this program and loaded once a GPU is used.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::os::unix::{Library, RTLD_NOW};
use tch::Device;

use crate::catching::{LibtorchError, catching};

/// The library with the C++ side; empty if it was built without CUDA's headers.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/graph.so"));

/// The functions of the library.
struct Functions {
    begin: unsafe extern "C" fn(i64, *mut c_void) -> *mut c_void,
    end: unsafe extern "C" fn(*mut c_void) -> c_int,
    launch: unsafe extern "C" fn(*mut c_void) -> c_int,
    free: unsafe extern "C" fn(*mut c_void),
    error: unsafe extern "C" fn() -> *const c_char,
}

impl Functions {
    /// The functions, or why there are none.
    fn get() -> Result<&'static Functions, &'static str> {
        static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
        let functions = FUNCTIONS.get_or_init(|| load().map_err(|error| error.to_string()));
        functions.as_ref().map_err(String::as_str)
    }

    fn last_error(&self) -> LibtorchError {
        // SAFETY: the text belongs to this thread until the next call, and is copied.
        let text = unsafe { CStr::from_ptr((self.error)()) };
        LibtorchError::new(&text.to_string_lossy())
    }
}

/// Loads the library from memory, because the program may have been moved to another machine by itself.
fn load() -> Result<Functions, Box<dyn std::error::Error>> {
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    if LIBRARY.is_empty() {
        return Err("this program was built without CUDA's headers".into());
    }
    let mut file = std::fs::File::from(memfd_create("tengen-graph", MemfdFlags::CLOEXEC)?);
    file.write_all(LIBRARY)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the library has no initializers but those of the C++ library, and its functions have these signatures.
    unsafe {
        let library = Library::open(Some(path), RTLD_NOW)?;
        let functions = Functions {
            begin: *library.get(b"tengen_graph_begin\0")?,
            end: *library.get(b"tengen_graph_end\0")?,
            launch: *library.get(b"tengen_graph_launch\0")?,
            free: *library.get(b"tengen_graph_free\0")?,
            error: *library.get(b"tengen_graph_error\0")?,
        };
        // The functions stay valid until the program ends.
        std::mem::forget(library);
        Ok(functions)
    }
}

/// Held during capture: libtorch's registry of graphs is not thread-safe, and synchronizing the whole GPU breaks a
/// capture in progress.
static RECORDING: Mutex<()> = Mutex::new(());

fn recording() -> MutexGuard<'static, ()> {
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`, which must not overlap with a capture on any thread.
pub(crate) fn between_recordings<T>(work: impl FnOnce() -> T) -> T {
    let _none = recording();
    work()
}

/// Captured work for a GPU. Tensors that it reads and writes must live as long as it does.
pub struct Graph {
    functions: &'static Functions,
    recorded: *mut c_void,
}

// SAFETY: libtorch's graph may be launched and freed by any thread, one at a time, which `&mut` and ownership ensure.
unsafe impl Send for Graph {}

impl Graph {
    /// Whether work can be captured, or why not. Call this once libtorch's CUDA part is loaded.
    pub fn available() -> Result<(), &'static str> {
        Functions::get().map(|_| ())
    }

    /// Captures the GPU work that `work` queues, without running it. Its memory comes from the pool of `other`, if any;
    /// the two must then never run at the same time. The calling thread must use its own stream.
    ///
    /// # Errors
    /// If this program has no graphs, the GPU cannot capture this work, or `work` fails.
    pub fn record<T>(
        device: Device,
        other: Option<&Graph>,
        work: impl FnOnce() -> Result<T, LibtorchError>,
    ) -> Result<(Graph, T), LibtorchError> {
        let functions = Functions::get().map_err(|error| LibtorchError::Failed(error.to_owned()))?;
        let Device::Cuda(gpu) = device else {
            return Err(LibtorchError::Failed(
                "only the work of a GPU can be recorded".to_owned(),
            ));
        };
        // Declared first, so that it is dropped after the lock if `work` panics.
        let graph;
        let alone = recording();
        // SAFETY: `other` is a graph that lives during the call.
        let recorded =
            unsafe { (functions.begin)(gpu as i64, other.map_or(std::ptr::null_mut(), |other| other.recorded)) };
        if recorded.is_null() {
            return Err(functions.last_error());
        }
        graph = Graph { functions, recorded };
        let done = catching(work);
        // SAFETY: the capture began on this thread, and ends whether or not the work succeeded.
        let ended = unsafe { (functions.end)(recorded) } != 0;
        drop(alone);
        let made = done??;
        if !ended {
            return Err(functions.last_error());
        }
        Ok((graph, made))
    }

    /// Launches the captured work on the calling thread's stream.
    pub fn launch(&mut self) -> Result<(), LibtorchError> {
        // SAFETY: the graph is complete, as `record` has returned it.
        match unsafe { (self.functions.launch)(self.recorded) } {
            0 => Err(self.functions.last_error()),
            _ => Ok(()),
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was made by `begin` and is freed once.
        between_recordings(|| unsafe { (self.functions.free)(self.recorded) });
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Graph")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gpu_recording_is_an_error_in_words() {
        for device in [Device::Cpu, Device::Cuda(0)] {
            let outcome = Graph::record(device, None, || Ok(()));
            let error = outcome.expect_err("there is no GPU in this test").to_string();
            assert!(!error.is_empty() && !error.contains("frame #"), "{error}");
        }
    }
}
