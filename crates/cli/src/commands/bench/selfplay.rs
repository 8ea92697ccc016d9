//! `tengen bench selfplay`: self-play as in a run, without files.

use std::sync::Arc;
use std::thread;

use anyhow::Context;

use tengen_model::{NetworkConfig, Weights};
use tengen_network::TorchPredictor;
use tengen_rules::Size;
use tengen_search::SearchConfig;
use tengen_selfplay::{CounterValues, Counters, Group, GroupSetup, PredictorFactory};

use super::{Common, Figures, Watch, games};
use crate::players::DeviceArgs;
use crate::{arguments, output};

/// Play self-play games with a network with random weights, as in a run
///
/// Prints network evaluations, visits, moves and games per second, and the mean batch size. Each thread plays its own
/// group of games in lockstep with its own network and one libtorch thread. All games start at the same time, so games
/// per second are only meaningful after several game lengths.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench selfplay --network b6c96 --size 9 --visits 32 --threads 2 \\
      --dtype bf16
  tengen bench selfplay --network b10c128 --size 9 --device cuda --dtype bf16 \\
      --games 1024 --json")]
pub(crate) struct Args {
    /// Blocks and channels
    #[arg(long, default_value = "b6c96")]
    network: NetworkConfig,
    /// The board: 9 is 9x9, 7x5 is 7 wide and 5 high
    #[arg(long, default_value = "9", value_parser = arguments::size)]
    size: Size,
    /// Visits per move
    #[arg(long, default_value_t = 32, value_parser = arguments::count, value_name = "V")]
    visits: u32,
    /// Threads, each with a group of games
    #[arg(long, default_value_t = 1, value_parser = arguments::count, value_name = "T")]
    threads: u32,
    /// Games that a group plays in lockstep
    #[arg(long, default_value_t = 64, value_parser = arguments::count)]
    games: u32,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let weights = Weights::random(&args.network, args.common.seed)?;
    let counters = Arc::new(Counters::new());
    let mut players = Vec::new();
    for number in 0..args.threads {
        players.push(Worker::new(&args, &weights, number, Arc::clone(&counters))?);
    }
    let before = counters.values();
    let watch = args.common.start();
    thread::scope(|scope| {
        let threads: Vec<_> = players
            .iter_mut()
            .map(|player| scope.spawn(|| player.play(watch, &counters)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("a playing thread does not panic");
        threads.into_iter().try_for_each(join)
    })?;
    let seconds = watch.elapsed();
    let after = counters.values();
    let since = |count: fn(&CounterValues) -> u64| (count(&after) - count(&before)) as f64;
    let evaluations = since(|counts| counts.evaluations);
    let hits = since(|counts| counts.cache_hits);
    let (device, dtype) = (args.device.device.name(), args.device.dtype_name());
    let workload = format!(
        "self-play {} {}, {}, {} of {}, {device} {dtype}",
        args.network,
        args.size,
        output::counted(u64::from(args.visits), "visit"),
        output::counted(u64::from(args.threads), "thread"),
        output::counted(u64::from(args.games), "game"),
    );
    Figures::new(workload, seconds)
        .rate("evaluations_per_second", evaluations)
        .rate("visits_per_second", since(|counts| counts.visits))
        .rate("moves_per_second", since(|counts| counts.plies))
        .rate("games_per_second", since(|counts| counts.games + counts.unfinished))
        .rate("positions_per_second", since(|counts| counts.plies))
        .value("mean_batch", evaluations / since(|counts| counts.batches).max(1.0))
        .value("cache_hits_share", hits / (hits + evaluations).max(1.0))
        .print(args.common.json)
}

/// A thread's group of games and its network.
struct Worker {
    group: Group,
    predictor: TorchPredictor,
}

impl Worker {
    /// A worker whose first batch has gone through the network, so kernels are selected and memory is allocated.
    fn new(args: &Args, weights: &Weights, number: u32, counters: Arc<Counters>) -> anyhow::Result<Worker> {
        let predictor = TorchPredictor::new(weights, args.device.predictor_options())?;
        let config = games::config(args.size, args.games, SearchConfig::default());
        let run = games::identity(args.common.seed);
        let setup = GroupSetup {
            run,
            session: 0,
            number: u64::from(number),
            quota: None,
        };
        let never_asked: PredictorFactory = Arc::new(|_| unreachable!("the group is stepped with its own predictor"));
        let model = games::model("random weights", args.visits, never_asked);
        let mut worker = Worker {
            group: Group::new(&config, setup, model, counters)?,
            predictor,
        };
        worker.step()?;
        Ok(worker)
    }

    fn step(&mut self) -> anyhow::Result<()> {
        self.group.step(&mut self.predictor).context("the network failed")?;
        Ok(())
    }

    /// Plays until the time is over, but at least until one search has finished on any thread.
    fn play(&mut self, watch: Watch, counters: &Counters) -> anyhow::Result<()> {
        while !watch.over() || counters.values().plies == 0 {
            self.step()?;
        }
        Ok(())
    }
}
