//! The devices that networks run on: the CPU, or a GPU if libtorch's CUDA part is installed.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use serde::Serialize;
use tch::Device;

use tengen_gpu::Gpu;
use tengen_model::Devices;

use crate::graph::Graph;
use crate::libtorch;
use crate::stream::{self, Work};

/// Which device the user requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The CPU.
    #[default]
    Cpu,
    /// The GPU with this number, from 0, or an error that says why it cannot be used.
    Cuda(usize),
    /// The first GPU if one can be used, otherwise the CPU.
    Auto,
}

impl DeviceChoice {
    /// The devices that a user names; at least one.
    pub fn all_of(devices: Devices) -> Vec<DeviceChoice> {
        match devices {
            Devices::Cpu => vec![DeviceChoice::Cpu],
            Devices::Auto => vec![DeviceChoice::Auto],
            Devices::Gpus(_) => devices.gpus().map(DeviceChoice::Cuda).collect(),
        }
    }

    /// The first of the devices that a user names.
    pub fn first_of(devices: Devices) -> DeviceChoice {
        DeviceChoice::all_of(devices)[0]
    }

    /// The device to compute on. Call this before anything else that uses libtorch, because the CUDA part must be
    /// loaded first.
    ///
    /// # Errors
    /// Only for [`DeviceChoice::Cuda`], when libtorch has no CUDA part or does not find this GPU.
    pub fn resolve(self) -> Result<Device, DeviceError> {
        match self {
            DeviceChoice::Cpu => Ok(Device::Cpu),
            DeviceChoice::Cuda(number) => cuda(number),
            DeviceChoice::Auto => Ok(cuda(0).unwrap_or(Device::Cpu)),
        }
    }
}

fn cuda(number: usize) -> Result<Device, DeviceError> {
    load_cuda()?;
    match usize::try_from(tch::Cuda::device_count()).unwrap_or(0) {
        0 => Err(DeviceError::NoGpu),
        found if number < found => {
            static PREPARED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
            if PREPARED.lock().unwrap_or_else(PoisonError::into_inner).insert(number) {
                tengen_gpu::sleep_while_waiting(number);
            }
            Ok(Device::Cuda(number))
        }
        found => Err(DeviceError::NoSuchGpu { number, found }),
    }
}

/// Loads libtorch's CUDA part once. Linking does not load it, because the linker drops libraries that nothing calls.
#[allow(unsafe_code)]
fn load_cuda() -> Result<(), DeviceError> {
    static LOADED: OnceLock<Result<(), String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        // SAFETY: the library's initializers only register kernels with the libtorch that is already loaded.
        let library = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) };
        let library = library.map_err(|error| error.to_string())?;
        // Registered kernels must stay loaded until the program ends.
        std::mem::forget(library);
        Ok(())
    });
    loaded.clone().map_err(DeviceError::NoCudaLibrary)
}

