//! The version of libtorch behind this program, and what it can use on this machine.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

unsafe extern "C" {
    fn tengen_torch_version() -> *const c_char;
    fn tengen_cpu_capability() -> *const c_char;
}

pub(crate) fn text(text: *const c_char) -> String {
    // SAFETY: only called with the shim's own null-terminated strings.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The libtorch version whose headers this program was built with.
pub(crate) fn torch_version() -> String {
    // SAFETY: returns a string literal.
    text(unsafe { tengen_torch_version() })
}

/// The most capable instruction set that libtorch's CPU kernels use on this machine, such as `AVX512`.
pub(crate) fn cpu_capability() -> String {
    // SAFETY: returns a static string.
    text(unsafe { tengen_cpu_capability() })
}

/// Whether this processor has bf16 multiplication instructions.
pub(crate) fn fast_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether this processor multiplies matrices of bf16 numbers in one instruction (AMX).
pub(crate) fn multiplies_matrices() -> bool {
    // Intel's manual, volume 2A, CPUID: bit 22 of EDX for leaf 7 is AMX-BF16.
    #[cfg(target_arch = "x86_64")]
    return std::arch::x86_64::__cpuid_count(7, 0).edx & 1 << 22 != 0;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether libtorch can pack the weights of fused convolutions in bf16 for this processor.
pub(crate) fn packs_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let avx512 = std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512vl")
            && std::is_x86_feature_detected!("avx512dq");
        avx512 || std::is_x86_feature_detected!("avxneconvert")
    }
    #[cfg(not(target_arch = "x86_64"))]
    true
}
