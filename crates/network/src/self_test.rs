//! Does a device compute what the CPU computes? For `tengen doctor`, because a broken driver or library may answer
//! without an error.

use ndarray::{ArrayView1, s};
use serde::Serialize;
use tch::{Device, Kind, Tensor};

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_model::{NetworkConfig, Weights};
use tengen_rules::{Komi, Move, Position, Size};
use tengen_search::{Predictions, Predictor};

use crate::catching::catching;
use crate::device::DeviceChoice;
use crate::inputs::{NetworkInputs, on_device};
use crate::one_kernel;
use crate::precision::Precision;
use crate::predictor::{Engine, PredictorOptions, TorchPredictor};
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

/// All number formats.
const FORMATS: [Precision; 3] = [Precision::Fp32, Precision::Bf16, Precision::Fp16];

/// Round trips of memory, in the first comparison.
const ROUND_TRIPS: usize = 1000;

/// Compares a device with the CPU: copies, input planes, predictions in each number format, and whether a position's
/// prediction depends on its neighbors in the batch.
pub fn self_test(device: DeviceChoice) -> Vec<SelfTest> {
    let resolved = match device.resolve() {
        Ok(device) => device,
        Err(error) => return vec![SelfTest::of("device", Err(error.to_string()), 0.0)],
    };
    let inputs = positions(PlaneSet::default(), &["9x9"]);
    let attempt = |work: &dyn Fn() -> f64| catching(work).map_err(|error| error.to_string());
    let mut tests = vec![
        SelfTest::of(
            format!("{ROUND_TRIPS} copies to the device and back"),
            attempt(&|| round_trips(resolved)),
            0.0,
        ),
        SelfTest::of(
            "input planes unpacked on the device",
            attempt(&|| planes(&inputs, resolved)),
            0.0,
        ),
    ];
    for precision in FORMATS {
        tests.push(one_kernel(resolved, precision));
    }
    let weights = Weights::perturbed(&NetworkConfig::new(4, 32)).expect("the shape is valid");
    let reference = predict(&weights, &inputs, DeviceChoice::Cpu, Precision::Fp32);
    // The bound of fp32 allows for TF32.
    for (precision, bound) in FORMATS.into_iter().zip([5e-3, 5e-2, 1e-2]) {
        let found = predict(&weights, &inputs, device, precision);
        let difference = || Ok(distance(reference.as_ref()?, found.as_ref()?));
        let difference = difference().map_err(|error: &String| error.clone());
        tests.push(SelfTest::of(format!("predictions in {precision}"), difference, bound));
        let repeated = repeated(&weights, &inputs, device, precision);
        tests.push(SelfTest::of(
            format!("predictions recorded as a graph and step by step, {precision}"),
            repeated,
            1e-4,
        ));
        let alone = alone(&weights, &inputs, found.as_ref(), device, precision);
        tests.push(SelfTest::of(
            format!("a position alone and in a batch, {precision}"),
            alone,
            bound,
        ));
    }
    tests
}

/// Whether convolutions with addition and ReLU in one kernel compute the same as step by step, if there are any.
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

