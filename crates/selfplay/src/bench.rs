//! Benchmark of self-play: games without files, by a search with any predictor.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tengen_records::GameRecord;
use tengen_rules::{Rules, SettingError, Size};
use tengen_search::{PredictError, UniformPredictor};

use crate::config::{BoardShare, SelfPlayConfig};
use crate::counters::{CounterValues, Counters};
use crate::fair_komi::FairKomi;
use crate::game::{Clock, RunIdentity};
use crate::group::{Group, GroupSetup};
use crate::model::{ModelUpdate, PredictorFactory};
use crate::rotation::Rotation;

/// The settings of a benchmark.
#[derive(Clone, Debug)]
pub struct SelfPlayBench {
    /// How games are played; see [`bench_config`].
    pub config: SelfPlayConfig,
    /// Visits of a full search.
    pub visits: u32,
    /// Threads, each with its own predictor.
    pub threads: usize,
    /// Groups that each thread plays in turn.
    pub groups_per_thread: usize,
    /// How long to measure, but at least until one search has finished.
    pub duration: Duration,
    /// The seed of the games.
    pub seed: u64,
}

/// The measurements of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct SelfPlayBenchReport {
    /// What was counted during the measurement.
    pub counts: CounterValues,
    /// Wall-clock seconds of the measurement.
    pub seconds: f64,
}

/// Plays self-play games like a run. Calls `measured` when the measurement begins: after each group has had its first
/// batch, so that memory is allocated and a network's kernels are chosen.
///
/// # Errors
/// The first error of a predictor.
pub fn bench_selfplay(
    bench: &SelfPlayBench,
    predictor: &PredictorFactory,
    measured: impl FnOnce(),
) -> Result<SelfPlayBenchReport, PredictError> {
    let counters = Arc::new(Counters::new());
    let threads = bench.threads.max(1);
    let barrier = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let players: Vec<_> = (0..threads)
            .map(|thread| {
                let (counters, barrier) = (&counters, &barrier);
                scope.spawn(move || play_thread(bench, predictor, thread, counters, barrier))
            })
            .collect();
        barrier.wait();
        let (start, before) = (Instant::now(), counters.values());
        measured();
        let join = |player: std::thread::ScopedJoinHandle<'_, Result<(), PredictError>>| {
            player
                .join()
                .unwrap_or_else(|_| Err(PredictError::Failed("a thread panicked".to_owned())))
        };
        players
            .into_iter()
            .map(join)
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Result<(), _>>()?;
        Ok(SelfPlayBenchReport {
            counts: counters.values().since(before),
            seconds: start.elapsed().as_secs_f64(),
        })
    })
}

/// Plays the groups of one thread. It always reaches the barrier, even after an error, or the others would wait
/// forever.
fn play_thread(
    bench: &SelfPlayBench,
    factory: &PredictorFactory,
    thread: usize,
    counters: &Arc<Counters>,
    barrier: &Barrier,
) -> Result<(), PredictError> {
    let prepared = factory(thread).and_then(|mut predictor| {
        let mut rotation = Rotation::new(groups(bench, thread, counters)?);
        for _ in 0..2 * bench.groups_per_thread {
            rotation.turn(&mut predictor)?;
        }
        Ok((rotation, predictor))
    });
    barrier.wait();
    let (mut rotation, mut predictor) = prepared?;
    let start = Instant::now();
    while start.elapsed() < bench.duration || counters.values().plies == 0 {
        rotation.turn(&mut predictor)?;
    }
    rotation.settle(&mut predictor)
}

fn groups(bench: &SelfPlayBench, thread: usize, counters: &Arc<Counters>) -> Result<Vec<Group>, PredictError> {
    let never_asked: PredictorFactory =
        Arc::new(|_| Err(PredictError::Failed("a benchmark has its own predictor".to_owned())));
    let group = |number: usize| {
        let number = thread * bench.groups_per_thread + number;
        let setup = setup(bench.seed, number, None);
        let model = model("benchmark", bench.visits, never_asked.clone());
        Group::new(&bench.config, setup, model, counters.clone())
    };
    let groups = (0..bench.groups_per_thread.max(1)).map(group);
    let invalid = |error: SettingError| PredictError::Failed(error.to_string());
    groups.collect::<Result<_, _>>().map_err(invalid)
}

