//! Compares what a GPU computes with what the CPU computes.

use serde::Serialize;

use tengen_model::{Devices, PrecisionChoice};
use tengen_network::{Consequence, DeviceChoice, Precision, SelfTest};

use crate::device::device;
use crate::predictions::{LARGE, beside, exact_predictions, predictions};

/// Comparisons of every GPU with the CPU; none if the CPU is the device.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Comparison(Vec<SelfTest>);

impl Comparison {
    /// Makes all comparisons. If there is a GPU, the process rounds nothing to TF32 afterward.
    pub fn of(devices: Devices) -> Comparison {
        let (mut tests, mut gpus) = (Vec::new(), Vec::new());
        for choice in DeviceChoice::all_of(devices) {
            let has_gpu = choice.resolve().is_ok_and(|device| device.is_cuda());
            if has_gpu || matches!(choice, DeviceChoice::Cuda(_)) {
                tests.extend(device(choice));
            }
            if has_gpu {
                tests.extend(predictions(choice, LARGE));
                tests.extend(beside(choice, LARGE, || training(choice)));
                gpus.push(choice);
            }
        }
        tests.extend(gpus.into_iter().map(exact_predictions));
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

    /// Whether a comparison failed that only makes the GPU slower, and none that makes it wrong.
    pub fn is_right_but_slow(&self) -> bool {
        let mut failed = self.0.iter().filter(|test| !test.passed).peekable();
        failed.peek().is_some() && failed.all(|test| test.consequence == Consequence::Slow)
    }

    /// The findings as lines of text, one for each comparison, and what to do about each that failed.
    pub fn lines(&self) -> Vec<String> {
        let line = |test: &SelfTest| match test.passed {
            true => format!("ok      {}: {}", test.name, test.found),
            false => format!(
                "FAILED  {}: {}\n        What to do: {}",
                test.name, test.found, test.advice
            ),
        };
        let title = (!self.0.is_empty()).then(|| "\nthe GPU compared with the CPU".to_owned());
        title.into_iter().chain(self.0.iter().map(line)).collect()
    }

    /// Checks that the GPU can be used.
    ///
    /// # Errors
    /// If a comparison failed.
    pub fn judge(&self) -> anyhow::Result<()> {
        let verdict = match self.is_right_but_slow() {
            true => "it computes the same numbers, but more slowly than it could",
            false => "do not train or play on this GPU",
        };
        anyhow::ensure!(
            self.failed() == 0,
            "{} of {} comparisons of the GPU with the CPU failed: {verdict}; the lines above say what to do",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_that_is_only_slow_may_be_used() {
        let right = SelfTest::of("copies", Ok(0.0), 0.0);
        let slow = SelfTest::of("graphs", Ok(1.0), 0.0).or_slow("update the driver");
        let wrong = SelfTest::of("predictions", Ok(1.0), 0.0);
        let judged = |tests: &[&SelfTest]| {
            let comparison = Comparison(tests.iter().map(|&test| test.clone()).collect());
            let judged = comparison.judge().map_err(|error| error.to_string());
            (
                comparison.is_right_but_slow(),
                judged.err().unwrap_or_default(),
                comparison.lines().join("\n"),
            )
        };
        assert_eq!(judged(&[&right]).1, "");
        let (only_slow, verdict, lines) = judged(&[&right, &slow]);
        assert!(
            only_slow && verdict.contains("1 of 2") && verdict.contains("the same numbers"),
            "{verdict}"
        );
        assert!(
            lines.contains("ok      copies") && lines.contains("What to do: update the driver"),
            "{lines}"
        );
        let (only_slow, verdict, _) = judged(&[&wrong, &slow]);
        assert!(!only_slow && verdict.contains("do not train or play"), "{verdict}");
    }
}
