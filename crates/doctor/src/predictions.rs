//! Checks that a GPU predicts what the CPU predicts: in every number format, in small and large batches, step by step
//! and recorded as a graph, and while something else uses the GPU.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ndarray::{ArrayView1, s};

use tengen_encoding::{InputBatch, PlaneSet};
use tengen_model::{NetworkConfig, PrecisionChoice, Weights};
use tengen_network::{
    DeviceChoice, Engine, Graph, Precision, PredictorOptions, SelfTest, TorchPredictor, forbid_tf32, positions,
};
use tengen_search::{Predictions, Predictor};

/// The size of a large batch. GPUs have different kernels for large and small batches.
pub(crate) const LARGE: usize = 1000;

/// Compares the device's predictions in each number format with the CPU's, for a small batch and for one of at least
/// `large` positions. Also compares them with each other: recorded and step by step, and a position alone and in a
/// batch.
pub(crate) fn predictions(device: DeviceChoice, large: usize) -> Vec<SelfTest> {
    let inputs = positions(PlaneSet::default(), &["9x9"]);
    let large = many(&inputs, large);
    let weights = perturbed(32);
    let on_cpu = |inputs: &InputBatch| predict(&weights, inputs, DeviceChoice::Cpu, Precision::Fp32);
    let (expected, expected_large) = (on_cpu(&inputs), on_cpu(&large));
    let mut tests = Vec::new();
    // The bound of fp32 allows for TF32.
    for (precision, bound) in Precision::ALL.into_iter().zip([5e-3, 5e-2, 1e-2]) {
        let found = predict(&weights, &inputs, device, precision);
        tests.push(SelfTest::of(
            format!("predictions in {precision}"),
            compared(&expected, &found),
            bound,
        ));
        let found_large = predict(&weights, &large, device, precision);
        tests.push(SelfTest::of(
            format!("predictions of {} positions at once, {precision}", large.len()),
            compared(&expected_large, &found_large),
            bound,
        ));
        tests.push(recorded(&weights, &inputs, device, precision));
        let alone = alone(&weights, &inputs, found.as_ref(), device, precision);
        tests.push(SelfTest::of(
            format!("a position alone and in a batch, {precision}"),
            alone,
            bound,
        ));
    }
    tests
}

/// Compares the device's predictions in fp32, without TF32, with the CPU's. From then on, the process rounds nothing to
/// TF32.
pub(crate) fn exact_predictions(device: DeviceChoice) -> SelfTest {
    // Additions in another order differ by some 1e-6, and Winograd's convolutions by up to 1e-5. TF32 differs by 1e-3.
    const BOUND: f64 = 1e-4;
    forbid_tf32();
    let (inputs, weights) = (positions(PlaneSet::default(), &["9x9"]), perturbed(32));
    let [expected, found] = [DeviceChoice::Cpu, device].map(|on| predict(&weights, &inputs, on, Precision::Fp32));
    SelfTest::of("predictions in fp32 without TF32", compared(&expected, &found), BOUND)
}

