//! Searches for the settings of a run that suit this machine, by measuring self-play and training with its network.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

use tengen_config::RunConfig;
use tengen_model::{PrecisionChoice, Weights};
use tengen_network::{DeviceChoice, Precision, PredictorOptions, in_words};
use tengen_predictors::{gpu_servers, lift_limits, on_devices};
use tengen_report::{counted, thousands};
use tengen_rules::{Setting, Size};
use tengen_selfplay::{BoardShare, SelfPlayBench, SelfPlayConfig, bench_selfplay};
use tengen_trainer::TrainerConfig;

use crate::advice::{LargerBatch, about_lead, about_window};
use crate::training::TrainingSpeed;

/// Settings with fewer games at a time win if they reach this share of the best rate: their games are fresher, and they
/// need less memory.
const AS_GOOD: f64 = 0.95;

/// Settings of self-play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Number format of the predictions.
    pub precision: Precision,
    /// `loop.workers`.
    pub workers: usize,
    /// `loop.groups_per_worker`.
    pub groups: usize,
    /// `selfplay.games_per_group`.
    pub games: u32,
}

/// Settings of self-play that were tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// What was tried.
    #[serde(flatten)]
    pub settings: Settings,
    /// Evaluations of the network per second, all workers together.
    pub evaluations_per_second: f64,
    /// Positions played per second, in all searches.
    pub positions_per_second: f64,
}

impl Settings {
    /// Games at a time.
    fn in_flight(&self) -> u64 {
        (self.workers * self.groups) as u64 * u64::from(self.games)
    }

    fn columns(&self) -> String {
        format!(
            "{:<6} {:>7} {:>6} {:>6}",
            self.precision, self.workers, self.groups, self.games
        )
    }
}

impl Trial {
    fn row(&self) -> String {
        format!(
            "{} {:>14} {:>14}",
            self.settings.columns(),
            thousands(self.evaluations_per_second.round() as u64),
            thousands(self.positions_per_second.round() as u64),
        )
    }
}

/// The settings found for a run, and the measurements behind them.
#[derive(Debug, Serialize)]
pub struct Tuning {
    /// What the networks ran on.
    device: String,
    /// What was measured: the run's first network, its largest board, and the visits.
    workload: String,
    /// All trials, in order.
    trials: Vec<Trial>,
    /// Settings for which the GPU has too little memory.
    too_large: Vec<Settings>,
    /// The settings to use.
    chosen: Trial,
    /// Training steps per second with nothing else running; `None` if the GPU has too little memory for them.
    steps_per_second: Option<f64>,
    /// Training steps that each second of self-play asks for (`loop.reuse`).
    steps_wanted: f64,
    /// What a larger `training.batch` does for a trainer on a GPU that does not keep up.
    larger_batch: Option<LargerBatch>,
    /// What else these settings ask of the configuration, in sentences.
    advice: Vec<String>,
    /// MiB of memory that the evaluation caches take when they are full.
    cache_mib: u64,
    /// Whether networks run on GPUs. If so, training takes little processor time from self-play.
    on_gpu: bool,
}

/// Measures one setting after another.
struct Bench<'a> {
    config: &'a RunConfig,
    weights: Weights,
    size: Size,
    devices: Vec<DeviceChoice>,
    duration: Duration,
    trials: Vec<Trial>,
    too_large: Vec<Settings>,
    progress: &'a dyn Fn(&str),
    stopped: &'a dyn Fn() -> bool,
}

