//! `tengen bench data`: games to shards and back, and samples out of the window.

use super::{Common, Figures, Watch, games};
use crate::arguments;
use anyhow::Context;
use std::time::Duration;
use tengen_records::{GameRecord, SampleConfig, SampleSource, SymmetryMode, decode, encode};
use tengen_rules::Size;

/// Write games as shards, read them back, and draw training samples from them
///
/// Prints positions per second of each part and bytes per position. Drawing a sample means features, targets and
/// a mirror image; the whole machine's cores work on it unless RAYON_NUM_THREADS says otherwise. The games are
/// self-play of a search without a network, with real policy targets.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench data --size 9
  RAYON_NUM_THREADS=1 tengen bench data --size 19 --games 64 --json")]
pub(crate) struct Args {
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Games in the shard
    #[arg(long, default_value_t = 128, value_parser = arguments::count)]
    games: u32,
    /// Samples per batch
    #[arg(long, default_value_t = 256, value_parser = arguments::count, value_name = "N")]
    batch: u32,
    #[command(flatten)]
    common: Common,
}

/// Measures the data path; each of its four parts gets a quarter of the time.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let games = games::play(args.size, args.games, args.common.seed)?;
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    let quarter = Duration::from_secs_f64(args.common.seconds / 4.0);
    let bytes = encode(&games);
    let written = repeat(quarter, positions, || Ok(encode(&games).len()))?;
    let read = repeat(quarter, positions, || Ok(decode(&bytes)?.len()))?;
    let checked = repeat(quarter, positions, || check(&games))?;
    let mut source = SampleSource::new(SampleConfig::default());
    source.add_games("bench", &games)?;
    let mut seed = args.common.seed;
    let drawn = repeat(quarter, args.batch as usize, || {
        seed += 1;
        let batch = source.draw(args.batch as usize, seed, SymmetryMode::Random);
        batch
            .map(|batch| batch.len())
            .context("the sample games have no position to train on")
    })?;
    let workload = format!("data {}, {} games, {positions} positions", args.size, games.len());
    Figures::new(workload, args.common.seconds)
        .value("positions_per_second", drawn)
        .value("samples_per_second", drawn)
        .value("written_positions_per_second", written)
        .value("read_positions_per_second", read)
        .value("checked_positions_per_second", checked)
        .value("bytes_per_position", bytes.len() as f64 / positions as f64)
        .value("shard_bytes", bytes.len())
        .value(
            "memory_bytes_per_position",
            source.memory_bytes() as f64 / positions as f64,
        )
        .value("mean_batch", f64::from(args.batch))
        .print(args.common.json)
}

/// Replays every game, as a reader of shards does once.
fn check(games: &[GameRecord]) -> anyhow::Result<usize> {
    games.iter().try_for_each(|game| game.validate().map(drop))?;
    Ok(games.len())
}

/// How many positions per second `work` gets through, doing `positions` each time.
fn repeat(length: Duration, positions: usize, mut work: impl FnMut() -> anyhow::Result<usize>) -> anyhow::Result<f64> {
    let watch = Watch {
        start: std::time::Instant::now(),
        length,
    };
    let mut times = 0;
    while times == 0 || !watch.over() {
        std::hint::black_box(work()?);
        times += 1;
    }
    Ok((times * positions) as f64 / watch.elapsed())
}
