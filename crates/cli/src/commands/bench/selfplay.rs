//! `tengen bench selfplay`: measures self-play as in a run, without files.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tengen_model::{Devices, NetworkConfig, PrecisionChoice, Weights};
use tengen_network::DeviceChoice;
use tengen_predictors::gpu_servers;
use tengen_rules::Size;
use tengen_search::{PredictionServer, ServerStats, SimulatedDevice};
use tengen_selfplay::{PredictorFactory, SelfPlayBench, bench_config, bench_selfplay};

use super::{Common, Figures};
use crate::device::{DeviceArgs, check_each_has_a_thread};
use crate::{arguments, output};

/// Play self-play games with a network with random weights, as in a run
///
/// Prints network evaluations, visits, moves and games per second, the mean batch size, and how the threads spend their
/// time. On a CPU, each thread has its own network. A GPU has a server that joins the batches of all threads. All games
/// start at the same time, so games per second are only meaningful after several game lengths.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen bench selfplay --network b6c96 --size 9 --visits 32 --threads 2 \\
      --dtype bf16
  tengen bench selfplay --network b10c128 --size 9 --device cuda --games 1024 \\
      --threads 4 --groups 2 --json
  tengen bench selfplay --size 9 --device simulated:2:50000 --groups 2
                            a device that computes nothing takes 2 ms per batch
                            and 1/50000 s per position: what would the CPU leave
                            of its throughput?")]
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
    /// Threads, each with its own groups of games
    #[arg(long, default_value_t = 1, value_parser = arguments::count, value_name = "T")]
    threads: u32,
    /// Groups that a thread plays in turn; with two, one descends while the other is on a GPU
    #[arg(long, default_value_t = 1, value_parser = arguments::count)]
    groups: u32,
    /// Games that a group plays in lockstep
    #[arg(long, default_value_t = 64, value_parser = arguments::count)]
    games: u32,
    /// Where networks run: cpu, cuda, several GPUs such as cuda:0,cuda:1, auto, or simulated:DELAY:RATE for a device
    /// that takes DELAY milliseconds per batch and RATE positions per second; several are separated by commas
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: Place,
    /// Number format of networks: fp32, bf16, fp16 on GPUs, or auto for the fastest
    #[arg(long, value_name = "FORMAT", default_value_t)]
    dtype: PrecisionChoice,
    #[command(flatten)]
    common: Common,
}

/// Where predictions are made.
#[derive(Clone, Debug)]
enum Place {
    Networks(Devices),
    Simulated(Vec<SimulatedDevice>),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        if !text.starts_with("simulated:") {
            return text.parse().map(Place::Networks);
        }
        let device = |name: &str| name.strip_prefix("simulated:").unwrap_or(name).parse();
        text.split(',')
            .map(device)
            .collect::<Result<_, _>>()
            .map(Place::Simulated)
    }
}

/// The predictors of a benchmark, and what its devices have done.
struct Predictors {
    factory: PredictorFactory,
    /// The name of the place and of the number format.
    name: String,
    servers: Vec<PredictionServer>,
    simulated: Vec<SimulatedDevice>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let predictors = match &args.device {
        Place::Networks(devices) => Predictors::networks(&args, *devices)?,
        Place::Simulated(devices) => Predictors::simulated(&args, devices)?,
    };
    let bench = SelfPlayBench {
        config: bench_config(args.size, args.games),
        visits: args.visits,
        threads: args.threads as usize,
        groups_per_thread: args.groups as usize,
        duration: Duration::from_secs_f64(args.common.seconds),
        seed: args.common.seed,
    };
    let before = Mutex::new((ServerStats::default(), Duration::ZERO));
    let now = || (predictors.stats(), predictors.busy());
    let measured = || *before.lock().unwrap_or_else(PoisonError::into_inner) = now();
    let report = bench_selfplay(&bench, &predictors.factory, measured)?;
    let (stats_before, busy_before) = before.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (stats, busy) = now();
    let counts = report.counts;
    let (evaluations, hits) = (counts.evaluations as f64, counts.cache_hits as f64);
    let workload = format!(
        "self-play {} {}, {}, {}, {} of {}, {}",
        args.network,
        args.size,
        output::counted(u64::from(args.visits), "visit"),
        output::counted(u64::from(args.threads), "thread"),
        output::counted(u64::from(args.groups), "group"),
        output::counted(u64::from(args.games), "game"),
        predictors.name,
    );
    let mut figures = Figures::new(workload, report.seconds);
    figures
        .rate("evaluations_per_second", evaluations)
        .rate("visits_per_second", counts.visits as f64)
        .rate("moves_per_second", counts.plies as f64)
        .rate("games_per_second", (counts.games + counts.unfinished) as f64)
        .rate("positions_per_second", counts.plies as f64)
        .value("mean_batch", counts.mean_batch())
        .value("cache_hits_share", hits / (hits + evaluations).max(1.0));
    let times = [counts.descend_ns, counts.predict_ns, counts.absorb_ns];
    let all = times.iter().sum::<u64>().max(1) as f64;
    for (name, time) in ["descending", "predictions", "absorbing"].into_iter().zip(times) {
        figures.value(&format!("share_of_{name}"), time as f64 / all);
    }
    if stats.batches > stats_before.batches {
        figures.value("mean_batch_on_device", stats.mean_batch_since(stats_before));
    }
    if !predictors.simulated.is_empty() {
        let time = report.seconds * predictors.simulated.len() as f64;
        figures.value("share_of_device_throughput", (busy - busy_before).as_secs_f64() / time);
    }
    figures.print(args.common.json)
}

impl Predictors {
    /// Networks with random weights. The devices are assigned to the threads in turn.
    fn networks(args: &Args, devices: Devices) -> anyhow::Result<Predictors> {
        let weights = Weights::random(&args.network, args.common.seed)?;
        let device = DeviceArgs {
            device: Some(devices),
            dtype: Some(args.dtype),
        };
        let used = DeviceChoice::all_of(devices);
        check_each_has_a_thread(args.threads as usize, used.len())?;
        let options = device.predictor_options()?;
        let factory = tengen_predictors::on_devices("random weights", &weights, options, &used)?;
        Ok(Predictors {
            factory: Arc::new(factory),
            name: device.in_words()?,
            servers: Vec::new(),
            simulated: Vec::new(),
        })
    }

    /// A server for each simulated device, as for GPUs.
    fn simulated(args: &Args, devices: &[SimulatedDevice]) -> anyhow::Result<Predictors> {
        check_each_has_a_thread(args.threads as usize, devices.len())?;
        let started = devices.iter().map(SimulatedDevice::serve);
        let (servers, networks): (Vec<_>, Vec<_>) = started.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        Ok(Predictors {
            factory: Arc::new(move |thread| Ok(Box::new(networks[thread % networks.len()].client()))),
            name: output::counted(devices.len() as u64, "simulated device"),
            servers,
            simulated: devices.to_vec(),
        })
    }

    /// What all servers have done.
    fn stats(&self) -> ServerStats {
        let gpus = gpu_servers().into_iter().map(|(_, stats)| stats);
        let own = self.servers.iter().map(PredictionServer::stats);
        gpus.chain(own).fold(ServerStats::default(), ServerStats::and)
    }

    /// How long the simulated devices have computed.
    fn busy(&self) -> Duration {
        self.simulated.iter().map(SimulatedDevice::busy).sum()
    }
}
