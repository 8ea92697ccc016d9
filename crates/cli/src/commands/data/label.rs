//! `tengen data label`: searches the positions of games with a teacher and publishes what it says.

use tengen_label::{LabelProgress, SourceGames, label};
use tengen_store::{Create, Store};

use super::filters::Filters;
use crate::arguments;
use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::output;
use crate::teachers::teacher;

/// Search the positions of any games with a teacher and publish its policy, value, margin, and ownership
///
/// SOURCES are stores (of runs, or with --of imported) and SGF files, folders, and archives, whose games are replayed
/// under --rules or Tromp-Taylor. Every position that passes the filters is searched, except those of random openings,
/// many side by side in full batches. The games appear in --into as imported games: their positions have the teacher's
/// policy, value, margin, visits, and the owners it expects at the end, and every game names its teacher; moves,
/// results, and the counted owners stay as they were. Without a network, or from an engine that does not say, there are
/// no expected owners.
///
/// A labelling that was stopped or killed continues when you run the same command again, and repeats only the shards
/// that were in progress. A network on a CPU always gives the same bytes, whatever the number of threads.
#[derive(clap::Args)]
#[command(
    mut_arg("models", |arg| arg.long("player")),
    after_help = "Examples:
  tengen data label data/runs/demo --model store:data/runs/large --visits 200 \\
      --into data/labelled
  tengen data label ~/sgf --model store:data/runs/demo,method=puct \\
      --visits 800 --every 4 --into data/labelled
  tengen data label data/games --of imported --visits 500 --into data/taught \\
      --model 'analysis:katago analysis -model net.bin.gz -config analysis.cfg'

MODEL is one of
  uniform            search without a network
  store:DIR          the champion of a run store (or just its folder)
  store:DIR@g000012  the model of that generation
  model:PATH         a model folder, a .safetensors file, or a network of KataGo (.bin.gz)
  analysis:COMMAND   an engine that speaks KataGo's JSON analysis protocol
Networks take options of players: method, candidates, c_scale, lcb, margin_share."
)]
pub(crate) struct Args {
    /// Stores, SGF files, archives of them, and folders
    #[arg(required = true, value_name = "SOURCES")]
    sources: Vec<String>,
    /// The teacher; see below
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// Visits of every search
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    visits: u32,
    /// The store for the labelled games: a folder, created if needed, or an address
    #[arg(long, value_name = "DIR")]
    into: String,
    /// Leave out the owners that the teacher expects
    #[arg(long)]
    no_ownership: bool,
    /// Label only every so many positions of a game
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = arguments::count)]
    every: u32,
    /// Positions after which a shard closes: what a killed process repeats at most for each shard in progress
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = arguments::count)]
    shard_positions: u32,
    /// Threads, each with a network of its own; a GPU serves all of them [default: one per core, at least one per GPU]
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    threads: Option<u32>,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Labels the games, or as many as are finished when the user stops it.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen("Stopping; finished shards are kept, the same command continues…")?;
    let asked = (args.visits, !args.no_ownership);
    let teacher = teacher(&args.model, asked, args.threads, &args.device, &interrupt.flag())?;
    let sources = SourceGames::open(&args.sources, args.filters.filter(), args.every)?;
    let bar = output::bar(
        0,
        "[{bar:24}] {human_pos}/{human_len} positions, {eta} left, {wide_msg}",
    );
    let mut watch = |progress: LabelProgress| {
        bar.set_length(progress.all_positions);
        bar.set_position(progress.positions_read);
        bar.set_message(progress.to_string());
        !interrupt.requested()
    };
    let into = Store::open(&args.into, Create::Always)?;
    let report = label(sources, &into, args.shard_positions, &teacher, &mut watch);
    bar.finish_and_clear();
    let report = report?;
    match args.json {
        true => output::json(&report)?,
        false => output::result(report.to_string()),
    }
    match report.complete {
        true => Ok(()),
        false => interrupt.outcome(),
    }
}