/// Lets two networks predict batches of at least `large` positions, each on its own thread, while `other` uses the GPU,
/// too. Compares the predictions with what each network predicts alone. Also returns what `other` found.
pub(crate) fn beside(device: DeviceChoice, large: usize, other: impl FnOnce() -> Vec<SelfTest>) -> Vec<SelfTest> {
    let inputs = many(&positions(PlaneSet::default(), &["9x9"]), large);
    let precision = Precision::for_prediction(PrecisionChoice::Auto, device).unwrap_or_default();
    let networks = [32, 48].map(perturbed);
    let alone = networks
        .each_ref()
        .map(|weights| predict(weights, &inputs, device, precision));
    let stop = AtomicBool::new(false);
    let (other, differences) = thread::scope(|scope| {
        let predicting = networks.each_ref().map(|weights| {
            let (inputs, stop) = (&inputs, &stop);
            scope.spawn(move || -> Result<Vec<Predictions>, String> {
                let mut predictor = predictor(weights, device, precision)?;
                unlike(&mut predictor, inputs, || stop.load(Ordering::Relaxed))
            })
        });
        let other = {
            let _stop = SetOnDrop(&stop);
            other()
        };
        let joined = predicting.map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())));
        (other, joined)
    });
    let differences = alone.iter().zip(&differences).map(|(alone, together)| {
        let alone = alone.as_ref()?;
        let distances = together.as_ref()?.iter().map(|found| distance(alone, found));
        Ok(distances.fold(0.0, SelfTest::worse))
    });
    let largest = differences.reduce(|a: Result<f64, &String>, b| Ok(SelfTest::worse(a?, b?)));
    let largest = largest.unwrap_or(Ok(0.0)).map_err(String::clone);
    let name = "predictions of two networks at once, beside training, and alone";
    let together = SelfTest::of(name, largest, 1e-4);
    [together].into_iter().chain(other).collect()
}

/// Sets a flag when dropped, even during a panic, so that no thread goes on forever.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Predicts a batch over and over until `enough`, but at least a few times. Returns the first predictions and all that
/// differ from the ones just before them; stops early if there are too many of these.
fn unlike(
    predictor: &mut dyn Predictor,
    inputs: &InputBatch,
    enough: impl Fn() -> bool,
) -> Result<Vec<Predictions>, String> {
    const LEAST: usize = 6;
    const MOST: usize = 100;
    let mut found: Vec<Predictions> = Vec::new();
    let mut count = 0;
    while count < LEAST || (!enough() && found.len() < MOST) {
        let next = predicted(predictor, inputs)?;
        if found.last() != Some(&next) {
            found.push(next);
        }
        count += 1;
    }
    Ok(found)
}

fn perturbed(channels: usize) -> Weights {
    Weights::perturbed(&NetworkConfig::new(4, channels)).expect("the shape is valid")
}

fn compared(expected: &Result<Predictions, String>, found: &Result<Predictions, String>) -> Result<f64, String> {
    let both = || -> Result<f64, &String> { Ok(distance(expected.as_ref()?, found.as_ref()?)) };
    both().map_err(String::clone)
}

/// The difference between the predictions for one position of a batch and for the same position alone.
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

/// The largest difference between the first predictions of a batch and later ones, for which a GPU replays recorded
/// work. Batches with the positions in reverse order come in between, so that leftovers of an earlier batch show.
fn recorded(weights: &Weights, inputs: &InputBatch, device: DeviceChoice, precision: Precision) -> SelfTest {
    const TIMES: usize = 6;
    let mut has_recordings = false;
    let mut compare = || -> Result<f64, String> {
        let mut predictor = predictor(weights, device, precision)?;
        let reversed = reversed(inputs);
        let mut first = None;
        let mut largest: f64 = 0.0;
        for _ in 0..TIMES {
            let found = predicted(&mut predictor, inputs)?;
            largest = SelfTest::worse(largest, distance(first.get_or_insert_with(|| found.clone()), &found));
            predicted(&mut predictor, &reversed)?;
        }
        has_recordings = predictor.has_recordings();
        Ok(largest)
    };
    let name = format!("predictions recorded as a graph and step by step, {precision}");
    let mut test = SelfTest::of(name, compare(), 1e-4);
    if test.passed && !has_recordings {
        test.passed = device == DeviceChoice::Cpu || Graph::available().is_err();
        test.found = "nothing can be recorded, so kernels are launched one by one, which is slow".to_owned();
        test = test
            .or_slow("the first warning says why; update the GPU's driver, and end other programs that use the GPU");
    }
    test
}

/// The positions in reverse order.
fn reversed(inputs: &InputBatch) -> InputBatch {
    let mut reversed = InputBatch::new(inputs.canvas());
    for row in (0..inputs.len()).rev() {
        let mut one = InputBatch::new(inputs.canvas());
        one.copy_rows(inputs, row..row + 1);
        reversed.append(&one);
    }
    reversed
}

