//! Whether a GPU computes what the CPU computes.

use serde::Serialize;

use tengen_model::Devices;
use tengen_network::{DeviceChoice, SelfTest};

use crate::output;

/// Comparisons of a GPU with the CPU; none if the CPU is the device.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Comparison(Vec<SelfTest>);

impl Comparison {
    /// Makes all comparisons.
    pub(super) fn of(devices: Devices) -> Comparison {
        let mut tests = Vec::new();
        for choice in DeviceChoice::all_of(devices) {
            let has_gpu = choice.resolve().is_ok_and(|device| device.is_cuda());
            if has_gpu || matches!(choice, DeviceChoice::Cuda(_)) {
                tests.extend(tengen_network::self_test(choice));
            }
            if has_gpu {
                tests.push(tengen_trainer::self_test(choice));
            }
        }
        Comparison(tests)
    }

    /// The number of comparisons that failed.
    pub(super) fn failed(&self) -> usize {
        self.0.iter().filter(|test| !test.passed).count()
    }

    /// Prints a line for each comparison.
    pub(super) fn print(&self) {
        if !self.0.is_empty() {
            output::result("\nthe GPU compared with the CPU");
        }
        for SelfTest { name, passed, found } in &self.0 {
            output::result(format!("{:<7} {name}: {found}", if *passed { "ok" } else { "FAILED" }));
        }
    }

    /// # Errors
    /// If a comparison failed.
    pub(super) fn judge(&self) -> anyhow::Result<()> {
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
