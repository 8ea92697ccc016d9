//! Measures how fast networks predict on this machine.

use anyhow::Context;
use serde::Serialize;

use tengen_gpu::GpuLibrary;
use tengen_model::{NetworkConfig, PrecisionChoice, Weights};
use tengen_network::{DeviceChoice, LibtorchInfo, Precision, PredictorOptions, TorchPredictor, raw_inference};
use tengen_rules::Size;

use tengen_report::{counted, thousands};

use crate::machine::loaded_library;

/// libtorch and its measured speed.
#[derive(Serialize)]
pub struct Torch {
    /// Version and capabilities, as libtorch reports them.
    #[serde(flatten)]
    info: LibtorchInfo,
    /// Path of the loaded library.
    path: String,
    /// What libtorch's CUDA part, if it loads, is used with.
    libraries: Vec<GpuLibrary>,
    /// Evaluations per second; the CPU runs one thread.
    measured: Vec<Speed>,
}

/// The speed of one network, device, number format and batch size.
#[derive(Serialize)]
struct Speed {
    network: &'static str,
    size: String,
    device: &'static str,
    dtype: String,
    batch: usize,
    evaluations_per_second: f64,
}

/// The networks to measure, each with the side of the board it is typically used on.
const NETWORKS: [(&str, usize); 2] = [("b4c32", 5), ("b6c96", 9)];

/// The number formats to measure: fp32 and, if the device can predict in it, bf16.
fn formats(device: DeviceChoice) -> impl Iterator<Item = Precision> {
    let can = move |format: &Precision| Precision::for_prediction((*format).into(), device).is_ok();
    [Precision::Fp32, Precision::Bf16].into_iter().filter(can)
}

/// Batch sizes measured on the CPU.
const CPU_BATCHES: [usize; 4] = [1, 8, 64, 256];

/// Batch sizes measured on a GPU.
const CUDA_BATCHES: [usize; 4] = [1, 64, 1024, 4096];

impl Torch {
    /// Inspects libtorch and measures its speed for about this many seconds.
    pub fn measure(seconds: f64) -> anyhow::Result<Torch> {
        let info = LibtorchInfo::collect();
        let devices: &[_] = match info.cuda_available {
            true => &[
                (DeviceChoice::Cpu, "cpu", CPU_BATCHES),
                (DeviceChoice::Cuda(0), "cuda", CUDA_BATCHES),
            ],
            false => &[(DeviceChoice::Cpu, "cpu", CPU_BATCHES)],
        };
        let kinds: usize = devices.iter().map(|&(device, ..)| formats(device).count()).sum();
        let measurements = kinds * NETWORKS.len() * CPU_BATCHES.len();
        let each = seconds / measurements as f64;
        let mut measured = Vec::new();
        for &(device, name, batches) in devices {
            for (network, side) in NETWORKS {
                for precision in formats(device) {
                    let options = PredictorOptions {
                        device,
                        precision,
                        ..PredictorOptions::default()
                    };
                    measured.extend(speeds(network, side, name, options, &batches, each)?);
                }
            }
        }
        let path = loaded_library("libtorch_cpu").unwrap_or_else(|| "unknown".to_owned());
        let libraries = info.cuda_library.then(GpuLibrary::all).unwrap_or_default();
        Ok(Torch {
            info,
            path,
            libraries,
            measured,
        })
    }

    /// Whether libtorch can use a GPU.
    pub fn has_gpu(&self) -> bool {
        self.info.cuda_available
    }

    /// Advice that follows from the measurements.
    pub fn advice(&self, gpu_is_right: bool) -> Vec<String> {
        let mut advice = Vec::new();
        let compares = formats(DeviceChoice::Cpu).count() > 1;
        if !compares {
            advice.push("This CPU cannot play in bf16; networks run in fp32 by themselves.".to_owned());
        }
        for (network, _) in NETWORKS.into_iter().filter(|_| compares) {
            let (fp32, bf16) = (self.best("cpu", network, "fp32"), self.best("cpu", network, "bf16"));
            let automatic = Precision::for_prediction(PrecisionChoice::Auto, DeviceChoice::Cpu).unwrap_or_default();
            advice.push(compared(network, bf16 / fp32.max(1e-9), automatic));
        }
        match &self.info.cuda_problem {
            Some(problem) => advice.push(format!("No GPU is used: {problem}.")),
            None if !gpu_is_right => {}
            None => {
                let of_cpu = ["fp32", "bf16"].map(|dtype| self.best("cpu", "b6c96", dtype));
                let factor = self.best("cuda", "b6c96", "bf16") / of_cpu[0].max(of_cpu[1]).max(1e-9);
                advice.push(format!(
                    "The GPU evaluates b6c96 {factor:.0} times as fast as one core; use --device cuda and \
                     groups of 256 games or more."
                ));
            }
        }
        advice
    }

