//! `tengen doctor`: measures this machine and gives advice.

use serde_json::json;

use tengen_doctor::{Comparison, Machine, Torch};
use tengen_model::Devices;

use crate::{arguments, output};

/// Check this machine: libtorch, GPU, bf16, allocator, cores, and measured evaluations per second
///
/// Prints what it found, a table of network evaluations per second for two networks by batch size, and advice. Takes a
/// few seconds. With --device cuda, it also compares the GPU with the CPU: copies, input planes, predictions in each
/// number format, and training. If anything differs by more than rounding, it says so and exits with 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen doctor
  tengen doctor --device cuda
  tengen doctor --seconds 20 --json")]
pub(crate) struct Args {
    /// How long to measure in total, in seconds
    #[arg(long, default_value = "4", value_parser = arguments::seconds)]
    seconds: f64,
    /// The device to test: cuda compares the first GPU with the CPU, cuda:0,cuda:1 the first two
    #[arg(long, value_name = "DEVICE", default_value_t)]
    device: Devices,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Inspects and measures the machine.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let machine = Machine::look();
    let torch = Torch::measure(args.seconds)?;
    let comparison = Comparison::of(args.device);
    let mut advice = machine.advice();
    advice.extend(torch.advice(comparison.failed() == 0));
    advice.extend(tengen_store::orphaned_scratch_folders().iter().map(|orphan| {
        format!(
            "{} holds {} for the store {}, which is not there: if you moved the store, move it back once to publish \
             them; if you deleted it for good, delete the folder.",
            orphan.folder.display(),
            output::counted(orphan.waiting.games, "game"),
            orphan.store
        )
    }));
    if args.json {
        output::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "system": machine,
            "torch": torch,
            "comparison": comparison,
            "advice": advice,
        }))?;
    } else {
        let lines = [machine.lines(), torch.lines(), comparison.lines()]
            .into_iter()
            .flatten();
        lines.chain([String::new()]).chain(advice).for_each(output::result);
    }
    comparison.judge()
}