impl From<Device> for DeviceChoice {
    fn from(device: Device) -> DeviceChoice {
        match device {
            Device::Cuda(number) => DeviceChoice::Cuda(number),
            _ => DeviceChoice::Cpu,
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(0) => f.write_str("cuda"),
            DeviceChoice::Cuda(number) => write!(f, "cuda:{number}"),
            DeviceChoice::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<DeviceChoice, DeviceError> {
        match text {
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            "auto" => Ok(DeviceChoice::Auto),
            _ => {
                let number = text.strip_prefix("cuda:").and_then(|number| number.parse().ok());
                number
                    .map(DeviceChoice::Cuda)
                    .ok_or_else(|| DeviceError::Name(text.to_owned()))
            }
        }
    }
}

/// Makes libtorch compute on the calling thread only, here and in threads started later.
///
/// Every thread that predicts or trains calls this first. Several threads with one torch thread each are faster than
/// one thread with several, and torch's own pool is many times slower when other threads are busy.
pub fn limit_threads() {
    set_threads(1);
}

/// Sets how many threads a libtorch operation on this thread may use (1 or more).
pub fn set_threads(threads: usize) {
    static INTEROP: Once = Once::new();
    // libtorch refuses a second call.
    INTEROP.call_once(|| tch::set_num_interop_threads(1));
    tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
}

/// Prepares each thread that its owner moves to, once: sets the number of libtorch threads and, on a GPU, gives the
/// thread its own stream.
#[derive(Debug)]
pub struct ThreadLimit {
    threads: usize,
    device: Device,
    work: Work,
    limited: Option<ThreadId>,
}

impl ThreadLimit {
    /// A limit of this many threads (1 or more), applied to the calling thread immediately.
    pub fn new(threads: usize, device: Device, work: Work) -> ThreadLimit {
        let mut limit = ThreadLimit {
            threads,
            device,
            work,
            limited: None,
        };
        limit.apply();
        limit
    }

    /// Applies the limit to the calling thread. Costs nothing if it is already applied.
    pub fn apply(&mut self) {
        let thread = thread::current().id();
        if self.limited != Some(thread) {
            set_threads(self.threads);
            stream::use_own(self.device, self.work);
            self.limited = Some(thread);
        }
    }
}

/// What the `doctor` command reports about libtorch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LibtorchInfo {
    /// The version of the headers this program was built with, such as `2.11.0`.
    pub version: String,
    /// The most capable instruction set that libtorch's CPU kernels use on this machine, such as `AVX512`.
    pub cpu_capability: String,
    /// Whether oneDNN, which computes the convolutions, is present.
    pub onednn: bool,
    /// Whether this processor has bf16 instructions, so that bf16 is not emulated.
    pub fast_bf16: bool,
    /// Whether the CUDA part of libtorch is installed and loads.
    pub cuda_library: bool,
    /// Whether the CUDA part finds a GPU.
    pub cuda_available: bool,
    /// The number of GPUs that the CUDA part finds.
    pub gpus: u32,
    /// The name and compute capability of each GPU.
    pub gpu_names: Vec<String>,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver_cuda: Option<String>,
    /// Why CUDA cannot be used; `None` if it can.
    pub cuda_problem: Option<String>,
    /// Why batches are not launched as CUDA graphs; `None` if they are.
    pub graphs_problem: Option<String>,
}

impl LibtorchInfo {
    /// Collects the information. Loads libtorch's CUDA part if installed, which takes up to a second.
    pub fn collect() -> LibtorchInfo {
        let problem = cuda(0).err();
        let cuda_library = !matches!(problem, Some(DeviceError::NoCudaLibrary(_)));
        let gpus = match cuda_library {
            true => u32::try_from(tch::Cuda::device_count()).unwrap_or(0),
            false => 0,
        };
        LibtorchInfo {
            version: libtorch::torch_version(),
            cpu_capability: libtorch::cpu_capability(),
            onednn: tch::utils::has_mkldnn(),
            fast_bf16: libtorch::fast_bf16(),
            cuda_library,
            cuda_available: problem.is_none(),
            gpus,
            gpu_names: (0..gpus as usize)
                .filter_map(|number| Some(Gpu::look(number)?.to_string()))
                .collect(),
            driver_cuda: tengen_gpu::driver_cuda(),
            graphs_problem: match &problem {
                Some(_) => Some("there is no GPU".to_owned()),
                None => Graph::available().err().map(str::to_owned),
            },
            cuda_problem: problem.map(|problem| problem.to_string()),
        }
    }
}

/// Why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The installed libtorch has no CUDA part.
    #[error(
        "this libtorch has no CUDA part ({0}): run `scripts/setup-libtorch.sh cuda` (in a release: `tengen setup \
         cuda`), or use `--device cpu`"
    )]
    NoCudaLibrary(String),
    /// The CUDA part is installed but finds no GPU.
    #[error(
        "libtorch's CUDA part finds no GPU: check `nvidia-smi` and the driver's version (580 or later), \
         or use `--device cpu`"
    )]
    NoGpu,
    /// There are fewer GPUs.
    #[error("there is no GPU {number}: libtorch finds {found}, which are numbered from 0")]
    NoSuchGpu {
        /// The requested number.
        number: usize,
        /// The number of GPUs found.
        found: usize,
    },
    /// The text is not the name of a device.
    #[error("`{0}` is not a device: expected cpu, cuda, cuda:1 for the second GPU, or auto")]
    Name(String),
    /// The text is not the name of a number format.
    #[error("`{0}` is not a precision: expected fp32, bf16, or fp16")]
    Precision(String),
    /// The CPU computes fp16 in software.
    #[error("fp16 is a format for GPUs: use auto, bf16, or fp32 on a CPU, or `--device cuda`")]
    Fp16OnCpu,
    /// libtorch cannot pack weights in bf16 for this CPU.
    #[error("this CPU cannot play in bf16, which needs AVX-512: use auto or fp32")]
    Bf16OnCpu,
}
