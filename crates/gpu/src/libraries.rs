//! Which of NVIDIA's libraries are used beside libtorch, and in which version? They say it themselves.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::PathBuf;
use std::ptr;

use libloading::os::unix::Library;
use serde::Serialize;

use crate::compiler::NVRTC;

/// A library of NVIDIA, or the driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuLibrary {
    /// What it is called, such as `cuDNN`.
    pub name: &'static str,
    /// Its version, such as `9.19.0`; `None` if it was not found.
    pub version: Option<String>,
    /// The file that it was loaded from, if any.
    pub path: Option<PathBuf>,
    /// If it was not found: what follows from that.
    pub missing: Option<&'static str>,
}

/// The file in which the driver describes itself.
const DRIVER: &str = "/proc/driver/nvidia/version";

impl GpuLibrary {
    /// Looks at all of them. Call this once libtorch's CUDA part is loaded, because it brings most of them along.
    pub fn all() -> Vec<GpuLibrary> {
        let driver = std::fs::read_to_string(DRIVER).ok();
        let version = driver.as_deref().and_then(of_driver).map(str::to_owned);
        let driver = GpuLibrary::new(
            "driver",
            version,
            None,
            "unknown: /proc/driver/nvidia/version does not say it",
        );
        [driver].into_iter().chain(KNOWN.iter().map(Known::look)).collect()
    }

    /// `missing` says what follows if there is no version.
    fn new(name: &'static str, version: Option<String>, path: Option<PathBuf>, missing: &'static str) -> GpuLibrary {
        GpuLibrary {
            name,
            path: path.filter(|_| version.is_some()),
            missing: version.is_none().then_some(missing),
            version,
        }
    }
}

impl fmt::Display for GpuLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.as_deref().or(self.missing).unwrap_or_default();
        write!(f, "{} {version}", self.name)?;
        match &self.path {
            Some(path) => write!(f, " at {}", path.display()),
            None => Ok(()),
        }
    }
}

