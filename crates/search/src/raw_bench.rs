//! Benchmark of raw batched prediction: positions per second for each batch size, with nothing else running.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::predictor::{PredictError, Predictions, Predictor};
use tengen_encoding::{Features, InputBatch};
use tengen_rng as rng;
use tengen_rules::{Komi, Move, Position, Size};

/// Prediction speed at one batch size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BatchSpeed {
    /// Positions per call.
    pub batch: usize,
    /// Number of calls measured.
    pub calls: u64,
    /// Positions per second of wall-clock time.
    pub positions_per_second: f64,
    /// Milliseconds of wall-clock time per call.
    pub milliseconds_per_call: f64,
}

/// Calls a predictor repeatedly with random positions, for `seconds` per batch size after a short warm-up.
///
/// # Errors
/// The predictor's error when it fails.
pub fn raw_inference(
    predictor: &mut dyn Predictor,
    size: Size,
    batches: &[usize],
    seconds: f64,
    seed: u64,
) -> Result<Vec<BatchSpeed>, PredictError> {
    let mut out = Predictions::default();
    let mut speeds = Vec::new();
    for &batch in batches {
        let inputs = random_inputs(predictor.new_batch(size), batch, seed);
        repeat(seconds * 0.1, || predictor.predict(&inputs, &mut out))?;
        let (calls, took) = repeat(seconds, || predictor.predict(&inputs, &mut out))?;
        speeds.push(BatchSpeed {
            batch,
            calls,
            positions_per_second: (calls * batch as u64) as f64 / took.as_secs_f64(),
            milliseconds_per_call: took.as_secs_f64() * 1e3 / calls as f64,
        });
    }
    Ok(speeds)
}

/// Repeats a call for some seconds, at least once. Returns the number of calls and the time taken.
fn repeat(seconds: f64, mut call: impl FnMut() -> Result<(), PredictError>) -> Result<(u64, Duration), PredictError> {
    let start = Instant::now();
    let mut calls = 0;
    loop {
        call()?;
        calls += 1;
        let took = start.elapsed();
        if took.as_secs_f64() >= seconds {
            return Ok((calls, took));
        }
    }
}

/// Fills an empty batch with positions reached by random numbers of random legal plays.
pub fn random_inputs(mut inputs: InputBatch, batch: usize, seed: u64) -> InputBatch {
    let size = inputs.canvas();
    for sample in 0..batch {
        let mut rng = rng::stream(seed, &[sample as u64]);
        let mut position = Position::new(size);
        for _ in 0..rng::below(&mut rng, size.area() + 1) {
            let legal: Vec<_> = position.legal_points().iter().collect();
            if legal.is_empty() {
                break;
            }
            position.play(Move::Play(legal[rng::below(&mut rng, legal.len())]));
        }
        inputs.push(&Features::of(&position, Komi::from_half_points(15)));
    }
    inputs
}
