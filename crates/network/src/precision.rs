//! Number formats that networks compute in.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tch::Device;

use tengen_gpu::Gpu;
use tengen_model::{NetworkConfig, PrecisionChoice, Weights};
use tengen_rules::Size;
use tengen_search::{Predictions, Predictor, random_inputs};

use crate::device::{DeviceChoice, DeviceError};
use crate::libtorch;
use crate::predictor::{PredictorOptions, TorchPredictor};

/// The number format of the tower. The last layers and everything after them always use fp32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats, about as fast as bf16 or faster on CPUs without AMX. On a GPU, convolutions may round inputs to
    /// TF32, with 10 bits of mantissa.
    #[default]
    Fp32,
    /// 16-bit floats with 8 bits of mantissa, for GPUs and CPUs with AMX. Policy logits differ by about 1%.
    Bf16,
    /// 16-bit floats with 11 bits of mantissa, up to 65,504: for GPUs that cannot compute bf16.
    Fp16,
}

impl Precision {
    /// All number formats.
    pub const ALL: [Precision; 3] = [Precision::Fp32, Precision::Bf16, Precision::Fp16];

    /// The element type of the tower's tensors.
    pub fn kind(self) -> tch::Kind {
        match self {
            Precision::Fp32 => tch::Kind::Float,
            Precision::Bf16 => tch::Kind::BFloat16,
            Precision::Fp16 => tch::Kind::Half,
        }
    }

    /// The format for prediction on a device. An automatic choice is bf16 on GPUs that have instructions for it and on
    /// CPUs with AMX, fp16 on other GPUs, and fp32 on other CPUs, where our convolutions are about as fast or faster.
    /// Measurements of a fraction of a second each, once per process, replace bf16 by fp32 if that is clearly faster
    /// every time. Requiring all of them makes the choice depend on the machine alone, so a match or gate that resumes
    /// there continues in the same format.
    ///
    /// # Errors
    /// If the device cannot be used, or cannot compute in the requested format.
    pub fn for_prediction(choice: PrecisionChoice, device: DeviceChoice) -> Result<Precision, DeviceError> {
        let resolved = device.resolve()?;
        match choice {
            PrecisionChoice::Auto => Ok(confirmed(proposed(resolved), resolved)),
            PrecisionChoice::Fp32 => Ok(Precision::Fp32),
            PrecisionChoice::Bf16 if resolved == Device::Cpu && !libtorch::packs_bf16() => Err(DeviceError::Bf16OnCpu),
            PrecisionChoice::Bf16 => Ok(Precision::Bf16),
            PrecisionChoice::Fp16 if resolved == Device::Cpu => Err(DeviceError::Fp16OnCpu),
            PrecisionChoice::Fp16 => Ok(Precision::Fp16),
        }
    }

    /// The format for training a network with this many channels on a device. An automatic choice is bf16 where
    /// prediction would use it, except for networks with fewer than 32 channels on a CPU, where fp32 is as fast.
    pub fn for_training(choice: PrecisionChoice, device: Device, channels: usize) -> Precision {
        match choice {
            PrecisionChoice::Fp32 => Precision::Fp32,
            PrecisionChoice::Bf16 => Precision::Bf16,
            PrecisionChoice::Fp16 => Precision::Fp16,
            PrecisionChoice::Auto => match proposed(device) {
                Precision::Bf16 if device.is_cuda() || channels >= 32 => confirmed(Precision::Bf16, device),
                _ => Precision::Fp32,
            },
        }
    }
}

