//! Checks that a device trains as the CPU does, for `tengen doctor`.

use ndarray::{Array1, Array2, Array3};

use tengen_encoding::{Features, HORIZONS, InputBatch, TrainingBatch};
use tengen_model::{NetworkConfig, Role, Weights};
use tengen_network::{DeviceChoice, Precision, SelfTest, catching};
use tengen_rules::{Komi, Move, Position, Size};

use crate::config::{Optimizer, TrainerConfig};
use crate::trainer::{Trainer, TrainerError};

/// Training steps of the comparison.
const STEPS: usize = 50;

const ADVICE: &str = "train in another format (training.precision) or on another --device; update the GPU's driver, \
                      and check that libtorch's CUDA part belongs to this libtorch";

/// Compares training on a device in a number format with that on the CPU in fp32: by one gradient, and by the losses of
/// 50 training steps and then of the averaged weights.
pub fn self_test(device: DeviceChoice, precision: Precision) -> [SelfTest; 2] {
    // On the CPU, the gradient differs by 0.07 in bf16, and the losses by 0.003; TF32 has three more bits of mantissa.
    let (of_gradient, of_losses) = match precision {
        Precision::Fp32 => (0.03, 0.02),
        Precision::Bf16 | Precision::Fp16 => (0.2, 0.05),
    };
    let on_both = |of: fn(DeviceChoice, Precision) -> Result<Vec<f64>, TrainerError>| {
        let both = || Ok([of(DeviceChoice::Cpu, Precision::Fp32)?, of(device, precision)?]);
        both().map_err(|error: TrainerError| error.to_string())
    };
    [
        SelfTest::of(
            format!("the gradient of a training step in {precision}"),
            on_both(gradient).map(|[expected, found]| distance(&expected, &found)),
            of_gradient,
        )
        .advising(ADVICE),
        SelfTest::of(
            format!("losses of {STEPS} training steps in {precision}, and of the average"),
            on_both(losses).map(|[expected, found]| largest(&expected, &found)),
            of_losses,
        )
        .advising(ADVICE),
    ]
}

/// The length of the difference of two vectors as a share of the length of the first.
fn distance(expected: &[f64], found: &[f64]) -> f64 {
    let length = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let difference = length(&mut expected.iter().zip(found).map(|(a, b)| a - b));
    difference / length(&mut expected.iter().copied())
}

/// The largest difference between two losses as a share of the first.
fn largest(expected: &[f64], found: &[f64]) -> f64 {
    let parts = expected
        .iter()
        .zip(found)
        .map(|(a, b)| (a - b).abs() / a.abs().max(0.1));
    parts.fold(0.0, SelfTest::worse)
}

/// How much each weight changes in one step of plain descent, from weights without zeros.
fn gradient(device: DeviceChoice, precision: Precision) -> Result<Vec<f64>, TrainerError> {
    let config = TrainerConfig {
        precision: precision.into(),
        optimizer: Optimizer::Sgd,
        learning_rate: 1.0,
        warmup_steps: 0,
        weight_decay: 0.0,
        momentum: 0.0,
        clip_norm: 0.0,
        ..TrainerConfig::default()
    };
    let before = Weights::perturbed(&NetworkConfig::new(2, 16))?;
    let mut trainer = Trainer::from_weights(&before, config, device)?;
    trainer.step(&batch())?;
    let after = catching(|| trainer.raw_weights())?;
    let tensors = before.values().iter().zip(after.values()).zip(before.parameters());
    let trained = tensors.filter(|(_, parameter)| parameter.role != Role::Statistic);
    let changes = trained.flat_map(|((before, after), _)| before.iter().zip(after));
    Ok(changes.map(|(before, after)| f64::from(after - before)).collect())
}

