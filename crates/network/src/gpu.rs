//! Names the hardware that networks run on, and how exact it is.
#![allow(unsafe_code)]

use tch::Device;

use tengen_gpu::Gpu;

use crate::device::DeviceChoice;
use crate::precision::Precision;

unsafe extern "C" {
    fn tengen_may_round_to_tf32() -> bool;
    fn tengen_forbid_tf32();
}

/// The hardware that networks run on, for display: `cuda:0 NVIDIA H100 80GB HBM3 · bf16`.
pub fn in_words(devices: &[DeviceChoice], precision: Precision) -> String {
    let names: Vec<String> = devices.iter().map(|device| named(*device)).collect();
    let rounds = precision == Precision::Fp32 && devices.iter().any(|device| rounds_to_tf32(*device));
    let note = if rounds { " (TF32 convolutions)" } else { "" };
    format!("{} · {precision}{note}", names.join(", "))
}

/// Whether convolutions in fp32 round their inputs to TF32. GPUs have had instructions for it since those for bf16.
fn rounds_to_tf32(choice: DeviceChoice) -> bool {
    let Ok(Device::Cuda(number)) = choice.resolve() else {
        return false;
    };
    // SAFETY: reads a setting of libtorch.
    Gpu::look(number).is_some_and(|gpu| gpu.computes_bf16()) && unsafe { tengen_may_round_to_tf32() }
}

/// From now on, convolutions in fp32 on GPUs, in the whole process, round nothing to TF32: exact, but slower. Call it
/// before networks compute.
pub fn forbid_tf32() {
    // SAFETY: changes a setting of libtorch, which it reads before each convolution.
    unsafe { tengen_forbid_tf32() }
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
    fn tf32_can_be_forbidden() {
        let may_round = || unsafe { tengen_may_round_to_tf32() };
        assert!(may_round());
        forbid_tf32();
        assert!(!may_round());
    }
}
