//! The settings of a run that suit this machine, by measuring self-play and training with its network.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

use tengen_config::RunConfig;
use tengen_model::Weights;
use tengen_network::{DeviceChoice, Precision, PredictorOptions, in_words};
use tengen_predictors::{gpu_servers, lift_limits, on_devices};
use tengen_report::{counted, thousands};
use tengen_rules::{Setting, Size};
use tengen_selfplay::{BoardShare, SelfPlayBench, SelfPlayConfig, bench_selfplay};
use tengen_trainer::TrainerConfig;

use crate::advice::{LargerBatch, about_lead, about_window};
use crate::plan::{Plan, Wanted, cores};
use crate::search::{Search, is_out_of_memory};
use crate::settings::{Settings, Trial};
use crate::training::TrainingSpeed;

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
        let bench = Bench {
            config,
            weights: Weights::random(&config.network, config.seed)?,
            size,
            devices: devices.to_vec(),
            duration: Duration::from_secs_f64(seconds / (plan.most_trials() + 1) as f64),
            progress,
            stopped,
        };
        let usual = Precision::for_prediction(plan.format, first)?;
        let mut formats = vec![usual];
        if plan.compares_formats && usual != Precision::Fp32 {
            formats.push(Precision::Fp32);
        }
        let games = config.selfplay.games_per_group.unwrap_or(plan.games[0]);
        let mut measure = |settings| bench.measure(settings);
        let mut search = Search::new(&mut measure);
        let chosen = search.run(&plan, &formats, games)?;
        let Search { trials, too_large, .. } = search;
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
            trials,
            too_large,
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

/// How often the servers of the GPUs had to make their batches smaller, for lack of memory.
fn halved() -> u64 {
    gpu_servers().iter().map(|(_, stats)| stats.halved).sum()
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
}