/// The loss of every step, followed by that of the averaged weights. In every other batch, the boards are smaller than
/// their canvas.
fn losses(device: DeviceChoice, precision: Precision) -> Result<Vec<f64>, TrainerError> {
    let config = TrainerConfig {
        precision: precision.into(),
        learning_rate: 1e-3,
        warmup_steps: 5,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(&NetworkConfig::new(2, 16), config, device, 1)?;
    let batches = [batch(), batch_on(Size::square(6).expect("6x6 is a board"))];
    let mut losses = Vec::new();
    for step in 0..STEPS {
        // As in a run, which does not wait for a GPU.
        losses.extend(trainer.advance(&batches[step % 2])?);
    }
    losses.extend(trainer.settle()?);
    losses.push(trainer.validate_all(&batches)?.losses);
    Ok(losses.iter().map(|losses| losses.total).collect())
}

/// Positions of a game on 5x5 with made-up targets.
pub(crate) fn batch() -> TrainingBatch {
    batch_on(Size::square(5).expect("5x5 is a board"))
}

/// The same on a canvas that may be larger.
fn batch_on(canvas: Size) -> TrainingBatch {
    const SAMPLES: usize = 16;
    let size = Size::square(5).expect("5x5 is a board");
    let area = size.area();
    let mut inputs = InputBatch::new(canvas);
    let mut position = Position::new(size);
    for ply in 0..SAMPLES {
        inputs.push(&Features::of(&position, Komi::from_half_points(7)));
        let legal = position.legal_points();
        let choice = legal.nth((ply * 7 + 3) % legal.len().max(1));
        position.play(choice.map_or(Move::Pass, Move::Play));
    }
    let target = |sample: usize, mv: usize| {
        let point = sample * 5 % area;
        f32::from(mv == point / size.width() * canvas.width() + point % size.width())
    };
    TrainingBatch {
        policy: Array2::from_shape_fn((SAMPLES, canvas.area() + 1), |(sample, mv)| target(sample, mv)),
        reply: Array2::zeros((SAMPLES, canvas.area() + 1)),
        policy_weight: Array1::ones(SAMPLES),
        board_margin: (0..SAMPLES as i32).map(|sample| sample * 3 - 24).collect(),
        value: Array2::from_shape_fn((SAMPLES, 3), |(sample, result)| f32::from(result == sample % 2 * 2)),
        short_term: Array2::zeros((SAMPLES, HORIZONS)),
        ownership: Array3::from_shape_fn((SAMPLES, canvas.height(), canvas.width()), |(sample, row, column)| {
            let on_board = row < size.height() && column < size.width();
            f32::from(on_board) * (((sample + row + column) % 3) as f32 - 1.0)
        }),
        ownership_weight: Array1::ones(SAMPLES),
        result_weight: Array1::ones(SAMPLES),
        value_weight: Array1::ones(SAMPLES),
        weight: Array1::ones(SAMPLES),
        inputs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_passes_and_its_losses_fall() {
        tengen_network::limit_threads();
        let tests = self_test(DeviceChoice::Cpu, Precision::Fp32);
        assert!(tests.iter().all(|test| test.passed), "{tests:?}");
        let losses = losses(DeviceChoice::Cpu, Precision::Fp32).expect("the CPU trains");
        assert_eq!(losses.len(), STEPS + 1);
        assert!(losses[STEPS - 1] < 0.8 * losses[0], "{losses:?}");
        assert!(losses[STEPS] < losses[0], "{losses:?}");
    }

    /// Rounding to bf16 is seen but stays well within its bounds; zeros and a wrong gradient do not.
    #[test]
    fn bf16_is_told_from_what_is_wrong() {
        tengen_network::limit_threads();
        let (cpu, fp32, bf16) = (DeviceChoice::Cpu, Precision::Fp32, Precision::Bf16);
        let tests = self_test(cpu, bf16);
        let rounds = |test: &SelfTest| test.passed && !test.found.starts_with("difference 0.00e0");
        assert!(tests.iter().all(rounds), "{tests:?}");
        let [exact, rounded] = [fp32, bf16].map(|precision| gradient(cpu, precision).expect("the CPU trains"));
        let rounding = distance(&exact, &rounded);
        assert!(rounding > 0.005 && rounding < 0.1, "{rounding}");
        let mut wrong = exact.clone();
        wrong[..100].fill(0.0);
        assert!(distance(&exact, &wrong) > 0.03, "{}", distance(&exact, &wrong));
        assert_eq!(distance(&exact, &vec![0.0; exact.len()]), 1.0);
        assert_eq!(largest(&[3.0, 2.0], &[3.0, 0.0]), 1.0);
        assert_eq!(largest(&[3.0, 2.0], &[3.0, f64::NAN]), f64::INFINITY);
    }
}
