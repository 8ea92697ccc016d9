//! How does source code become machine code for a GPU? With NVRTC, which comes with libtorch's CUDA part.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::kernels::KernelError;

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Fetch = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

/// A part of libtorch that is linked to NVRTC, whatever folder that is in.
pub(crate) const NVRTC: &str = "libcaffe2_nvrtc.so";

/// Compiles CUDA C++ for a GPU of this compute capability, with macros such as `FORMAT=1`. Returns machine code.
pub(crate) fn compile(source: &str, capability: (i32, i32), macros: &[String]) -> Result<Vec<u8>, KernelError> {
    // SAFETY: the library has no initializers but those of the C++ library.
    let library = unsafe { Library::new(NVRTC) }.map_err(|error| KernelError::Library(error.to_string()))?;
    load_builtins();
    let options = [format!("--gpu-architecture=sm_{}{}", capability.0, capability.1)].into_iter();
    let options = options.chain(macros.iter().map(|name| format!("--define-macro={name}")));
    let options: Vec<CString> = options.map(c_string).collect();
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let source = c_string(source.to_owned());
    let mut program = ptr::null_mut();
    let missing = |error: libloading::Error| KernelError::Library(error.to_string());
    // SAFETY: the signatures are those of nvrtc.h. Every pointer is to memory that outlives the call and, where a
    // function writes, is as large as the function said before. The program is destroyed once.
    unsafe {
        let create = library.get::<Create>(b"nvrtcCreateProgram\0").map_err(missing)?;
        let build = library.get::<Compile>(b"nvrtcCompileProgram\0").map_err(missing)?;
        let destroy = library.get::<Destroy>(b"nvrtcDestroyProgram\0").map_err(missing)?;
        let fetched = |program, size: &[u8], fetch: &[u8]| -> Result<Vec<u8>, KernelError> {
            let (size, fetch) = (library.get::<Size>(size), library.get::<Fetch>(fetch));
            let (size, fetch) = (size.map_err(missing)?, fetch.map_err(missing)?);
            let mut length = 0;
            if size(program, &mut length) != 0 {
                return Err(KernelError::Compiler("it has no output".to_owned()));
            }
            let mut bytes = vec![0u8; length];
            match fetch(program, bytes.as_mut_ptr().cast()) {
                0 => Ok(bytes),
                code => Err(KernelError::Compiler(format!("error {code}"))),
            }
        };
        let name = c"kernels.cu".as_ptr();
        let created = create(&mut program, source.as_ptr(), name, 0, ptr::null(), ptr::null());
        if created != 0 {
            return Err(KernelError::Compiler(format!("error {created}")));
        }
        let code = match build(program, options.len() as c_int, options.as_ptr()) {
            0 => fetched(program, b"nvrtcGetCUBINSize\0", b"nvrtcGetCUBIN\0"),
            _ => fetched(program, b"nvrtcGetProgramLogSize\0", b"nvrtcGetProgramLog\0").and_then(|log| {
                let log = CStr::from_bytes_until_nul(&log).map_or(String::new(), |log| log.to_string_lossy().into());
                Err(KernelError::Compiler(log))
            }),
        };
        destroy(&mut program);
        code
    }
}

/// Loads the part that NVRTC itself loads by name, which the system does not find in the folder of a Python package. If
/// that fails, NVRTC says what it misses.
fn load_builtins() {
    let Some(folder) = loaded("libnvrtc.so").and_then(|path| Some(path.parent()?.to_owned())) else {
        return;
    };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_builtins = |path: &PathBuf| named(path, "libnvrtc-builtins.so");
    for path in files.map(|entry| entry.path()).filter(is_builtins) {
        // SAFETY: the library has no initializers but those of the C++ library.
        if let Ok(library) = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
            // It stays loaded.
            std::mem::forget(library);
        }
    }
}

/// Where a library is that this process has loaded, by the begin of its name.
fn loaded(name: &str) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps
        .lines()
        .filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..])));
    paths.find(|path| named(path, name))
}

fn named(path: &Path, begin: &str) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(begin))
}

fn c_string(text: String) -> CString {
    CString::new(text).expect("neither the source nor options have zero bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_library_is_found() {
        let path = loaded("libc.so").expect("Rust's standard library uses it");
        assert!(path.exists() && path.parent().is_some(), "{path:?}");
        assert!(loaded("libno-such-library.so").is_none());
    }
}