/// Plays `count` games by searching without a network, to benchmark what comes after self-play, and returns those with
/// a result.
///
/// # Errors
/// [`PredictError::Failed`] if none of the games ended before the ply limit.
pub fn games_without_network(size: Size, count: u32, visits: u32, seed: u64) -> Result<Vec<GameRecord>, PredictError> {
    let factory: PredictorFactory = Arc::new(|_| Ok(Box::new(UniformPredictor)));
    let group = Group::new(
        &bench_config(size, count.min(256)),
        setup(seed, 0, Some(u64::from(count))),
        model("uniform", visits, factory),
        Arc::new(Counters::new()),
    );
    let mut group = group.map_err(|error| PredictError::Failed(error.to_string()))?;
    let mut games = Vec::new();
    while !group.is_done() {
        let finished = group.step(&mut UniformPredictor)?;
        games.extend(finished.into_iter().map(|game| game.record));
    }
    games.retain(GameRecord::is_finished);
    if games.is_empty() {
        let words = format!("none of {count} games on {size} ended before the ply limit");
        return Err(PredictError::Failed(words));
    }
    Ok(games)
}

/// Settings for self-play in groups of this many games on one board, otherwise the defaults.
pub fn bench_config(size: Size, games_per_group: u32) -> SelfPlayConfig {
    SelfPlayConfig {
        boards: vec![BoardShare::always(size.to_string(), 1.0)],
        games_per_group: games_per_group.into(),
        ..SelfPlayConfig::default()
    }
}

fn setup(seed: u64, number: usize, quota: Option<u64>) -> GroupSetup {
    let run = RunIdentity {
        seed,
        config_id: "bench".to_owned(),
        rules: Rules::tromp_taylor(),
        clock: Clock::Fixed(0),
    };
    GroupSetup {
        run,
        session: 0,
        number: number as u64,
        quota,
    }
}

fn model(id: &str, visits: u32, predictor: PredictorFactory) -> ModelUpdate {
    ModelUpdate {
        generation: 0,
        model_id: id.to_owned(),
        visits,
        positions: 0,
        spent: 0.0,
        fair_komi: FairKomi::new(),
        predictor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_search::SimulatedDevice;

    fn bench(threads: usize) -> SelfPlayBench {
        SelfPlayBench {
            config: bench_config(Size::square(5).unwrap(), 8),
            visits: 8,
            threads,
            groups_per_thread: 2,
            duration: Duration::from_millis(60),
            seed: 1,
        }
    }

    #[test]
    fn only_what_was_done_while_measuring_counts() {
        let device = SimulatedDevice::new(Duration::from_millis(1), 1e6);
        let (server, network) = device.serve().unwrap();
        let factory: PredictorFactory = Arc::new(move |_| Ok(Box::new(network.client())));
        let (mut before, busy) = (0, device.busy());
        assert_eq!(busy, Duration::ZERO);
        let report = bench_selfplay(&bench(2), &factory, || before = server.stats().jobs).unwrap();
        assert!(before >= 2, "every thread was warmed up");
        assert!(report.seconds > 0.0 && report.counts.plies > 0, "{report:?}");
        assert!(report.counts.batches > 0 && report.counts.batches <= server.stats().jobs);
    }

    /// The threads' devices sleep most of the time, so that the cores of the machine do not matter.
    #[test]
    fn a_second_device_nearly_doubles_the_evaluations() {
        let per_second = |devices: usize| {
            let device = || SimulatedDevice::new(Duration::from_millis(20), 1e6).serve().unwrap();
            let (_servers, networks): (Vec<_>, Vec<_>) = (0..devices).map(|_| device()).unzip();
            let factory: PredictorFactory =
                Arc::new(move |thread| Ok(Box::new(networks[thread % networks.len()].client())));
            let long = SelfPlayBench {
                duration: Duration::from_millis(1500),
                ..bench(devices)
            };
            let report = bench_selfplay(&long, &factory, || ()).unwrap();
            report.counts.evaluations as f64 / report.seconds
        };
        let [one, two] = [1, 2].map(per_second);
        assert!(
            two > 1.5 * one,
            "{two} evaluations per second on two devices, {one} on one"
        );
    }

    #[test]
    fn a_thread_without_a_predictor_ends_the_benchmark() {
        let factory: PredictorFactory = Arc::new(|thread| match thread {
            0 => Ok(Box::new(UniformPredictor)),
            _ => Err(PredictError::Failed("no second device".to_owned())),
        });
        let error = bench_selfplay(&bench(2), &factory, || ()).unwrap_err();
        assert!(error.to_string().contains("no second device"), "{error}");
    }

    #[test]
    fn games_without_a_network_have_results() {
        let games = games_without_network(Size::square(4).unwrap(), 5, 8, 1).unwrap();
        assert!(!games.is_empty() && games.iter().all(GameRecord::is_finished));
        assert!(games_without_network(Size::square(4).unwrap(), 0, 8, 1).is_err());
    }
}
