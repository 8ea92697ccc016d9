//! `tengen bench network`: measures batched inference alone.

use std::thread;
use std::time::Instant;

use anyhow::Context;
use serde_json::json;

use tengen_model::{NetworkConfig, Weights};
use tengen_network::{BatchSpeed, TorchPredictor, raw_inference};
use tengen_rules::Size;

use super::{Common, Figures};
use crate::device::DeviceArgs;
use crate::{arguments, output};

/// Evaluate whole batches of positions with a network, without a search
///
/// Prints positions per second for each batch size: the upper limit of self-play speed. The network has the given shape
/// and random weights. Each thread runs its own network.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench network --network b6c96 --size 9 --dtype bf16
  tengen bench network --network b10c128 --size 9 --device cuda --dtype bf16 \\
      --batch 256,1024,4096 --json")]
pub(crate) struct Args {
    /// Blocks and channels
    #[arg(long, default_value = "b6c96")]
    network: NetworkConfig,
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Batch sizes, measured one after the other with equal time each
    #[arg(long, default_value = "1,8,64", value_parser = arguments::counts, value_name = "N,N…")]
    batch: std::vec::Vec<u32>,
    /// Threads that evaluate at the same time
    #[arg(long, default_value_t = 1, value_parser = arguments::count, value_name = "T")]
    threads: u32,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    args.device.check_one()?;
    let batches: Vec<usize> = args.batch.iter().map(|&batch| batch as usize).collect();
    let seconds = args.common.seconds / batches.len() as f64;
    let start = Instant::now();
    let weights = Weights::random(&args.network, args.common.seed)?;
    let options = args.device.predictor_options()?;
    let measure = || -> anyhow::Result<Vec<BatchSpeed>> {
        let mut predictor = TorchPredictor::new(&weights, options)?;
        raw_inference(&mut predictor, args.size, &batches, seconds, args.common.seed).context("the network failed")
    };
    let speeds: Vec<Vec<BatchSpeed>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..args.threads).map(|_| scope.spawn(measure)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("a measuring thread does not panic");
        threads.into_iter().map(join).collect::<anyhow::Result<_>>()
    })?;
    let rate = |index: usize| {
        speeds
            .iter()
            .map(|speeds| speeds[index].positions_per_second)
            .sum::<f64>()
    };
    let rates: Vec<f64> = (0..batches.len()).map(rate).collect();
    let threads = output::counted(u64::from(args.threads), "thread");
    let workload = format!(
        "network {} {}, {threads}, {}",
        args.network,
        args.size,
        args.device.in_words()?
    );
    let mut figures = Figures::new(workload, start.elapsed().as_secs_f64());
    for (batch, rate) in batches.iter().zip(&rates) {
        figures.shown(&format!("positions per second, batch {batch}"), *rate);
    }
    let listed: Vec<_> = batches
        .iter()
        .zip(&rates)
        .map(|(batch, rate)| json!({ "batch": batch, "positions_per_second": rate }))
        .collect();
    figures
        .value("positions_per_second", rates.iter().copied().fold(0.0, f64::max))
        .value("evaluations_per_second", rates.iter().copied().fold(0.0, f64::max))
        .value(
            "gigaflop_per_second",
            rates.iter().copied().fold(0.0, f64::max) * flops(&args) / 1e9,
        )
        .hidden("batches", listed)
        .print(args.common.json)
}

/// Floating-point operations per position.
fn flops(args: &Args) -> f64 {
    args.network.operations(args.size.area()) as f64
}
