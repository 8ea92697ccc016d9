//! Checks for `tengen doctor` that a device computes the same as the CPU, because a broken driver or library may return
//! wrong results without an error.

use serde::Serialize;
use tch::{Device, Kind, Tensor};

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_rules::{Komi, Move, Position, Size};

use crate::catching::catching;
use crate::device::DeviceChoice;
use crate::inputs::{NetworkInputs, on_device};
use crate::kernels;
use crate::one_kernel;
use crate::precision::Precision;
use crate::stream::read_back;

/// One comparison of a device with the CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfTest {
    /// What was compared.
    pub name: String,
    /// Whether the difference is within bounds.
    pub passed: bool,
    /// The difference and its bound, or the error.
    pub found: String,
}

impl SelfTest {
    /// The larger of two differences; NaN is the worst.
    pub fn worse(a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            f64::INFINITY
        } else {
            a.max(b)
        }
    }

    /// A comparison that passes if the largest difference is at most `bound`.
    pub fn of(name: impl Into<String>, difference: Result<f64, String>, bound: f64) -> SelfTest {
        let (passed, found) = match difference {
            Ok(difference) => (
                difference <= bound,
                format!("difference {difference:.2e}, at most {bound:.0e}"),
            ),
            Err(error) => (false, error),
        };
        SelfTest {
            name: name.into(),
            passed,
            found,
        }
    }
}

/// Memory round trips in the first comparison.
const ROUND_TRIPS: usize = 1000;

/// Compares a device with the CPU: copies, input planes, and convolutions in one kernel.
pub fn self_test(device: DeviceChoice) -> Vec<SelfTest> {
    let device = match device.resolve() {
        Ok(device) => device,
        Err(error) => return vec![SelfTest::of("device", Err(error.to_string()), 0.0)],
    };
    let attempt = |work: &dyn Fn() -> f64| catching(work).map_err(|error| error.to_string());
    let copies = SelfTest::of(
        format!("{ROUND_TRIPS} copies to the device and back"),
        attempt(&|| round_trips(device)),
        0.0,
    );
    let unpacked = SelfTest::of(
        "input planes unpacked on the device",
        attempt(&|| planes(&positions(PlaneSet::default(), &["9x9"]), device)),
        0.0,
    );
    let kernels = Precision::ALL.map(|precision| [one_kernel(device, precision), own_kernels(device, precision)]);
    [copies, unpacked]
        .into_iter()
        .chain(kernels.into_iter().flatten())
        .collect()
}

/// Compares convolutions with addition and ReLU in one kernel with step-by-step results, if the device has any.
fn one_kernel(device: Device, precision: Precision) -> SelfTest {
    let name = format!("convolutions with addition and ReLU in one kernel, {precision}");
    match one_kernel::compared(device, precision.kind()) {
        Some((difference, bound)) => SelfTest::of(name, Ok(difference), bound),
        None => SelfTest {
            name,
            passed: true,
            found: "not available, so computed step by step".to_owned(),
        },
    }
}

/// Compares our own kernels with libtorch's operations, if the device has any.
fn own_kernels(device: Device, precision: Precision) -> SelfTest {
    let name = format!("our own kernels for biases, pooling, and planes, {precision}");
    match kernels::compared(device, precision.kind()) {
        Some((difference, bound)) => SelfTest::of(name, Ok(difference), bound),
        None => SelfTest {
            name,
            passed: true,
            found: "not available, so computed by libtorch".to_owned(),
        },
    }
}

/// The largest difference after copying different numbers to the device and back.
fn round_trips(device: Device) -> f64 {
    let numbers: Vec<f32> = (0..4096).map(|number| (number as f32 * 0.37).sin()).collect();
    let mut largest: f64 = 0.0;
    for trip in 0..ROUND_TRIPS {
        let sent = ndarray::Array1::from_iter(numbers.iter().map(|number| number + trip as f32));
        let back = read_back(&on_device(sent.view(), device));
        let expected = Tensor::from_slice(sent.as_slice().expect("a new array is in C order"));
        largest = SelfTest::worse(largest, (back - expected).abs().max().double_value(&[]));
    }
    largest
}

/// The largest difference between input planes unpacked on the CPU and on the device.
fn planes(inputs: &InputBatch, device: Device) -> f64 {
    let [expected, found] = [Device::Cpu, device].map(|device| {
        let planes = NetworkInputs::new(inputs, device, Precision::Fp32).planes;
        read_back(&planes.to_kind(Kind::Float))
    });
    (expected - found).abs().max().double_value(&[])
}

/// Different positions of games on boards of these sizes, in turn, on a 9x9 canvas.
pub fn positions(planes: PlaneSet, boards: &[&str]) -> InputBatch {
    let mut batch = InputBatch::with_planes(Size::square(9).expect("9x9 is a board"), planes);
    let begin = |board: &&str| Position::new(board.parse().expect("a board size"));
    let mut games: Vec<Position> = boards.iter().map(begin).collect();
    for ply in 0..24usize {
        let position = &mut games[ply % boards.len()];
        batch.push(&Features::of(position, Komi::from_half_points(ply as i16 * 3 - 20)));
        let legal = position.legal_points();
        let choice = legal.nth((ply * 31 + 17) % legal.len().max(1));
        position.play(choice.map_or(Move::Pass, Move::Play));
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_passes() {
        crate::limit_threads();
        let tests = self_test(DeviceChoice::Cpu);
        assert!(tests.len() >= 3 && tests.iter().all(|test| test.passed), "{tests:?}");
    }
}
