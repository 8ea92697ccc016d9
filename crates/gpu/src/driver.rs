//! What is a GPU called, and what can it do? Asks the driver, which libtorch's CUDA part has loaded.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use crate::libraries::of_cuda;

/// A GPU as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its name, such as `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// Its compute capability: the major and the minor number.
    pub capability: (i32, i32),
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
    pub fn look(number: usize) -> Option<Gpu> {
        ask(driver()?, c_int::try_from(number).ok()?)
    }

    /// Whether it has instructions for bf16: from compute capability 8.0 on.
    pub fn computes_bf16(&self) -> bool {
        self.capability.0 >= 8
    }
}

impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.capability;
        write!(f, "{}, compute capability {major}.{minor}", self.name)
    }
}

/// The newest CUDA that the driver can be used with, such as `13.0`.
pub fn driver_cuda() -> Option<String> {
    type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
    let mut version: c_int = 0;
    // SAFETY: the signature is that of cuda.h, and the pointer is to a variable that outlives the call.
    let asked = unsafe { driver()?.get::<GetVersion>(b"cuDriverGetVersion\0").ok()?(&mut version) };
    (asked == 0).then(|| of_cuda(version))
}

/// The driver's library; `None` on a machine without one.
pub(crate) fn driver() -> Option<&'static Library> {
    static DRIVER: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: the driver's initializers have no requirements, and it stays loaded.
    let driver = DRIVER.get_or_init(|| unsafe { Library::new("libcuda.so.1") }.ok());
    driver.as_ref()
}

/// Lets threads that wait for this GPU sleep. By default they spin, which takes cores from searches. Call this before
/// the GPU is used; if the driver cannot do it, threads spin.
pub fn sleep_while_waiting(number: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
