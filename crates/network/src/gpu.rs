//! What is a GPU called, and what can it do? Asks the driver, which libtorch's CUDA part has loaded.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt;
use std::sync::OnceLock;

use libloading::os::unix::Library;
use tch::Device;

use crate::device::DeviceChoice;
use crate::precision::Precision;

/// A GPU as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gpu {
    name: String,
    /// Its compute capability: the major and the minor number.
    capability: (c_int, c_int),
}

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` of cuda.h.
const CAPABILITY_MAJOR: c_int = 75;

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR` of cuda.h.
const CAPABILITY_MINOR: c_int = 76;

/// `CU_CTX_SCHED_BLOCKING_SYNC` of cuda.h: threads that wait for the GPU sleep.
const SLEEP: c_uint = 4;

/// The largest name that is read, with the zero at its end.
const NAME_BYTES: usize = 256;

impl Gpu {
    /// The GPU with this number, from 0; `None` if the driver does not describe it.
    pub(crate) fn look(number: usize) -> Option<Gpu> {
        ask(driver()?, c_int::try_from(number).ok()?)
    }

    /// Whether it has instructions for bf16: from compute capability 8.0 on.
    pub(crate) fn computes_bf16(&self) -> bool {
        self.capability.0 >= 8
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.capability;
        write!(f, "{}, compute capability {major}.{minor}", self.name)
    }
}

/// The newest CUDA that the driver can be used with, such as `13.0`.
pub(crate) fn driver_cuda() -> Option<String> {
    type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
    let mut version: c_int = 0;
    // SAFETY: the signature is that of cuda.h, and the pointer is to a variable that outlives the call.
    let asked = unsafe { driver()?.get::<GetVersion>(b"cuDriverGetVersion\0").ok()?(&mut version) };
    (asked == 0).then(|| format!("{}.{}", version / 1000, version % 1000 / 10))
}

fn driver() -> Option<&'static Library> {
    static DRIVER: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: the driver's initializers have no requirements, and it stays loaded.
    let driver = DRIVER.get_or_init(|| unsafe { Library::new("libcuda.so.1") }.ok());
    driver.as_ref()
}

/// Lets threads that wait for this GPU sleep. By default they spin, which takes cores from searches. Call this before
/// the GPU is used; if the driver cannot do it, threads spin.
pub(crate) fn sleep_while_waiting(number: usize) {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type SetFlags = unsafe extern "C" fn(c_int, c_uint) -> c_int;
    let (Some(driver), Ok(number)) = (driver(), c_int::try_from(number)) else {
        return;
    };
    let mut device: c_int = 0;
    // SAFETY: the signatures are those of cuda.h, and the pointer is to a variable that outlives the call.
    unsafe {
        if let Ok(init) = driver.get::<Init>(b"cuInit\0")
            && let Ok(get) = driver.get::<Get>(b"cuDeviceGet\0")
            && let Ok(set_flags) = driver.get::<SetFlags>(b"cuDevicePrimaryCtxSetFlags_v2\0")
            && init(0) == 0
            && get(&mut device, number) == 0
        {
            set_flags(device, SLEEP);
        }
    }
}

fn ask(driver: &Library, number: c_int) -> Option<Gpu> {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type GetName = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
    type GetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    let (mut device, mut major, mut minor): (c_int, c_int, c_int) = (0, 0, 0);
    let mut name: [c_char; NAME_BYTES] = [0; NAME_BYTES];
    // SAFETY: the signatures are those of cuda.h, and every pointer is to a variable that outlives the call.
    let succeeded = unsafe {
        driver.get::<Init>(b"cuInit\0").ok()?(0) == 0
            && driver.get::<Get>(b"cuDeviceGet\0").ok()?(&mut device, number) == 0
            && driver.get::<GetName>(b"cuDeviceGetName\0").ok()?(name.as_mut_ptr(), NAME_BYTES as c_int, device) == 0
            && driver.get::<GetAttribute>(b"cuDeviceGetAttribute\0").ok()?(&mut major, CAPABILITY_MAJOR, device) == 0
            && driver.get::<GetAttribute>(b"cuDeviceGetAttribute\0").ok()?(&mut minor, CAPABILITY_MINOR, device) == 0
    };
    let bytes = name.map(|c| c as u8);
    let name = CStr::from_bytes_until_nul(&bytes).ok()?.to_string_lossy().into_owned();
    let capability = (major, minor);
    succeeded.then_some(Gpu { name, capability })
}

/// What networks run on, for people: `cuda:0 NVIDIA H100 80GB HBM3 · bf16`.
pub fn in_words(devices: &[DeviceChoice], precision: Precision) -> String {
    let names: Vec<String> = devices.iter().map(|device| named(*device)).collect();
    format!("{} · {precision}", names.join(", "))
}

fn named(choice: DeviceChoice) -> String {
    match choice.resolve() {
        Ok(Device::Cuda(number)) => {
            let name = Gpu::look(number).map_or_else(|| "GPU".to_owned(), |gpu| gpu.name);
            format!("cuda:{number} {name}")
        }
        Ok(_) => format!("cpu {}", cpu()),
        Err(_) => choice.to_string(),
    }
}

/// The CPU's name; `unknown` if the system does not report it.
pub fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(key, _)| key.trim() == "model name");
    found.map_or("unknown", |(_, name)| name.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_named_with_the_format() {
        let words = in_words(&[DeviceChoice::Cpu], Precision::Bf16);
        assert_eq!(words, format!("cpu {} · bf16", cpu()));
    }

    #[test]
    fn gpus_before_ampere_have_no_bf16() {
        let gpu = |major| Gpu {
            name: "T4".to_owned(),
            capability: (major, 5),
        };
        assert_eq!(gpu(7).to_string(), "T4, compute capability 7.5");
        assert!(!gpu(7).computes_bf16() && gpu(8).computes_bf16() && gpu(9).computes_bf16());
    }
}
