//! Compares what a GPU computes with what the CPU computes.

use serde::Serialize;

use tengen_model::{Devices, PrecisionChoice};
use tengen_network::{DeviceChoice, Precision, SelfTest};

use crate::device::device;
use crate::predictions::{LARGE, beside, predictions};

/// Comparisons of every GPU with the CPU; none if the CPU is the device.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Comparison(Vec<SelfTest>);

impl Comparison {
    /// Makes all comparisons.
    pub fn of(devices: Devices) -> Comparison {
        let mut tests = Vec::new();
        for choice in DeviceChoice::all_of(devices) {
            let has_gpu = choice.resolve().is_ok_and(|device| device.is_cuda());
            if has_gpu || matches!(choice, DeviceChoice::Cuda(_)) {
                tests.extend(device(choice));
            }
            if has_gpu {
                tests.extend(predictions(choice, LARGE));
                tests.extend(beside(choice, LARGE, || training(choice)));
            }
        }
        Comparison(tests)
    }

    /// Whether nothing was compared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of comparisons that failed.
    pub fn failed(&self) -> usize {
        self.0.iter().filter(|test| !test.passed).count()
    }

    /// The findings as lines of text, one for each comparison.
    pub fn lines(&self) -> Vec<String> {
        let line = |test: &SelfTest| {
            let verdict = if test.passed { "ok" } else { "FAILED" };
            format!("{verdict:<7} {}: {}", test.name, test.found)
        };
        let title = (!self.0.is_empty()).then(|| "\nthe GPU compared with the CPU".to_owned());
        title.into_iter().chain(self.0.iter().map(line)).collect()
    }

    /// Checks that the GPU can be used.
    ///
    /// # Errors
    /// If a comparison failed.
    pub fn judge(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.failed() == 0,
            "{} of {} comparisons of the GPU with the CPU failed: do not train or play on this GPU; check its \
             driver, and that libtorch's CUDA part belongs to this libtorch",
            self.failed(),
            self.0.len()
        );
        Ok(())
    }
}

/// Compares training in fp32 and in the format that the device trains a network in by itself.
fn training(choice: DeviceChoice) -> Vec<SelfTest> {
    let mut formats = vec![Precision::Fp32];
    if let Ok(device) = choice.resolve() {
        formats.push(Precision::for_training(PrecisionChoice::Auto, device, 32));
    }
    formats.dedup();
    let tests = |precision| tengen_trainer::self_test(choice, precision);
    formats.into_iter().flat_map(tests).collect()
}