impl From<Precision> for PrecisionChoice {
    fn from(precision: Precision) -> PrecisionChoice {
        match precision {
            Precision::Fp32 => PrecisionChoice::Fp32,
            Precision::Bf16 => PrecisionChoice::Bf16,
            Precision::Fp16 => PrecisionChoice::Fp16,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PrecisionChoice::from(*self).fmt(f)
    }
}

impl FromStr for Precision {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Precision, DeviceError> {
        match text.parse() {
            Ok(PrecisionChoice::Fp32) => Ok(Precision::Fp32),
            Ok(PrecisionChoice::Bf16) => Ok(Precision::Bf16),
            Ok(PrecisionChoice::Fp16) => Ok(Precision::Fp16),
            Ok(PrecisionChoice::Auto) | Err(_) => Err(DeviceError::Precision(text.to_owned())),
        }
    }
}

/// The fastest format according to the instructions of a device.
fn proposed(device: Device) -> Precision {
    match device {
        Device::Cuda(number) => match Gpu::look(number) {
            Some(gpu) if !gpu.computes_bf16() => Precision::Fp16,
            _ => Precision::Bf16,
        },
        _ if libtorch::multiplies_matrices() => Precision::Bf16,
        _ => Precision::Fp32,
    }
}

/// The proposed format, unless measurements agree that fp32 is clearly faster, which means that the instructions are
/// emulated. A failed measurement changes nothing; the problem shows when the network is used.
fn confirmed(proposed: Precision, device: Device) -> Precision {
    const CLEARLY: f64 = 1.5;
    static SLOW_ON_CPU: OnceLock<bool> = OnceLock::new();
    static SLOW_ON_GPU: OnceLock<bool> = OnceLock::new();
    if proposed == Precision::Fp32 {
        return proposed;
    }
    let is_slow = || {
        let times = batch_times([Precision::Fp32, proposed], device);
        times.is_some_and(|[exact, short]| short.as_secs_f64() > CLEARLY * exact.as_secs_f64())
    };
    let known = if device.is_cuda() { &SLOW_ON_GPU } else { &SLOW_ON_CPU };
    // On a busy machine, one measurement may be wrong, and a match cannot switch formats.
    if *known.get_or_init(|| (0..5).all(|_| is_slow())) {
        Precision::Fp32
    } else {
        proposed
    }
}

/// The shortest calls of a medium-sized network in each format. The formats alternate so that both see the same noise.
/// `None` if the network fails.
fn batch_times(formats: [Precision; 2], device: Device) -> Option<[Duration; 2]> {
    const CALLS: usize = 16;
    const ENOUGH: Duration = Duration::from_millis(100);
    let weights = Weights::random(&NetworkConfig::new(4, 64), 1).ok()?;
    let predictor = |precision| {
        let options = PredictorOptions {
            device: DeviceChoice::from(device),
            precision,
            ..PredictorOptions::default()
        };
        TorchPredictor::new(&weights, options).ok()
    };
    let mut predictors = [predictor(formats[0])?, predictor(formats[1])?];
    let batch = if device.is_cuda() { 256 } else { 8 };
    let inputs = random_inputs(predictors[0].new_batch(Size::square(9).ok()?), batch, 1);
    let mut out = Predictions::default();
    let mut shortest = [Duration::MAX; 2];
    let start = Instant::now();
    for call in 0..CALLS {
        for (predictor, shortest) in predictors.iter_mut().zip(&mut shortest) {
            let start = Instant::now();
            predictor.predict(&inputs, &mut out).ok()?;
            // The first call chooses kernels and allocates memory.
            if call > 0 {
                *shortest = start.elapsed().min(*shortest);
            }
        }
        if call >= 5 && start.elapsed() > ENOUGH {
            break;
        }
    }
    Some(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_formats_are_those_that_the_device_is_fast_at() {
        let (auto, cpu) = (PrecisionChoice::Auto, DeviceChoice::Cpu);
        let by_instructions = if libtorch::multiplies_matrices() {
            Precision::Bf16
        } else {
            Precision::Fp32
        };
        // If the instructions turn out to be slow, measurements decide, once per process.
        let measured = confirmed(by_instructions, Device::Cpu);
        assert_eq!(Precision::for_prediction(auto, cpu), Ok(measured));
        assert_eq!(Precision::for_training(auto, Device::Cpu, 32), measured);
        assert_eq!(Precision::for_training(auto, Device::Cpu, 31), Precision::Fp32);
        assert_eq!(Precision::for_training(auto, Device::Cuda(0), 8), Precision::Bf16);
        let bf16 = match libtorch::packs_bf16() {
            true => Ok(Precision::Bf16),
            false => Err(DeviceError::Bf16OnCpu),
        };
        for (precision, predicts) in [(Precision::Fp32, Ok(Precision::Fp32)), (Precision::Bf16, bf16)] {
            let choice = PrecisionChoice::from(precision);
            assert_eq!(Precision::for_prediction(choice, cpu), predicts);
            assert_eq!(Precision::for_training(choice, Device::Cpu, 32), precision);
        }
    }

    #[test]
    fn formats_can_be_measured() {
        crate::limit_threads();
        let times = batch_times([Precision::Fp32, proposed(Device::Cpu)], Device::Cpu);
        assert!(times.is_some_and(|times| {
            times
                .iter()
                .all(|time| (Duration::from_nanos(1)..Duration::MAX).contains(time))
        }));
        assert_eq!(confirmed(Precision::Fp32, Device::Cpu), Precision::Fp32);
    }
}