/// Where a library is looked for.
enum Place {
    /// Among what this process has loaded, because libtorch's CUDA part is linked to it.
    Loaded,
    /// Under this name, as it is when it is used.
    Named(&'static str),
}

/// A library that can be asked for its version.
struct Known {
    name: &'static str,
    place: Place,
    /// The function that `version` calls, with a zero at the end.
    function: &'static [u8],
    version: fn(&Library, &[u8]) -> Option<String>,
    missing: &'static str,
}

const INSIDE: &str = "not found: it may be a part of libtorch";

const KNOWN: [Known; 5] = [
    Known {
        name: "CUDA runtime",
        place: Place::Loaded,
        function: b"cudaRuntimeGetVersion\0",
        version: |library, function| number(library, function).map(of_cuda),
        missing: INSIDE,
    },
    Known {
        name: "cuDNN",
        place: Place::Loaded,
        function: b"cudnnGetVersion\0",
        version: |library, function| result(library, function).map(of_three_parts),
        missing: INSIDE,
    },
    Known {
        name: "cuBLAS",
        place: Place::Loaded,
        function: b"cublasGetProperty\0",
        version: properties,
        missing: INSIDE,
    },
    Known {
        name: "NVRTC",
        place: Place::Named(NVRTC),
        function: b"nvrtcVersion\0",
        version: major_and_minor,
        missing: "not found: Tengen's own kernels are off",
    },
    Known {
        name: "NCCL",
        place: Place::Named("libnccl.so.2"),
        function: b"ncclGetVersion\0",
        version: |library, function| number(library, function).map(of_three_parts),
        missing: "not found: gradients of several processes go through the CPUs",
    },
];

impl Known {
    fn look(&self) -> GpuLibrary {
        let library = match self.place {
            Place::Loaded => Some(Library::this()),
            // SAFETY: the initializers of these libraries have no requirements.
            Place::Named(name) => unsafe { Library::new(name) }.ok(),
        };
        let version = library.as_ref().and_then(|it| (self.version)(it, self.function));
        let path = library.as_ref().and_then(|it| file_of(it, self.function));
        GpuLibrary::new(self.name, version, path, self.missing)
    }
}

/// The number that a function writes: cudaRuntimeGetVersion and ncclGetVersion.
fn number(library: &Library, function: &[u8]) -> Option<c_int> {
    type Write = unsafe extern "C" fn(*mut c_int) -> c_int;
    let mut number = 0;
    // SAFETY: the signature is that of CUDA's and NCCL's headers, and the pointer is to a variable.
    let status = unsafe { library.get::<Write>(function).ok()?(&mut number) };
    (status == 0).then_some(number)
}

/// The number that a function returns: cudnnGetVersion.
fn result(library: &Library, function: &[u8]) -> Option<c_int> {
    type Get = unsafe extern "C" fn() -> usize;
    // SAFETY: the signature is that of cuDNN's header.
    let number = unsafe { library.get::<Get>(function).ok()?() };
    c_int::try_from(number).ok()
}

/// Major, minor, and patch, one after another: cublasGetProperty.
fn properties(library: &Library, function: &[u8]) -> Option<String> {
    type Property = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
    // SAFETY: the signature is that of cuBLAS's header.
    let get = unsafe { library.get::<Property>(function) }.ok()?;
    let property = |which| {
        let mut value = 0;
        // SAFETY: the pointer is to a variable.
        let status = unsafe { get(which, &mut value) };
        (status == 0).then_some(value)
    };
    Some(format!("{}.{}.{}", property(0)?, property(1)?, property(2)?))
}

/// Major and minor at once: nvrtcVersion.
fn major_and_minor(library: &Library, function: &[u8]) -> Option<String> {
    type Write = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the signature is that of NVRTC's header, and the pointers are to variables.
    let status = unsafe { library.get::<Write>(function).ok()?(&mut major, &mut minor) };
    (status == 0).then(|| format!("{major}.{minor}"))
}

/// A version of CUDA: 13000 is 13.0.
pub(crate) fn of_cuda(number: c_int) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// A version of cuDNN from 9 on, or of NCCL from 2.9 on: 91900 is 9.19.0.
fn of_three_parts(number: c_int) -> String {
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// The version in what the driver says: the first word of its first line that has only digits and points.
fn of_driver(text: &str) -> Option<&str> {
    let is_version = |word: &&str| {
        let parts: Vec<&str> = word.split('.').collect();
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        parts.len() > 1 && parts.iter().all(is_number)
    };
    text.lines().next()?.split_whitespace().find(is_version)
}

/// The file with a function of a library.
fn file_of(library: &Library, function: &[u8]) -> Option<PathBuf> {
    // SAFETY: the function is only looked up.
    let address = unsafe { library.get::<*const c_void>(function) }.ok()?.into_raw();
    let mut found = Found {
        file: ptr::null(),
        base: ptr::null(),
        symbol: ptr::null(),
        address: ptr::null(),
    };
    // SAFETY: the structure is that of dlfcn.h. The name of the file lives as long as the library, and is copied.
    let name = unsafe {
        if dladdr(address, &mut found) == 0 || found.file.is_null() {
            return None;
        }
        CStr::from_ptr(found.file).to_string_lossy()
    };
    // Names of libraries that others load have `..` and links in them.
    let path = PathBuf::from(name.as_ref());
    Some(path.canonicalize().unwrap_or(path))
}

/// `Dl_info` of dlfcn.h.
#[repr(C)]
struct Found {
    file: *const c_char,
    base: *const c_void,
    symbol: *const c_char,
    address: *const c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_versions() {
        assert_eq!([13000, 12080].map(of_cuda), ["13.0", "12.8"]);
        assert_eq!(
            [91900, 22809, 100_304].map(of_three_parts),
            ["9.19.0", "2.28.9", "10.3.4"]
        );
    }

    #[test]
    fn the_driver_says_its_version_in_its_first_line() {
        for (text, version) in [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:18:32 UTC 2025\nGCC version:",
                Some("580.65.06"),
            ),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build  (builder@host)",
                Some("580.105.08"),
            ),
            ("NVRM version: unknown\nGCC version:  gcc version 12.2.0", None),
            ("", None),
        ] {
            assert_eq!(of_driver(text), version, "{text}");
        }
    }

    #[test]
    fn a_library_is_found_or_its_absence_explained() {
        let all = GpuLibrary::all();
        assert_eq!(all.len(), 1 + KNOWN.len());
        for library in all {
            assert!(library.version.is_some() != library.missing.is_some(), "{library:?}");
            assert!(library.path.is_none() || library.version.is_some(), "{library:?}");
        }
        let absent = Known {
            place: Place::Named("libno-such-library.so"),
            ..KNOWN[4]
        };
        let line = absent.look().to_string();
        assert_eq!(
            line,
            "NCCL not found: gradients of several processes go through the CPUs"
        );
    }

    #[test]
    fn the_file_of_a_function_is_found() {
        let library = Library::this();
        let path = file_of(&library, b"malloc\0").expect("every process has it");
        assert!(path.exists(), "{path:?}");
        assert!(file_of(&library, b"no_such_function\0").is_none());
    }
}
