//! Measures the training step on random positions: `training NETWORK SIZE [BATCH] [fp32|bf16] [SECONDS]`, for example
//! `cargo run --release -p tengen-trainer --example training -- b4c32 5x5 128`.
#![allow(clippy::print_stdout, reason = "the measured speed is the example's result")]

use std::error::Error;
use std::time::Instant;

use ndarray::{Array1, Array2, Array3, Axis};

use tengen_encoding::{Features, InputBatch, TrainingBatch};
use tengen_model::NetworkConfig;
use tengen_network::DeviceChoice;
use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};
use tengen_trainer::{Trainer, TrainerConfig};

/// The allocator of the `tengen` program. glibc's returns large blocks after each operation and is much slower.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |number: usize, usual: &'static str| arguments.get(number).map_or(usual, String::as_str).to_owned();
    let network: NetworkConfig = argument(0, "b4c32").parse()?;
    let size: Size = argument(1, "5x5").parse()?;
    let batch: usize = argument(2, "128").parse()?;
    let config = TrainerConfig {
        batch,
        precision: argument(3, "fp32").parse()?,
        ..TrainerConfig::default()
    };
    let seconds: f64 = argument(4, "5").parse()?;
    let mut trainer = Trainer::new(&network, config, DeviceChoice::Cpu, 1)?;
    let data = random_batch(size, batch);
    for _ in 0..10 {
        trainer.step(&data)?;
    }
    let (start, cpu_start) = (Instant::now(), cpu_seconds());
    let mut steps = 0;
    while start.elapsed().as_secs_f64() < seconds {
        trainer.step(&data)?;
        steps += 1;
    }
    let (took, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start);
    let positions = (steps * batch) as f64;
    println!(
        "{network} {size} batch {batch}: {:.0} positions/s, {:.0} per CPU second, {:.2} CPU ms per step",
        positions / took,
        positions / cpu,
        cpu * 1e3 / steps as f64
    );
    Ok(())
}

/// CPU time of this thread in seconds; only on Linux, NaN elsewhere.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|nanoseconds| nanoseconds.parse::<f64>().ok())
        .map_or(f64::NAN, |value| value * 1e-9)
}

/// A batch of positions after random plays, with random targets.
fn random_batch(size: Size, count: usize) -> TrainingBatch {
    let area = size.area();
    let mut batch = TrainingBatch {
        inputs: InputBatch::new(size),
        policy: Array2::from_elem((count, area + 1), 1.0 / (area + 1) as f32),
        policy_weight: Array1::ones(count),
        board_margin: Array1::zeros(count),
        result_weight: Array1::ones(count),
        value: Array2::zeros((count, 3)),
        ownership: Array3::zeros((count, size.height(), size.width())),
        weight: Array1::ones(count),
    };
    for sample in 0..count {
        let mut rng = rng::stream(7, &[sample as u64]);
        let mut position = Position::new(size);
        for _ in 0..rng::below(&mut rng, area) {
            let legal: Vec<_> = position.legal_points().iter().collect();
            if !legal.is_empty() {
                position.play(Move::Play(legal[rng::below(&mut rng, legal.len())]));
            }
        }
        batch.inputs.push(&Features::of(&position, Komi::from_half_points(15)));
        let mut owners = batch.ownership.index_axis_mut(Axis(0), sample);
        owners.map_inplace(|owner| *owner = rng::below(&mut rng, 3) as f32 - 1.0);
        batch.board_margin[sample] = rng::below(&mut rng, 2 * area + 1) as i32 - area as i32;
        batch.value[[sample, [0, 2][rng::below(&mut rng, 2)]]] = 1.0;
    }
    batch
}