/// The largest difference after copies of different numbers to the device and back.
fn round_trips(device: Device) -> f64 {
    let numbers: Vec<f32> = (0..4096).map(|number| (number as f32 * 0.37).sin()).collect();
    let mut largest: f64 = 0.0;
    for trip in 0..ROUND_TRIPS {
        let sent = ndarray::Array1::from_iter(numbers.iter().map(|number| number + trip as f32));
        let back = read_back(&on_device(sent.view(), device));
        let expected = Tensor::from_slice(sent.as_slice().expect("a new array is in C order"));
        largest = worse(largest, (back - expected).abs().max().double_value(&[]));
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

/// The difference between the predictions of the position at one place of a batch, and of the same one alone.
fn alone(
    weights: &Weights,
    inputs: &InputBatch,
    whole: Result<&Predictions, &String>,
    device: DeviceChoice,
    precision: Precision,
) -> Result<f64, String> {
    const PLACE: usize = 7;
    let whole = whole.map_err(String::clone)?;
    let mut one = InputBatch::new(inputs.canvas());
    one.copy_rows(inputs, PLACE..PLACE + 1);
    let one = predict(weights, &one, device, precision)?;
    let mut same = Predictions::default();
    same.reset(1, inputs.canvas());
    let row = whole.row(PLACE, inputs.canvas());
    same.policy_logits
        .row_mut(0)
        .assign(&ArrayView1::from(row.policy_logits));
    (same.win[0], same.loss[0]) = (row.win, row.loss);
    same.ownership = whole.ownership.slice(s![PLACE..=PLACE, .., ..]).to_owned();
    Ok(distance(&one, &same))
}

/// The largest difference between the first prediction of a batch and later ones, for which a GPU's work is recorded.
/// Batches of other positions come between them.
fn repeated(weights: &Weights, inputs: &InputBatch, device: DeviceChoice, precision: Precision) -> Result<f64, String> {
    const TIMES: usize = 6;
    let mut predictor = predictor(weights, device, precision)?;
    let mut reversed = InputBatch::new(inputs.canvas());
    for row in (0..inputs.len()).rev() {
        let mut one = InputBatch::new(inputs.canvas());
        one.copy_rows(inputs, row..row + 1);
        reversed.append(&one);
    }
    let mut first = None;
    let mut largest: f64 = 0.0;
    for _ in 0..TIMES {
        for batch in [inputs, &reversed] {
            let mut out = Predictions::default();
            predictor.predict(batch, &mut out).map_err(|error| error.to_string())?;
            if std::ptr::eq(batch, inputs) {
                largest = worse(largest, distance(first.get_or_insert_with(|| out.clone()), &out));
            }
        }
    }
    Ok(largest)
}

fn predictor(weights: &Weights, device: DeviceChoice, precision: Precision) -> Result<TorchPredictor, String> {
    let options = PredictorOptions {
        device,
        precision,
        // A GPU predicts as it does in play, the CPU with the simplest operations.
        engine: match device {
            DeviceChoice::Cpu => Engine::Plain,
            _ => Engine::Auto,
        },
        ..PredictorOptions::default()
    };
    TorchPredictor::new(weights, options).map_err(|error| error.to_string())
}

fn predict(
    weights: &Weights,
    inputs: &InputBatch,
    device: DeviceChoice,
    precision: Precision,
) -> Result<Predictions, String> {
    let mut predictor = predictor(weights, device, precision)?;
    let mut out = Predictions::default();
    let done = predictor.predict(inputs, &mut out);
    done.map_err(|error| error.to_string())?;
    out.check(inputs.len(), inputs.canvas())
        .map_err(|error| error.to_string())?;
    Ok(out)
}

/// The largest difference between two predictions, where logits count as shares of the largest one.
fn distance(a: &Predictions, b: &Predictions) -> f64 {
    let pairs = [(&a.win, &b.win), (&a.loss, &b.loss)];
    let values = pairs.map(|(a, b)| largest(a.iter(), b.iter()));
    let logits = largest(a.policy_logits.iter(), b.policy_logits.iter());
    let ownership = largest(a.ownership.iter(), b.ownership.iter());
    let scale = a
        .policy_logits
        .iter()
        .fold(1.0, |scale: f64, logit| scale.max(f64::from(logit.abs())));
    [values[1], ownership, logits / scale]
        .into_iter()
        .fold(values[0], worse)
}

fn largest<'a>(a: impl IntoIterator<Item = &'a f32>, b: impl IntoIterator<Item = &'a f32>) -> f64 {
    let differences = a.into_iter().zip(b).map(|(a, b)| f64::from((a - b).abs()));
    differences.fold(0.0, worse)
}

/// The larger of two differences; one that is not a number is the worst.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::INFINITY
    } else {
        a.max(b)
    }
}

/// Different positions of games on boards of these sizes, in turn, on a canvas of 9x9.
pub(crate) fn positions(planes: PlaneSet, boards: &[&str]) -> InputBatch {
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
    fn the_cpu_passes_and_zeros_do_not() {
        crate::limit_threads();
        let tests = self_test(DeviceChoice::Cpu);
        assert!(tests.len() >= 6 && tests.iter().all(|test| test.passed), "{tests:?}");
        let inputs = positions(PlaneSet::default(), &["9x9"]);
        let right = predict(
            &Weights::perturbed(&NetworkConfig::new(4, 32)).expect("the shape is valid"),
            &inputs,
            DeviceChoice::Cpu,
            Precision::Fp32,
        );
        let right = right.expect("the CPU predicts");
        let mut zeros = Predictions::default();
        zeros.reset(inputs.len(), inputs.canvas());
        zeros.reset_ownership(inputs.canvas());
        assert!(distance(&right, &zeros) > 0.1, "{}", distance(&right, &zeros));
        let mut broken = right.clone();
        broken.policy_logits[[3, 5]] = f32::NAN;
        assert_eq!(distance(&right, &broken), f64::INFINITY);
    }
}