/// The positions, repeated until there are at least `least`.
fn many(inputs: &InputBatch, least: usize) -> InputBatch {
    let mut many = InputBatch::new(inputs.canvas());
    while many.len() < least {
        many.append(inputs);
    }
    many
}

fn predictor(weights: &Weights, device: DeviceChoice, precision: Precision) -> Result<TorchPredictor, String> {
    let options = PredictorOptions {
        device,
        precision,
        // A GPU predicts as in play; the CPU uses the simplest operations, as the reference.
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
    predicted(&mut predictor(weights, device, precision)?, inputs)
}

fn predicted(predictor: &mut dyn Predictor, inputs: &InputBatch) -> Result<Predictions, String> {
    let mut out = Predictions::default();
    let done = predictor.predict(inputs, &mut out);
    done.map_err(|error| error.to_string())?;
    out.check(inputs.len(), inputs.canvas())
        .map_err(|error| error.to_string())?;
    Ok(out)
}

/// The largest difference between two predictions. Differences of logits are divided by the largest logit of `a`, if
/// it is above 1.
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
        .fold(values[0], SelfTest::worse)
}

fn largest<'a>(a: impl IntoIterator<Item = &'a f32>, b: impl IntoIterator<Item = &'a f32>) -> f64 {
    let differences = a.into_iter().zip(b).map(|(a, b)| f64::from((a - b).abs()));
    differences.fold(0.0, SelfTest::worse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_passes_and_zeros_do_not() {
        tengen_network::limit_threads();
        let tests = predictions(DeviceChoice::Cpu, 30);
        assert!(tests.len() >= 12 && tests.iter().all(|test| test.passed), "{tests:?}");
        assert!(tests[2].found.contains("nothing can be recorded"), "{tests:?}");
        let exact = exact_predictions(DeviceChoice::Cpu);
        assert!(exact.passed, "{exact:?}");
        let inputs = positions(PlaneSet::default(), &["9x9"]);
        let right = predict(&perturbed(32), &inputs, DeviceChoice::Cpu, Precision::Fp32);
        let right = right.expect("the CPU predicts");
        let mut zeros = Predictions::default();
        zeros.reset(inputs.len(), inputs.canvas());
        zeros.reset_ownership(inputs.canvas());
        assert!(distance(&right, &zeros) > 0.1, "{}", distance(&right, &zeros));
        let mut broken = right.clone();
        broken.policy_logits[[3, 5]] = f32::NAN;
        assert_eq!(distance(&right, &broken), f64::INFINITY);
    }

    #[test]
    fn what_changes_beside_others_is_found() {
        tengen_network::limit_threads();
        let other = || vec![SelfTest::of("other", Ok(0.5), 0.0)];
        let tests = beside(DeviceChoice::Cpu, 30, other);
        assert!(tests.len() == 2 && tests[0].passed && !tests[1].passed, "{tests:?}");
        // A predictor whose fourth batch is that of another network.
        struct Disturbed([TorchPredictor; 2], usize);
        impl Predictor for Disturbed {
            fn predict(
                &mut self,
                inputs: &InputBatch,
                out: &mut Predictions,
            ) -> Result<(), tengen_search::PredictError> {
                self.1 += 1;
                self.0[usize::from(self.1 == 4)].predict(inputs, out)
            }
            fn name(&self) -> String {
                "disturbed".to_owned()
            }
        }
        let networks =
            [32, 48].map(|channels| predictor(&perturbed(channels), DeviceChoice::Cpu, Precision::Fp32).expect("it"));
        let inputs = positions(PlaneSet::default(), &["9x9"]);
        let found = unlike(&mut Disturbed(networks, 0), &inputs, || true).expect("the CPU predicts");
        assert_eq!(found.len(), 3);
        assert!(distance(&found[0], &found[1]) > 0.01 && distance(&found[0], &found[2]) == 0.0);
    }
}
