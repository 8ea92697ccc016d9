//! Checks that a device trains as the CPU does, for `tengen doctor`.

use ndarray::{Array1, Array2, Array3};

use tengen_encoding::{Features, HORIZONS, InputBatch, TrainingBatch};
use tengen_model::{NetworkConfig, PrecisionChoice};
use tengen_network::{DeviceChoice, SelfTest};
use tengen_rules::{Komi, Move, Position, Size};

use crate::config::TrainerConfig;
use crate::trainer::{Trainer, TrainerError};

/// Training steps of the comparison.
const STEPS: usize = 50;

/// Compares a device with the CPU by the losses of 50 training steps and then of the averaged weights.
pub fn self_test(device: DeviceChoice) -> SelfTest {
    let difference = || -> Result<f64, TrainerError> {
        let (expected, found) = (losses(DeviceChoice::Cpu)?, losses(device)?);
        let parts = expected
            .iter()
            .zip(&found)
            .map(|(a, b)| (a - b).abs() / a.abs().max(0.1));
        Ok(parts.fold(0.0, f64::max))
    };
    let difference = difference().map_err(|error| error.to_string());
    SelfTest::of(
        format!("losses of {STEPS} training steps, and of the average"),
        difference,
        0.02,
    )
}

/// The loss of every step in fp32, followed by that of the averaged weights. In every other batch, the boards are
/// smaller than their canvas.
fn losses(device: DeviceChoice) -> Result<Vec<f64>, TrainerError> {
    let config = TrainerConfig {
        precision: PrecisionChoice::Fp32,
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
        let test = self_test(DeviceChoice::Cpu);
        assert!(test.passed, "{test:?}");
        let losses = losses(DeviceChoice::Cpu).expect("the CPU trains");
        assert_eq!(losses.len(), STEPS + 1);
        assert!(losses[STEPS - 1] < 0.8 * losses[0], "{losses:?}");
        assert!(losses[STEPS] < losses[0], "{losses:?}");
    }
}
