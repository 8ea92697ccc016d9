//! `tengen data solve`: writes a dataset of tiny boards with exact values.

use std::path::PathBuf;

use tengen_datasets::{SolveOptions, SolveProgress, SolveSample, solve_dataset};
use tengen_rules::{Rules, Size};

use super::export::{Format, report, usage_or_failure};
use crate::arguments;
use crate::interrupt::Interrupt;
use crate::output;

/// The largest boards to try; see `tengen rules solve`.
const MOST_POINTS: usize = 16;

/// Write a dataset of tiny boards with exact values and best moves
///
/// Lists every state that can be reached from the empty board within --plies turns, with the exact margin of best play,
/// the exact margin after every move, and all best moves, under superko with the whole history. A state consists of the
/// grid, the side to move, the passes and all earlier grids; symmetric states share one row. Exhaustive search solves
/// the states one turn beyond the last; the others follow from them. The dataset appears at DIR/v1 with README.md and
/// MANIFEST.json, complete or not at all.
///
/// Boards of up to 6 points take seconds, 3x3 with two plies a minute of CPU time; larger boards usually reach the
/// limit, and then nothing is written.
///
/// With --sample, positions in the middle of games are solved instead: --plies uniformly random plays lead to each.
/// Those that reach the limit are left out. More plays and a low limit are fast: 500 states of 4x4 as below take
/// minutes, of 3x3 after 6 plays seconds.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data solve --size 3x3 --out data/solved-3x3
  tengen data solve --size 2x2,1x3,1x4 --plies 6 --format npz --out data/tiny \\
      --json
  tengen data solve --size 4x4 --plies 11 --sample 200 --most-right 1 \\
      --most-nodes 30000 --out data/solved-4x4")]
pub(crate) struct Args {
    /// The boards: 3 is 3x3, 1x5 is 1 wide and 5 high
    #[arg(long = "size", required = true, value_name = "SIZE", value_delimiter = ',', value_parser = arguments::size)]
    sizes: Vec<Size>,
    /// States after at most this many turns; each further turn multiplies them by the number of moves
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=64))]
    plies: u32,
    /// Solve this many random states of each board after --plies plays instead of all states
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    sample: Option<u32>,
    /// Seed of the random states
    #[arg(long, default_value_t = 1, requires = "sample")]
    seed: u64,
    /// Keep only states in which at most N moves are right, which are harder
    #[arg(long, value_name = "N", requires = "sample", value_parser = arguments::count)]
    most_right: Option<u32>,
    /// The rule set: one with positional superko where two passes end the game
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// The dataset's folder, new or empty; the files go to DIR/v1
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The file format: parquet or npz
    #[arg(long, value_enum, default_value_t = Format::Parquet)]
    format: Format,
    /// Give up when the search of one state exceeds this many positions; a million take seconds and up to 90 MB
    #[arg(long, default_value_t = 10_000_000, value_name = "COUNT", value_parser = arguments::count)]
    most_nodes: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Solves the boards and writes the dataset.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if args.format == Format::Sgf {
        return Err(output::usage("solved positions are not games; use parquet or npz"));
    }
    if let Some(size) = args.sizes.iter().find(|size| size.area() > MOST_POINTS) {
        return Err(output::usage(format!(
            "{size} is too large to solve; the limit is {MOST_POINTS} points"
        )));
    }
    let options = SolveOptions {
        sizes: args.sizes,
        rules: args.rules,
        plies: args.plies as usize,
        sample: args.sample.map(|count| SolveSample {
            count: count.into(),
            seed: args.seed,
            most_right: args.most_right.map(|most| most as usize),
        }),
        most_nodes: args.most_nodes.into(),
        format: args.format.file_format(),
    };
    let interrupt = Interrupt::listen("Stopping without leaving a partial dataset…")?;
    let bar = output::bar(0, "{msg} [{bar:16}] {human_pos}/{human_len} states solved, {eta} left");
    let mut watch = |progress: SolveProgress| {
        bar.set_length(progress.all);
        bar.set_position(progress.solved);
        bar.set_message(progress.size.to_string());
        !interrupt.requested()
    };
    let dataset = solve_dataset(&args.out, &options, &mut watch);
    bar.finish_and_clear();
    report(
        &dataset.or_else(|error| usage_or_failure(error, &interrupt))?,
        args.json,
    )
}