    /// The highest rate over all batch sizes, in evaluations per second.
    fn best(&self, device: &str, network: &str, dtype: &str) -> f64 {
        let rows = self
            .measured
            .iter()
            .filter(|s| s.device == device && s.network == network && s.dtype == dtype);
        rows.map(|speed| speed.evaluations_per_second).fold(0.0, f64::max)
    }

    /// The findings as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let info = &self.info;
        let onednn = if info.onednn { "with" } else { "without" };
        let bf16 = if info.fast_bf16 {
            "computes bf16 natively"
        } else {
            "has no bf16 instructions"
        };
        let cuda = match &info.cuda_problem {
            None => {
                let graphs = info.graphs_problem.as_ref();
                let launches = graphs.map_or_else(
                    || "whole batches in one launch".to_owned(),
                    |problem| format!("every kernel launched separately: {problem}"),
                );
                let driver = info.driver_cuda.as_deref().unwrap_or("unknown");
                let names = info.gpu_names.join("; ");
                let gpus = counted(info.gpus as u64, "GPU");
                format!("{gpus} ({names}), a driver for CUDA up to {driver}; {launches}")
            }
            Some(problem) => format!("none: {problem}"),
        };
        let mut lines = vec![
            format!("libtorch    {} at {}", info.version, self.path),
            format!("kernels     {} {onednn} oneDNN; the CPU {bf16}", info.cpu_capability),
            format!("CUDA        {cuda}"),
        ];
        lines.extend(self.libraries.iter().map(|library| format!("            {library}")));
        lines.extend([
            "\nevaluations per second (CPU: one thread)".to_owned(),
            format!(
                "{:<8} {:<6} {:<6} {:<6} {:>7} {:>14}",
                "network", "board", "device", "dtype", "batch", "per second"
            ),
        ]);
        lines.extend(self.measured.iter().map(Speed::line));
        lines
    }
}

/// Advice on a network's number format on the CPU. `factor` is its speed in bf16 divided by that in fp32, and
/// `automatic` the format it runs in by default.
fn compared(network: &str, factor: f64, automatic: Precision) -> String {
    const SIMILAR: f64 = 1.15;
    let measured = format!("bf16 is {factor:.2} times as fast as fp32 for {network}");
    let faster = match factor {
        _ if (1.0 / SIMILAR..=SIMILAR).contains(&factor) => automatic,
        _ if factor > 1.0 => Precision::Bf16,
        _ => Precision::Fp32,
    };
    match faster == automatic {
        true => format!("{measured}; it runs in {automatic} by itself."),
        false => format!("{measured}; use --dtype {faster} for it."),
    }
}

impl Speed {
    fn line(&self) -> String {
        let rate = thousands(self.evaluations_per_second.round() as u64);
        format!(
            "{:<8} {:<6} {:<6} {:<6} {:>7} {rate:>14}",
            self.network, self.size, self.device, self.dtype, self.batch
        )
    }
}

/// Measures one network at every batch size.
fn speeds(
    network: &'static str,
    side: usize,
    device: &'static str,
    options: PredictorOptions,
    batches: &[usize],
    seconds: f64,
) -> anyhow::Result<Vec<Speed>> {
    let config: NetworkConfig = network.parse()?;
    let size = Size::square(side)?;
    let mut predictor = TorchPredictor::new(&Weights::random(&config, 1)?, options)?;
    let measured = raw_inference(&mut predictor, size, batches, seconds, 1).context("the network failed")?;
    let dtype = options.precision.to_string();
    let speed = |row: &tengen_network::BatchSpeed| Speed {
        network,
        size: size.to_string(),
        device,
        dtype: dtype.clone(),
        batch: row.batch,
        evaluations_per_second: row.positions_per_second,
    };
    Ok(measured.iter().map(speed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_format_that_is_clearly_faster_is_recommended() {
        let advice = |factor, automatic| compared("b1c8", factor, automatic);
        for (factor, automatic) in [(2.0, Precision::Bf16), (1.05, Precision::Bf16), (0.9, Precision::Bf16)] {
            assert!(
                advice(factor, automatic).ends_with("it runs in bf16 by itself."),
                "{factor}"
            );
        }
        assert!(advice(1.1, Precision::Fp32).ends_with("it runs in fp32 by itself."));
        assert!(advice(0.7, Precision::Bf16).ends_with("use --dtype fp32 for it."));
        assert!(advice(1.3, Precision::Fp32).ends_with("use --dtype bf16 for it."));
    }
}
