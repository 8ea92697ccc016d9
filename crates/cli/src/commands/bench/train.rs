//! `tengen bench train`: training steps on games played without a network.

use anyhow::Context;

use tengen_encoding::TrainingBatch;
use tengen_model::NetworkConfig;
use tengen_rules::Size;
use tengen_samples::{SampleConfig, SampleSource, SymmetryMode};
use tengen_selfplay::games_without_network;
use tengen_trainer::{Trainer, TrainerConfig};

use super::{Common, Figures, GAME_VISITS};
use crate::device::DeviceArgs;
use crate::{arguments, output};

/// Train a network on sample games, as in a run
///
/// Prints positions per second of whole training steps: forward pass, losses, gradient, optimizer and moving average.
/// The batches are drawn beforehand; `tengen bench data` measures that part.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench train --network b6c96 --size 9 --batch 256 --threads 2
  tengen bench train --network b10c128 --size 9 --batch 1024 --device cuda \\
      --dtype bf16 --json")]
pub(crate) struct Args {
    /// Blocks and channels
    #[arg(long, default_value = "b6c96")]
    network: NetworkConfig,
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Positions per step
    #[arg(long, default_value_t = 256, value_parser = arguments::count, value_name = "N")]
    batch: u32,
    /// libtorch threads
    #[arg(long, default_value_t = 1, value_parser = arguments::count, value_name = "T")]
    threads: u32,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    common: Common,
}

/// Batches drawn beforehand and used in turn.
const BATCHES: u64 = 8;

/// Number of games that the batches are drawn from.
const GAMES: u32 = 32;

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let options = args.device.predictor_options()?;
    let batches = batches(&args)?;
    let config = TrainerConfig {
        batch: args.batch as usize,
        precision: options.precision.into(),
        threads: args.threads as usize,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(&args.network, config, options.device, args.common.seed)?;
    // The first step selects kernels and allocates memory.
    let mut losses = trainer.step(&batches[0])?;
    let watch = args.common.start();
    let mut steps = 0;
    while !watch.over() {
        losses = trainer.step(&batches[steps % batches.len()])?;
        steps += 1;
    }
    let workload = format!(
        "training {} {}, batch {}, {}, {}",
        args.network,
        args.size,
        args.batch,
        output::counted(u64::from(args.threads), "thread"),
        tengen_network::in_words(&[options.device], trainer.precision()),
    );
    Figures::new(workload, watch.elapsed())
        .rate("positions_per_second", steps as f64 * f64::from(args.batch))
        .rate("steps_per_second", steps as f64)
        .value("mean_batch", f64::from(args.batch))
        .value("last_loss", losses.total)
        .print(args.common.json)
}

/// Batches of sample games.
fn batches(args: &Args) -> anyhow::Result<Vec<TrainingBatch>> {
    let games = games_without_network(args.size, GAMES, GAME_VISITS, args.common.seed)?;
    let mut source = SampleSource::new(SampleConfig::default());
    source.add_games("bench", &games)?;
    let draw = |number| source.draw(args.batch as usize, args.common.seed + number, SymmetryMode::Canonical);
    (0..BATCHES)
        .map(draw)
        .collect::<Option<_>>()
        .context("the sample games have no positions to train on")
}
