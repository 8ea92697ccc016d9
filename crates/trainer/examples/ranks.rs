//! What training together costs: steps of b6c96 on 9x9 in several processes at once, each for itself and then together.
//!
//! `for RANK in 0 1; do cargo run --release -p tengen-trainer --example ranks $RANK 2 & done; wait`

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ndarray::{Array1, Array2, Array3};
use tch::{Device, Kind, Tensor};

use tengen_encoding::{Features, HORIZONS, InputBatch, TrainingBatch};
use tengen_model::NetworkConfig;
use tengen_network::{DeviceChoice, Group, Meeting};
use tengen_rules::{Komi, Move, Position, Size};
use tengen_trainer::{Trainer, TrainerConfig};

/// Samples of each process in a step.
const SAMPLES: usize = 128;

/// Steps of each measurement, after two that are not counted.
const STEPS: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Result<Vec<usize>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let [rank, ranks] = numbers?[..] else {
        return Err("expected a rank and the number of ranks".into());
    };
    let group = Group::join(&Meeting {
        host: "127.0.0.1".to_owned(),
        port: 29511,
        hosted: false,
        name: "ranks".to_owned(),
        rank,
        ranks,
        wait: Duration::from_secs(60),
        patience: Duration::from_secs(600),
    })?;
    let group = Arc::new(group);
    let device = DeviceChoice::Cpu;
    let mut trainer = Trainer::new(&NetworkConfig::new(6, 96), TrainerConfig::default(), device, 1)?;
    let batch = batch();
    let steps = |trainer: &mut Trainer| mean_ms(STEPS, || trainer.step(&batch).map(drop).map_err(Into::into));
    let alone = steps(&mut trainer)?;
    trainer.join(Arc::clone(&group))?;
    let together = steps(&mut trainer)?;
    let sum = |length: usize, kind| {
        let tensor = Tensor::ones([length as i64], (kind, Device::Cpu)) / ranks as f64;
        mean_ms(10 * STEPS, || group.sum(&tensor).map_err(Into::into))
    };
    let weights: usize = trainer.raw_weights().values().iter().map(Vec::len).sum();
    let (flat, statistics) = (sum(weights, Kind::Float)?, sum(2 * 96 + 1, Kind::Double)?);
    if rank == 0 {
        println!(
            "{} of {SAMPLES} samples per process, {ranks} processes",
            trainer.precision()
        );
        println!("a step alone: {alone:.1} ms; together: {together:.1} ms");
        println!("the sum of {weights} floats: {flat:.2} ms; of a layer's statistics: {statistics:.2} ms");
    }
    Ok(())
}

/// The mean time of some work in milliseconds.
fn mean_ms(
    times: usize,
    mut work: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<f64, Box<dyn std::error::Error>> {
    (0..2).try_for_each(|_| work())?;
    let began = Instant::now();
    (0..times).try_for_each(|_| work())?;
    Ok(began.elapsed().as_secs_f64() * 1e3 / times as f64)
}

/// Positions of a game with made-up targets.
fn batch() -> TrainingBatch {
    let size = Size::square(9).unwrap_or_else(|_| unreachable!("9x9 is a board"));
    let mut inputs = InputBatch::new(size);
    let mut position = Position::new(size);
    for ply in 0..SAMPLES {
        inputs.push(&Features::of(&position, Komi::from_half_points(15)));
        let legal = position.legal_points();
        let choice = legal.nth((ply * 7 + 3) % legal.len().max(1));
        position.play(choice.map_or(Move::Pass, Move::Play));
    }
    let moves = size.area() + 1;
    TrainingBatch {
        policy: Array2::from_shape_fn((SAMPLES, moves), |(sample, mv)| {
            f32::from(u8::from(mv == sample % moves))
        }),
        reply: Array2::zeros((SAMPLES, moves)),
        policy_weight: Array1::ones(SAMPLES),
        board_margin: Array1::zeros(SAMPLES),
        value: Array2::from_shape_fn((SAMPLES, 3), |(sample, result)| {
            f32::from(u8::from(result == sample % 2 * 2))
        }),
        short_term: Array2::zeros((SAMPLES, HORIZONS)),
        ownership: Array3::zeros((SAMPLES, 9, 9)),
        ownership_weight: Array1::ones(SAMPLES),
        result_weight: Array1::ones(SAMPLES),
        value_weight: Array1::ones(SAMPLES),
        weight: Array1::ones(SAMPLES),
        inputs,
    }
}
