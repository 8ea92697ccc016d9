//! `tengen doctor`: measures this machine and gives advice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use tengen_doctor::{Comparison, Machine, Torch};
use tengen_model::Devices;
use tengen_network::DeviceChoice;
use tengen_run::RunConfig;
use tengen_tune::{Tuning, Wanted};

use crate::{arguments, output};

/// Check this machine: libtorch, GPU, bf16, allocator, cores, and measured evaluations per second
///
/// Prints what it found, a table of network evaluations per second for two networks by batch size, and advice. Takes a
/// few seconds. With --device cuda, it also compares the GPU with the CPU: copies, input planes, predictions in each
/// number format, and training. If anything differs by more than rounding, it says so and exits with 1.
///
/// With --tune CONFIG, it instead looks for the settings of that run that suit this machine: number format, workers,
/// groups, and games of a group, by playing with the run's network. It prints what it measured, and the settings as
/// TOML.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen doctor
  tengen doctor --device cuda
  tengen doctor --tune configs/9x9.toml
  tengen doctor --seconds 20 --json")]
pub(crate) struct Args {
    /// How long to measure in total, in seconds [default: 4; with --tune, 30]
    #[arg(long, value_parser = arguments::seconds)]
    seconds: Option<f64>,
    /// The device to test: cuda compares the first GPU with the CPU, cuda:0,cuda:1 the first two [default: cpu; with
    /// --tune, the configuration's inference.device]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Devices>,
    /// Find settings for the run with this configuration
    #[arg(long, value_name = "CONFIG")]
    tune: Option<PathBuf>,
    /// Override a value of that configuration, or take it out with KEY=unset; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "tune")]
    overrides: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Finds settings for a run.
fn tune(args: &Args, path: &Path) -> anyhow::Result<()> {
    let config = RunConfig::load(path, &args.overrides)?;
    let devices = args.device.unwrap_or(config.inference.device);
    let line = output::spinner("{spinner} measuring {wide_msg}");
    line.enable_steady_tick(Duration::from_millis(200));
    let progress = |what: &str| line.set_message(what.to_owned());
    let (devices, seconds) = (DeviceChoice::all_of(devices), args.seconds.unwrap_or(30.0));
    let tuning = Tuning::find(&config, &devices, Wanted::All, seconds, &progress, &|| false)?;
    line.finish_and_clear();
    if args.json {
        return output::json(&tuning);
    }
    tuning.lines().into_iter().for_each(output::result);
    Ok(())
}

/// What to do after reading the findings.
fn next(torch: &Torch, comparison: &Comparison) -> String {
    if comparison.is_right_but_slow() {
        return "Next: this GPU is right, but slower than it could be; the lines above that failed say what to do."
            .to_owned();
    }
    if comparison.failed() > 0 {
        return "Next: do not train on this GPU. Report the lines above that failed, with the GPU and its driver."
            .to_owned();
    }
    match torch.has_gpu() {
        true if comparison.is_empty() => {
            "Next: `tengen doctor --device cuda` checks the GPU against the CPU; then `tengen doctor --tune \
             configs/9x9-gpu.toml` finds settings for it."
        }
        true => {
            "Next: `tengen doctor --tune configs/9x9-gpu.toml` finds settings for this GPU; then `tengen run \
             configs/9x9-gpu.toml`."
        }
        false => {
            "Next: `tengen run configs/5x5.toml` trains a first network in three minutes; `tengen doctor --tune \
             configs/9x9.toml` finds settings for a longer run on this machine."
        }
    }
    .to_owned()
}

/// Inspects and measures the machine, or finds settings for a run.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if let Some(path) = &args.tune {
        return tune(&args, path);
    }
    let machine = Machine::look();
    let torch = Torch::measure(args.seconds.unwrap_or(4.0))?;
    let comparison = Comparison::of(args.device.unwrap_or_default());
    let mut advice = machine.advice();
    advice.extend(torch.advice(comparison.failed() == 0 || comparison.is_right_but_slow()));
    advice.extend(tengen_store::orphaned_scratch_folders().iter().map(|orphan| {
        format!(
            "{} holds {} for the store {}, which is not there: if you moved the store, move it back once to publish \
             them; if you deleted it for good, delete the folder.",
            orphan.folder.display(),
            output::counted(orphan.waiting.games, "game"),
            orphan.store
        )
    }));
    advice.push(next(&torch, &comparison));
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
