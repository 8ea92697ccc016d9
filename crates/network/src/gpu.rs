//! Names the hardware that networks run on.

use tch::Device;

use tengen_gpu::Gpu;

use crate::device::DeviceChoice;
use crate::precision::Precision;

/// The hardware that networks run on, for display: `cuda:0 NVIDIA H100 80GB HBM3 · bf16`.
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
}
