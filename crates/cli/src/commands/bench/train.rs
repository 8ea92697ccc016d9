//! `tengen bench train`: measures training steps on games played without a network.

use std::time::Duration;

use tengen_model::NetworkConfig;
use tengen_rules::Size;
use tengen_trainer::TrainerConfig;
use tengen_tune::TrainingSpeed;

use super::{Common, Figures};
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

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    args.device.check_one()?;
    let options = args.device.predictor_options()?;
    let config = TrainerConfig {
        batch: args.batch as usize,
        precision: args.device.dtype.unwrap_or_default(),
        threads: args.threads as usize,
        ..TrainerConfig::default()
    };
    let (device, duration) = (options.device, Duration::from_secs_f64(args.common.seconds));
    let speed = TrainingSpeed::measure(&args.network, &config, device, args.size, duration, args.common.seed)?;
    let workload = format!(
        "training {} {}, batch {}, {}, {}",
        args.network,
        args.size,
        args.batch,
        output::counted(u64::from(args.threads), "thread"),
        tengen_network::in_words(&[device], speed.precision),
    );
    Figures::new(workload, speed.seconds)
        .rate("positions_per_second", speed.steps as f64 * f64::from(args.batch))
        .rate("steps_per_second", speed.steps as f64)
        .value("mean_batch", f64::from(args.batch))
        .value("last_loss", speed.last_loss)
        .print(args.common.json)
}
