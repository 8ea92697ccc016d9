//! `tengen bench data`: measures writing and reading shards, and drawing samples from the window.

use std::time::Duration;

use anyhow::Context;

use tengen_encoding::{PlaneSet, TrainingBatch};
use tengen_records::GameRecord;
use tengen_rules::Size;
use tengen_samples::{CachePlace, SampleConfig, SampleSource, SymmetryMode};
use tengen_selfplay::games_without_network;
use tengen_store::{decode, encode};

use super::{Common, Figures, GAME_VISITS, Watch};
use crate::{arguments, output};

/// Write games as shards, read them back, and draw training samples from them
///
/// Prints positions per second for each part, and bytes per position on disk and in memory. Drawing a sample computes
/// features and targets in a random symmetry; it is measured with the games unpacked on disk (as in a run), in memory,
/// and without prepared bit planes (replaying the game for every sample). Samples per core are the samples of as many
/// threads as there are cores, or RAYON_NUM_THREADS, divided by the number of threads. The games are self-play by a
/// search without a network, with real policy targets; --window repeats them until the window has that many positions.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench data --size 9
  RAYON_NUM_THREADS=1 tengen bench data --size 19 --games 64 --json
  tengen bench data --size 9 --window 20000000 --cache /scratch --cache-mib 64")]
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
    /// Positions in the window [default: those of the games]
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), hide_default_value = true)]
    window: u64,
    /// Where to put the unpacked games: `auto` (the temp folder), `memory` or a folder; see `samples.cache` in a config
    #[arg(long, default_value = "auto", value_name = "PLACE")]
    cache: CachePlace,
    /// Memory for the unpacked games, like `samples.cache_bytes` in a config
    #[arg(long, default_value_t = 256, value_name = "MIB")]
    cache_mib: u32,
    #[command(flatten)]
    common: Common,
}

/// The number of parts measured one after the other.
const PARTS: f64 = 6.0;

/// Measures the data path, with equal time for each part.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let games = games_without_network(args.size, args.games, GAME_VISITS, args.common.seed)?;
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    let length = Duration::from_secs_f64(args.common.seconds / PARTS);
    let bytes = encode(&games);
    let written = repeat(length, positions, || Ok(encode(&games).len()))?;
    let read = repeat(length, positions, || Ok(decode(&bytes)?.len()))?;
    let checked = repeat(length, positions, || check(&games))?;

    let config = args.sample_config();
    let watch = args.common.start();
    let source = window(config.clone(), &games, args.window)?;
    let unpacked = source.positions() as f64 / watch.elapsed();
    let drawn = draw(&source, &args, length)?;
    let in_memory = SampleConfig {
        cache: CachePlace::Memory,
        ..SampleConfig::default()
    };
    let replayed = SampleConfig {
        planes: false,
        ..in_memory.clone()
    };
    let drawn_in_memory = draw(&window(in_memory, &games, 1)?, &args, length)?;
    let drawn_replayed = draw(&window(replayed, &games, 1)?, &args, length)?;

    let threads = rayon::current_num_threads();
    let per_position = |bytes: usize| bytes as f64 / source.positions() as f64;
    let workload = format!(
        "data {}, {} with {}, a window of {}, {}",
        args.size,
        output::counted(games.len() as u64, "game"),
        output::counted(positions as u64, "position"),
        output::thousands(source.positions()),
        output::counted(threads as u64, "thread")
    );
    Figures::new(workload, args.common.seconds)
        .hidden("positions_per_second", drawn)
        .value("samples_per_second", drawn)
        .value("samples_per_second_per_core", drawn / threads as f64)
        .value("samples_per_second_in_memory", drawn_in_memory)
        .value("samples_per_second_replayed", drawn_replayed)
        .value("unpacked_positions_per_second", unpacked)
        .value("written_positions_per_second", written)
        .value("read_positions_per_second", read)
        .value("checked_positions_per_second", checked)
        .value("bytes_per_position", bytes.len() as f64 / positions as f64)
        .value("cache_bytes_per_position", per_position(source.disk_bytes()))
        .value("memory_bytes_per_position", per_position(source.memory_bytes()))
        .hidden("shard_bytes", bytes.len())
        .value("cache_bytes", source.disk_bytes())
        .hidden("window_positions", source.positions())
        .hidden("threads", threads)
        .hidden("mean_batch", f64::from(args.batch))
        .print(args.common.json)
}

impl Args {
    fn sample_config(&self) -> SampleConfig {
        SampleConfig {
            cache: self.cache.clone(),
            cache_bytes: (self.cache_mib as usize) << 20,
            ..SampleConfig::default()
        }
    }
}

/// A window that repeats the games until it has this many positions.
fn window(config: SampleConfig, games: &[GameRecord], positions: u64) -> anyhow::Result<SampleSource> {
    config.validate()?;
    let mut source = SampleSource::new(config);
    let bar = output::bar(
        positions,
        "unpacking games [{bar:24}] {human_pos}/{human_len} positions",
    );
    let mut held = 0;
    for copy in 0.. {
        source.add_games(&format!("bench-{copy}"), games)?;
        if source.positions() >= positions || source.positions() == held {
            break;
        }
        held = source.positions();
        bar.set_position(held);
    }
    bar.finish_and_clear();
    Ok(source)
}

/// Samples drawn per second.
fn draw(source: &SampleSource, args: &Args, length: Duration) -> anyhow::Result<f64> {
    let mut seed = args.common.seed;
    repeat(length, args.batch as usize, || {
        seed += 1;
        let samples = source
            .draw_samples(args.batch as usize, seed, SymmetryMode::Random)
            .context("the sample games have no positions to train on")?;
        Ok(TrainingBatch::of(&samples, PlaneSet::default()).len())
    })
}

/// Replays every game, as a reader does the first time it reads a shard.
fn check(games: &[GameRecord]) -> anyhow::Result<usize> {
    games.iter().try_for_each(|game| game.validate().map(drop))?;
    Ok(games.len())
}

/// The positions per second that `work` handles if each call handles `positions`.
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