impl Tuning {
    /// Searches for about this many seconds for the settings that `wanted` names; all others stay as configured. Calls
    /// `progress` with what it measures, and ends early once `stopped` returns true.
    ///
    /// # Errors
    /// If a device cannot be used, a network fails on it, or the search was stopped.
    pub fn find(
        config: &RunConfig,
        devices: &[DeviceChoice],
        wanted: Wanted,
        seconds: f64,
        progress: &dyn Fn(&str),
        stopped: &dyn Fn() -> bool,
    ) -> anyhow::Result<Tuning> {
        let first = *devices.first().context("self-play has no device")?;
        let on_gpu = first.resolve()?.is_cuda();
        let plan = Plan::new(on_gpu, cores(), devices.len()).only(wanted, config);
        let size = largest(config)?;
        let mut bench = Bench {
            config,
            weights: Weights::random(&config.network, config.seed)?,
            size,
            devices: devices.to_vec(),
            duration: Duration::from_secs_f64(seconds / (plan.most_trials() + 1) as f64),
            trials: Vec::new(),
            too_large: Vec::new(),
            progress,
            stopped,
        };
        let chosen = bench.search(&plan)?;
        // What did not fit in other trials may fit with the settings that were chosen.
        lift_limits();
        let batch = config.training.batch;
        let steps_per_second = bench.train(batch)?;
        let samples = chosen.positions_per_second * config.loop_config.reuse * config.reanalysis.draws();
        let steps_wanted = samples / batch as f64;
        let larger_batch = match steps_per_second {
            Some(able) if on_gpu && wanted == Wanted::All && steps_wanted > able => {
                LargerBatch::find(batch, samples, |batch| bench.train(batch))?
            }
            _ => None,
        };
        let steps = steps_per_second.map_or(0.0, |able| able.min(steps_wanted));
        let (settings, rate) = (&config.loop_config, chosen.positions_per_second);
        let advice = [
            about_window(config.window.base_positions, chosen.settings.in_flight(), size),
            about_lead(settings.lead_positions, rate, settings.weights_every_steps, steps),
        ];
        Ok(Tuning {
            device: in_words(&bench.devices, chosen.settings.precision),
            workload: format!(
                "{} on {size}, {} visits",
                config.network.name(),
                config.selfplay.search.visits
            ),
            trials: bench.trials,
            too_large: bench.too_large,
            chosen,
            steps_per_second,
            steps_wanted,
            larger_batch,
            advice: advice.into_iter().flatten().collect(),
            cache_mib: (chosen.settings.workers * chosen.settings.groups) as u64 * u64::from(config.selfplay.cache_mib),
            on_gpu,
        })
    }

    /// The settings to use.
    pub fn chosen(&self) -> &Settings {
        &self.chosen.settings
    }

    /// The findings as lines of text, the settings as TOML.
    pub fn lines(&self) -> Vec<String> {
        let chosen = self.chosen();
        let head = format!(
            "{:<6} {:>7} {:>6} {:>6} {:>14} {:>14}",
            "dtype", "workers", "groups", "games", "evaluations/s", "positions/s"
        );
        let mut lines = vec![
            format!("device {}", self.device),
            self.workload.clone(),
            String::new(),
            head,
        ];
        lines.extend(self.trials.iter().map(Trial::row));
        let too_large = self.too_large.iter();
        lines.extend(too_large.map(|settings| format!("{} too little GPU memory", settings.columns())));
        lines.extend([
            String::new(),
            "# The fastest settings; of those within 5% of them, the ones with the fewest games at a time, which are \
             fresher."
                .to_owned(),
            format!("# {} games are played at a time.", thousands(chosen.in_flight())),
            format!("# Full evaluation caches take {} MiB.", thousands(self.cache_mib)),
            "[inference]".to_owned(),
            format!("dtype = \"{}\"", chosen.precision),
            "[selfplay]".to_owned(),
            format!("games_per_group = {}", chosen.games),
            "[loop]".to_owned(),
            format!("workers = {}", chosen.workers),
            format!("groups_per_worker = {}", chosen.groups),
            String::new(),
            self.about_training(),
        ]);
        lines.extend(self.advice.iter().cloned());
        lines
    }

