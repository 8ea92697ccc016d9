//! `tengen bench search`: measures the search without a network.

use std::time::Duration;

use tengen_rules::Size;
use tengen_search::{SearchBench, bench_search};

use super::{Common, Figures};
use crate::{arguments, output};

/// Search positions of random games with a uniform predictor that costs nothing
///
/// Prints visits per second. Everything but the network is measured: the exact rules, encoding, canonical symmetries,
/// the evaluation cache and the tree. Each thread plays its own games.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench search --size 9 --visits 800
  tengen bench search --size 19 --visits 800 --threads 2 --seconds 5 --json")]
pub(crate) struct Args {
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Visits per search
    #[arg(long, default_value_t = 800, value_parser = arguments::count, value_name = "V")]
    visits: u32,
    /// Threads that search at the same time
    #[arg(long, default_value_t = 1, value_parser = arguments::count, value_name = "T")]
    threads: u32,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let report = bench_search(SearchBench {
        size: args.size,
        visits: args.visits,
        threads: args.threads as usize,
        duration: Duration::from_secs_f64(args.common.seconds),
        seed: args.common.seed,
    })?;
    let threads = output::counted(u64::from(args.threads), "thread");
    let workload = format!(
        "search {}, {}, {threads}",
        args.size,
        output::counted(u64::from(args.visits), "visit")
    );
    Figures::new(workload, report.seconds)
        .rate("visits_per_second", report.visits as f64)
        .rate("moves_per_second", report.searches as f64)
        .rate("evaluations_per_second", report.evaluations as f64)
        .print(args.common.json)
}
