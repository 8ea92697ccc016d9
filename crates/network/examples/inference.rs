//! Compares the plain and the fused form of a network: CPU time to take new weights, and positions per CPU second of
//! batched prediction. `tengen bench network` measures only the form that is used, and in elapsed time.
//!
//! Run: `cargo run --release -p tengen-network --example inference -- b4c32 5x5 fp32 fused 1,16,64,256` (network,
//! board, fp32 or bf16, plain or fused, batches).
#![allow(clippy::print_stdout, reason = "the table is the example's result")]

use std::error::Error;

use tengen_model::{NetworkConfig, Weights};
use tengen_network::{Engine, PredictorOptions, TorchPredictor, raw_inference};

/// The allocator of the `tengen` program. glibc's returns large blocks after each operation and is much slower.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |number: usize, usual: &'static str| arguments.get(number).map_or(usual, String::as_str).to_owned();
    let config: NetworkConfig = argument(0, "b4c32").parse()?;
    let size = argument(1, "5x5").parse()?;
    let engine = if argument(3, "fused") == "plain" {
        Engine::Plain
    } else {
        Engine::Fused
    };
    let options = PredictorOptions {
        precision: argument(2, "fp32").parse()?,
        engine,
        ..PredictorOptions::default()
    };
    let batches: Vec<usize> = argument(4, "1,16,64,256")
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let mut predictor = TorchPredictor::new(&Weights::random(&config, 1)?, options)?;
    let (weights, start) = (predictor.weights().clone(), cpu_seconds());
    for _ in 0..20 {
        predictor.set_weights(&weights)?;
    }
    println!("new weights: {:.2} CPU ms", (cpu_seconds() - start) * 50.0);
    for batch in batches {
        let start = cpu_seconds();
        let speeds = raw_inference(&mut predictor, size, &[batch], 1.0, 1)?;
        let cpu = cpu_seconds() - start;
        for speed in speeds {
            // The warm-up takes a tenth of the time, and its positions are not counted.
            let per_cpu_second = 1.1 * (speed.calls * batch as u64) as f64 / cpu;
            println!(
                "batch {batch:4}: {:9.0} positions/s, about {per_cpu_second:9.0} per CPU second",
                speed.positions_per_second
            );
        }
    }
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