    /// Says whether the trainer keeps up with self-play.
    pub fn about_training(&self) -> String {
        let wanted = self.steps_wanted;
        let Some(able) = self.steps_per_second else {
            return format!(
                "Training needs more memory than the GPU has left; this self-play asks for {wanted:.1} steps/s \
                 (loop.reuse). Lower training.batch, or use a smaller network."
            );
        };
        let rates =
            format!("Training makes {able:.1} steps/s alone; this self-play asks for {wanted:.1} (loop.reuse).");
        let share = wanted / able;
        if self.on_gpu && share > 1.0 {
            let remedy = match &self.larger_batch {
                Some(larger) => format!("lower loop.reuse, or raise training.batch. {}", larger.in_words()),
                None => "lower loop.reuse or raise training.batch.".to_owned(),
            };
            return format!("{rates} Self-play waits for it: {remedy}");
        }
        if self.on_gpu {
            return format!("{rates} It keeps up.");
        }
        // One core trains at `able` steps per second, while all cores play at the measured rate.
        let cores = self.chosen().workers as f64;
        let training = share / (share + cores) * 100.0;
        format!("{rates} About {training:.0}% of the processor time of a run is training.")
    }
}

impl Bench<'_> {
    /// Tries the number formats, then games per group, then groups, then workers, each with the best settings so far.
    fn search(&mut self, plan: &Plan) -> anyhow::Result<Trial> {
        let usual = Precision::for_prediction(plan.format, self.devices[0])?;
        let mut formats = vec![usual];
        if plan.compares_formats && usual != Precision::Fp32 {
            formats.push(Precision::Fp32);
        }
        let games = self.config.selfplay.games_per_group.unwrap_or(plan.games[0]);
        let first = Settings {
            precision: usual,
            workers: plan.workers[0],
            groups: plan.groups[0],
            games,
        };
        let best = self.best(formats.into_iter().map(|precision| Settings { precision, ..first }))?;
        let best = self.best(plan.games.iter().map(|&games| Settings { games, ..best.settings }))?;
        let best = self.best(plan.groups.iter().map(|&groups| Settings {
            groups,
            ..best.settings
        }))?;
        self.best(plan.workers.iter().map(|&workers| Settings {
            workers,
            ..best.settings
        }))
    }

    /// Training steps per second with this batch; `None` if the GPU has too little memory for it.
    fn train(&self, batch: usize) -> anyhow::Result<Option<f64>> {
        anyhow::ensure!(!(self.stopped)(), "the measurement was stopped");
        (self.progress)(&format!("training with a batch of {batch}"));
        let training = TrainerConfig {
            batch,
            ..self.config.training.clone()
        };
        let (device, seed) = (self.devices[0], self.config.seed);
        match TrainingSpeed::measure(&self.config.network, &training, device, self.size, self.duration, seed) {
            Ok(speed) => Ok(Some(speed.steps_per_second())),
            Err(error) if is_out_of_memory(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The best of these settings. Settings that were tried before are not measured again. Those that need more memory
    /// than a GPU has go to `too_large`.
    fn best(&mut self, settings: impl Iterator<Item = Settings>) -> anyhow::Result<Trial> {
        let mut found = Vec::new();
        let mut refusal = None;
        for settings in settings {
            if self.too_large.contains(&settings) {
                continue;
            }
            match self.trials.iter().find(|trial| trial.settings == settings) {
                Some(trial) => found.push(*trial),
                None => match self.measure(settings) {
                    Ok(trial) => {
                        self.trials.push(trial);
                        found.push(trial);
                    }
                    Err(error) if is_out_of_memory(&error) => {
                        self.too_large.push(settings);
                        refusal = Some(error);
                    }
                    Err(error) => return Err(error),
                },
            }
        }
        match (fastest(&found), refusal) {
            (Some(trial), _) => Ok(trial),
            (None, Some(error)) => Err(error.context("no setting fits in the memory of the GPU")),
            (None, None) => Err(anyhow::anyhow!("nothing was measured")),
        }
    }

    fn measure(&self, settings: Settings) -> anyhow::Result<Trial> {
        anyhow::ensure!(!(self.stopped)(), "the measurement was stopped");
        let Settings {
            precision,
            workers,
            groups,
            games,
        } = settings;
        (self.progress)(&format!(
            "self-play in {precision}, {} of {} of {games} games",
            counted(workers as u64, "worker"),
            counted(groups as u64, "group")
        ));
        let options = PredictorOptions {
            device: self.devices[0],
            precision,
            ..PredictorOptions::default()
        };
        let factory = on_devices("random weights", &self.weights, options, &self.devices)?;
        let bench = SelfPlayBench {
            config: SelfPlayConfig {
                boards: vec![BoardShare::always(self.size.to_string(), 1.0)],
                games_per_group: Setting::Is(games),
                ..self.config.selfplay.clone()
            },
            visits: self.config.selfplay.search.visits,
            threads: workers,
            groups_per_thread: groups,
            duration: self.duration,
            seed: self.config.seed,
        };
        lift_limits();
        let before = halved();
        let report = bench_selfplay(&bench, &(Arc::new(factory) as _), || ())?;
        // What was measured holds for smaller batches than those of these settings.
        anyhow::ensure!(
            halved() == before,
            "out of GPU memory for whole batches: use a smaller network"
        );
        Ok(Trial {
            settings,
            evaluations_per_second: report.counts.evaluations as f64 / report.seconds,
            positions_per_second: report.counts.plies as f64 / report.seconds,
        })
    }
}

/// Which settings to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All that can be measured, whatever the configuration says.
    All,
    /// Those that the configuration sets to `auto`.
    Auto,
}

/// The values to try.
struct Plan {
    format: PrecisionChoice,
    /// Whether to try fp32, too.
    compares_formats: bool,
    workers: Vec<usize>,
    groups: Vec<usize>,
    games: Vec<u32>,
}

impl Plan {
    /// On a CPU, one worker per core. On GPUs, a few workers share each GPU.
    fn new(on_gpu: bool, cores: usize, gpus: usize) -> Plan {
        if !on_gpu {
            return Plan {
                format: PrecisionChoice::Auto,
                compares_formats: true,
                workers: vec![cores],
                groups: vec![1],
                games: vec![16, 32, 64, 128, 256],
            };
        }
        let mut workers = Vec::new();
        for each in [4, 2, 8, 16] {
            let all = (each * gpus).min(cores.max(gpus));
            if !workers.contains(&all) {
                workers.push(all);
            }
        }
        Plan {
            format: PrecisionChoice::Auto,
            compares_formats: true,
            workers,
            groups: vec![2, 1, 3],
            games: vec![64, 128, 256, 512, 1024],
        }
    }

    /// With [`Wanted::Auto`], tries only the values that the configuration states, where it states any. Number formats
    /// are not compared, because `auto` already stands for the fastest one.
    fn only(self, wanted: Wanted, config: &RunConfig) -> Plan {
        if wanted == Wanted::All {
            return self;
        }
        let (loop_config, games) = (&config.loop_config, config.selfplay.games_per_group);
        let workers = loop_config
            .workers
            .map(|workers| if workers == 0 { cores() } else { workers });
        Plan {
            format: config.inference.dtype,
            compares_formats: false,
            workers: stated(workers, self.workers),
            groups: stated(loop_config.groups_per_worker, self.groups),
            games: stated(games, self.games),
        }
    }

    /// An upper bound on the number of trials. The groups and workers of the first trial are not tried again.
    fn most_trials(&self) -> usize {
        1 + usize::from(self.compares_formats) + self.games.len() + self.groups.len() - 1 + self.workers.len() - 1
    }
}

/// How often the servers of the GPUs had to make their batches smaller, for lack of memory.
fn halved() -> u64 {
    gpu_servers().iter().map(|(_, stats)| stats.halved).sum()
}

/// The value that a configuration states, or else the values to try.
fn stated<T>(setting: Setting<T>, tried: Vec<T>) -> Vec<T> {
    match setting {
        Setting::Is(value) => vec![value],
        Setting::Auto => tried,
    }
}

/// The number of cores that the process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether an error says that a GPU has too little memory. Threads of self-play pass libtorch's errors on as text.
fn is_out_of_memory(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("out of GPU memory")
}

/// Of the trials that are about as fast as the fastest one, the one with the fewest games at a time.
fn fastest(trials: &[Trial]) -> Option<Trial> {
    let most = trials
        .iter()
        .map(|trial| trial.positions_per_second)
        .fold(0.0, f64::max);
    let good = trials
        .iter()
        .filter(|trial| trial.positions_per_second >= AS_GOOD * most);
    good.min_by_key(|trial| trial.settings.in_flight()).copied()
}

/// The largest board of a run.
fn largest(config: &RunConfig) -> anyhow::Result<Size> {
    let sizes = config.sizes()?;
    sizes
        .into_iter()
        .max_by_key(|size| size.area())
        .context("the configuration has no board")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(games: u32, rate: f64) -> Trial {
        Trial {
            settings: Settings {
                precision: Precision::Bf16,
                workers: 2,
                groups: 1,
                games,
            },
            evaluations_per_second: 8.0 * rate,
            positions_per_second: rate,
        }
    }

    #[test]
    fn fewer_games_win_unless_they_are_clearly_slower() {
        let trials = [trial(16, 800.0), trial(32, 960.0), trial(64, 1000.0), trial(128, 990.0)];
        assert_eq!(fastest(&trials).map(|trial| trial.settings.games), Some(32));
        assert_eq!(
            fastest(&[trial(16, 100.0), trial(64, 1000.0)]).map(|trial| trial.settings.games),
            Some(64)
        );
        assert_eq!(fastest(&[]), None);
    }

    #[test]
    fn errors_about_memory_are_told_from_others() {
        let text = "CUDA out of memory. Tried to allocate 20.00 MiB";
        let error = tengen_network::LibtorchError::OutOfMemory(text.to_owned());
        let as_text = anyhow::anyhow!("the predictor failed: {error}");
        assert!(is_out_of_memory(&as_text.context("self-play failed")));
        assert!(!is_out_of_memory(&anyhow::anyhow!("no kernel image is available")));
    }

    #[test]
    fn every_gpu_has_a_worker_and_no_core_two() {
        for (cores, gpus) in [(1, 1), (2, 1), (4, 2), (16, 1), (2, 4)] {
            let plan = Plan::new(true, cores, gpus);
            assert!(
                plan.workers
                    .iter()
                    .all(|&workers| workers >= gpus && workers <= cores.max(gpus))
            );
        }
        assert_eq!(Plan::new(false, 8, 1).workers, [8]);
    }

    #[test]
    fn settings_of_a_small_run_are_found() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let settings = ["network.blocks=1", "network.channels=8", "training.batch=16"].map(str::to_owned);
        let config = RunConfig::load(&path, &settings).expect("a configuration");
        let tuning =
            Tuning::find(&config, &[DeviceChoice::Cpu], Wanted::All, 0.05, &|_| (), &|| false).expect("the CPU");
        assert!(
            tuning.trials.contains(&tuning.chosen) && tuning.trials.len() >= 5,
            "{tuning:?}"
        );
        let text = tuning.lines().join("\n");
        let toml = text.split_once("[inference]").expect("settings").1;
        assert!(
            toml.contains(&format!("games_per_group = {}", tuning.chosen().games)),
            "{text}"
        );
        assert!(tuning.steps_per_second.is_some_and(|steps| steps > 0.0) && tuning.steps_wanted > 0.0);
    }

    #[test]
    fn what_is_stated_is_not_looked_for() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let load = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
            RunConfig::load(&path, &settings).expect("a configuration")
        };
        let plan = |settings: &[&str]| {
            let plan = Plan::new(true, 16, 1).only(Wanted::Auto, &load(settings));
            (
                plan.workers.clone(),
                plan.groups.clone(),
                plan.games.clone(),
                plan.most_trials(),
            )
        };
        let stated = [
            "loop.workers=3",
            "loop.groups_per_worker=2",
            "selfplay.games_per_group=48",
        ];
        assert_eq!(plan(&stated), (vec![3], vec![2], vec![48], 2));
        let one = [
            "loop.workers=auto",
            "loop.groups_per_worker=2",
            "selfplay.games_per_group=48",
        ];
        assert_eq!(plan(&one), (vec![4, 2, 8, 16], vec![2], vec![48], 5));
        let all = [
            "loop.workers=auto",
            "loop.groups_per_worker=auto",
            "selfplay.games_per_group=auto",
        ];
        assert_eq!(plan(&all).3, 1 + 5 + 2 + 3);
        assert_eq!(plan(&["loop.workers=0"]).0, [cores()]);
    }
}
