//! Opens a run's store and configuration and checks that they match.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use tengen_model::{Devices, Model, ModelId, NetworkConfig, PrecisionChoice, Weights};
use tengen_network::{DeviceChoice, Precision, PredictorOptions, in_words};
use tengen_records::now_ms;
use tengen_report::duration;
use tengen_samples::CachePlace;
use tengen_store::{Create, GamesOf, Patience, Promotion, QuarantineNote, RunInfo, RunLock, Store, StoreError};

use crate::gating::rejected;
use crate::outbox::Outbox;
use crate::ranks::Ranks;
use crate::training::{Costs, costs_so_far};
use crate::watch::{Silent, Watch};
use tengen_config::{Progress, RunConfig};

/// The running program, for the report.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its version, with everything known about the build.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
}

/// Where and how a run works, apart from its configuration.
#[derive(Clone)]
pub struct Setup {
    /// Where networks run: the trainer on the first of these devices, self-play on all. `None` means those of the
    /// configuration.
    pub devices: Option<Devices>,
    /// The number format in which networks predict; `None` means that of the configuration.
    pub dtype: Option<PrecisionChoice>,
    /// This machine's folder for data that is not in the store; `None` means a separate folder for each store under
    /// `~/.local/state/tengen`.
    pub scratch: Option<PathBuf>,
    /// Games of each match after the run, where 0 plays none; `None` lets the size of the board and the length of the
    /// run decide.
    pub closing_games: Option<usize>,
    /// Seconds for the measurement of settings that are `auto`, when games are first played on a machine.
    pub measured_seconds: f64,
    /// The running program.
    pub program: Program,
    /// Shows what the run does.
    pub watch: Arc<dyn Watch>,
    /// Setting it ends the run cleanly: games are published or kept, and a checkpoint is written.
    pub stop: Arc<AtomicBool>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            devices: None,
            dtype: None,
            scratch: None,
            closing_games: None,
            measured_seconds: 20.0,
            program: Program::default(),
            watch: Arc::new(Silent),
            stop: Arc::default(),
        }
    }
}

/// An open run: what its parts share.
pub struct Opened {
    /// The run's store.
    pub store: Store,
    /// The effective configuration. Settings that are `auto` remain so until [`Opened::settle_auto`].
    pub config: RunConfig,
    /// The configuration as it was given.
    pub given: RunConfig,
    /// Identifies the configuration in every game.
    pub config_id: String,
    /// Identifies the run in every model.
    pub run_id: String,
    /// The device and number format that networks run with.
    pub options: PredictorOptions,
    /// The devices of self-play, to which its threads are bound in turn; at least one.
    pub selfplay_devices: Vec<DeviceChoice>,
    /// See [`Setup::measured_seconds`].
    pub measured_seconds: f64,
    /// Games of each match after the run; see [`Setup::closing_games`].
    pub closing_games: Option<usize>,
    /// The running program.
    pub program: Program,
    /// Shows what the run does.
    pub watch: Arc<dyn Watch>,
    /// Ends the run cleanly when set.
    pub stop: Arc<AtomicBool>,
    /// The processes that train this run together, if this one does not train alone.
    pub ranks: Option<Arc<Ranks>>,
    /// This machine's own folder for the run: waiting shards and, for stores that are not folders, everything that is
    /// not a game, model or verdict. Created when needed.
    scratch: PathBuf,
    /// The warnings given so far.
    warned: Mutex<BTreeSet<String>>,
}

impl Opened {
    /// Opens or starts the run of `config` at `location`.
    ///
    /// # Errors
    /// If the store belongs to a run with another board, rule set or network, or cannot be used.
    pub fn open(config: &RunConfig, location: &str, setup: &Setup) -> anyhow::Result<Opened> {
        let devices = setup.devices.unwrap_or(config.inference.device);
        let selfplay_devices = DeviceChoice::all_of(devices);
        for device in &selfplay_devices {
            device.resolve()?;
        }
        let device = DeviceChoice::first_of(devices);
        let options = PredictorOptions {
            device,
            precision: common_precision(setup.dtype.unwrap_or(config.inference.dtype), &selfplay_devices)?,
            ..PredictorOptions::default()
        };
        let store = Store::open(location, Create::Always)?;
        let config_id = config.id()?;
        let sizes = config.sizes()?.iter().map(ToString::to_string).collect();
        let started = now_ms();
        let run_id = format!("{}-{}-{started}", config.name, &config_id[..6]);
        let info = RunInfo::new(
            &run_id,
            started,
            &config.rules.to_string(),
            sizes,
            serde_json::to_value(config)?,
        );
        store.put_run_info(&info)?;
        let stored = store
            .run_info()?
            .context("the run.json that was just written is missing")?;
        let scratch = setup
            .scratch
            .clone()
            .unwrap_or_else(|| tengen_store::scratch_folder(store.location()));
        let run = Opened {
            store,
            config: config.clone(),
            given: config.clone(),
            config_id,
            run_id: stored.run_id.clone(),
            options,
            selfplay_devices,
            measured_seconds: setup.measured_seconds,
            closing_games: setup.closing_games,
            program: setup.program.clone(),
            watch: Arc::clone(&setup.watch),
            stop: Arc::clone(&setup.stop),
            ranks: None,
            scratch,
            warned: Mutex::default(),
        };
        run.check(&stored)?;
        run.store
            .files()
            .put_new(&format!("configs/{}.toml", run.config_id), toml::to_string(config)?)?;
        Ok(run)
    }

    /// What networks run on, such as `cuda:0 NVIDIA H100 80GB HBM3 · bf16`.
    pub fn device_in_words(&self) -> String {
        in_words(&self.selfplay_devices, self.options.precision)
    }

    /// How far the run has come, according to its store. The costs are those of the last checkpoint.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn progress(&self) -> anyhow::Result<Progress> {
        let published = self.store.games().list(&GamesOf::SelfPlay)?.published();
        let Costs { step, ledger } = costs_so_far(self)?;
        Ok(Progress {
            positions: published.positions,
            rejected: rejected(self)?,
            spent: self.config.budget.spent(&ledger, published.games, step),
        })
    }

    /// Opens the run that a store contains, with the configuration in its `run.json`. Somebody else may have made the
    /// store, so the folder that this configuration names for the sample cache is used only if it exists.
    pub fn existing(location: &str, setup: &Setup) -> anyhow::Result<Opened> {
        let store = Store::open(location, Create::Never)?;
        let Some(stored) = store.run_info()? else {
            bail!("{location} has no run.json; start a run there with --config FILE or with `tengen run FILE`");
        };
        let mut config = stored_config(stored.config, location)?;
        if let CachePlace::Folder(folder) = &config.samples.cache
            && !folder.is_dir()
        {
            setup.watch.say(&format!(
                "samples.cache of {location}/run.json names {}, which is no folder here: using `auto`; give a \
                 configuration to choose another place",
                folder.display()
            ));
            config.samples.cache = CachePlace::Auto;
        }
        Opened::open(&config, location, setup)
    }

    /// Publishes the random first network and makes it the champion, unless that is already done.
    pub fn first_model(&self) -> anyhow::Result<()> {
        if self.store.models().champion()?.is_some() {
            return Ok(());
        }
        let first = match self.store.models().list()?.into_iter().next() {
            Some(id) => id,
            None => {
                let mut model = Model::new(Weights::random(&self.config.network, self.config.seed)?);
                model.info.provenance.run_id = self.run_id.clone();
                model.info.rules = Some(self.config.rules.to_string());
                publish_model(&self.store, 0, &model, || Ok(()))?
            }
        };
        let promotion = Promotion::now(&first, None, serde_json::json!({ "reason": "the first model" }));
        self.store.models().promote(0, &promotion)?;
        Ok(())
    }

    /// The model that is champion now.
    ///
    /// # Errors
    /// If the store cannot be read or has no champion, as before [`Opened::first_model`].
    pub fn champion(&self) -> anyhow::Result<ModelId> {
        let champion = self.store.models().champion()?;
        let (_, promotion) = champion.context("the store has no champion")?;
        Ok(promotion.model_id)
    }

    /// Whether this is the only process that trains, or the first of several.
    pub fn is_first(&self) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.is_first())
    }

    /// The weights of a model of this run.
    pub fn weights(&self, id: &ModelId) -> anyhow::Result<Weights> {
        Ok(self.store.models().load(id)?.weights)
    }

    /// Where this process writes metrics and the report: the store's own folder, or the scratch folder if the store is
    /// not a folder.
    pub fn folder(&self) -> anyhow::Result<PathBuf> {
        match self.store.local_path() {
            Some(folder) => Ok(folder.to_owned()),
            None => {
                let failed = || format!("cannot create the scratch folder {}", self.scratch.display());
                std::fs::create_dir_all(&self.scratch).with_context(failed)?;
                Ok(self.scratch.clone())
            }
        }
    }

    /// Locks the run and cleans up what killed processes left in the store. If the store is not a folder, this only
    /// excludes other processes on this machine.
    pub fn lock(&self) -> anyhow::Result<RunLock> {
        let lock = match self.store.local_path() {
            Some(_) => self.store.lock_run()?,
            None => Store::open(&self.folder()?.display().to_string(), Create::Always)?.lock_run()?,
        };
        let kept = self.config.loop_config.checkpoints_kept;
        let cleaned = self.store.remove_leftovers();
        match cleaned.and_then(|_| self.store.checkpoints().prune(kept)) {
            Ok(pruned) => name_damaged(&pruned.damaged),
            Err(error) => tracing::warn!("cannot remove what an earlier process left: {error}"),
        }
        Ok(lock)
    }

    /// Logs a warning, but only once if the same problem is found again.
    pub(crate) fn warn_once(&self, warning: String) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if !warned.contains(&warning) {
            tracing::warn!("{warning}");
            warned.insert(warning);
        }
    }

    /// What was read of a model, or `None` with a warning if its file is damaged. `warning` says what becomes of the
    /// model.
    pub(crate) fn unless_damaged<T>(
        &self,
        warning: impl FnOnce() -> String,
        read: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match read {
            Err(error) if error.is_damage() => {
                self.warn_once(format!("{}: {error}", warning()));
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// The queue that publishes finished games to the store.
    pub fn outbox(&self) -> anyhow::Result<Outbox> {
        Outbox::new(&self.store, &self.scratch.join("spool"), &self.config.loop_config)
    }

    /// From now on, calls wait for an unreachable store until the configured time is up or the run is stopped.
    pub fn be_patient(&mut self) {
        self.store = self.store.with_patience(Patience {
            limit: Duration::from_secs_f64(self.config.loop_config.patience_seconds),
            give_up: Arc::clone(&self.stop),
        });
    }

    /// Reports to the user when calls start waiting for the store and when it is reachable again; for stages with no
    /// other display.
    pub fn say_when_away(&self) {
        let (store, patience) = (self.store.clone(), self.config.loop_config.patience_seconds);
        let watch = Arc::clone(&self.watch);
        std::thread::spawn(move || {
            let mut away = None;
            loop {
                std::thread::sleep(Duration::from_millis(250));
                match (store.waited_for(), away) {
                    (Some(time), None) => {
                        watch.say(&format!(
                            "the store is unreachable; waiting for it for up to {}",
                            duration(patience)
                        ));
                        away = Instant::now().checked_sub(time);
                    }
                    (None, Some(since)) => {
                        watch.say(&format!(
                            "the store is reachable again after {} s",
                            since.elapsed().as_secs()
                        ));
                        away = None;
                    }
                    _ => {}
                }
            }
        });
    }

    fn check(&self, stored: &RunInfo) -> anyhow::Result<()> {
        let network = stored.config.get("network").cloned().unwrap_or_default();
        let parsed = serde_json::from_value::<NetworkConfig>(network.clone());
        let sizes: Vec<String> = self.config.sizes()?.iter().map(ToString::to_string).collect();
        let differs = match () {
            // Boards may come and go during a run, but ratings and gates use the first.
            () if stored.sizes.first() != sizes.first() => {
                let first = |sizes: &[String]| sizes.first().cloned().unwrap_or_default();
                Some(("the first board", first(&stored.sizes), first(&sizes)))
            }
            () if stored.rules.parse() != Ok(self.config.rules) => {
                Some(("rules", stored.rules.clone(), self.config.rules.to_string()))
            }
            () if parsed.ok().as_ref() != Some(&self.config.network) => Some((
                "network",
                network.to_string(),
                serde_json::to_string(&self.config.network)?,
            )),
            () => None,
        };
        match differs {
            Some((what, expected, found)) => bail!(
                "the run in {} has {what} {expected}, but the config has {found}; choose another --store or \
                 the config of that run",
                self.store.location()
            ),
            None => Ok(()),
        }
    }
}

/// The format of predictions on all devices of a run: an automatic choice must suit each of them.
///
/// # Errors
/// If a device cannot be used, or cannot compute in the requested format.
fn common_precision(choice: PrecisionChoice, devices: &[DeviceChoice]) -> anyhow::Result<Precision> {
    let each = devices.iter().map(|device| Precision::for_prediction(choice, *device));
    Ok(least_demanding(&each.collect::<Result<Vec<_>, _>>()?))
}

/// The format among these that devices of all ages have: fp32 before fp16, and fp16 before bf16.
fn least_demanding(formats: &[Precision]) -> Precision {
    let demands = |format: &Precision| match format {
        Precision::Fp32 => 0,
        Precision::Fp16 => 1,
        Precision::Bf16 => 2,
    };
    formats.iter().copied().min_by_key(demands).unwrap_or(Precision::Fp32)
}

/// Warns about damaged checkpoints that were set aside.
pub(crate) fn name_damaged(checkpoints: &[QuarantineNote]) {
    for QuarantineNote { shard, reason, .. } in checkpoints {
        tracing::warn!("{shard} is damaged and was quarantined: {reason}");
    }
}

/// Publishes a model in the store.
pub(crate) fn publish_model(
    store: &Store,
    generation: u32,
    model: &Model,
    allowed: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<ModelId> {
    let id = store.models().publish_if(generation, model, allowed)?;
    tracing::info!("published model {id}");
    Ok(id)
}

/// The configuration that the `run.json` of a store holds.
///
/// # Errors
/// If another version of this program wrote it, with settings that this one does not know.
pub fn stored_config(config: serde_json::Value, location: &str) -> anyhow::Result<RunConfig> {
    serde_json::from_value(config).with_context(|| {
        format!(
            "the configuration in {location}/run.json is from another version; use the version of tengen that started \
             the run, or a newer one"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn devices_share_the_format_of_the_oldest() {
        let (fp32, fp16, bf16) = (Precision::Fp32, Precision::Fp16, Precision::Bf16);
        assert_eq!(least_demanding(&[bf16, bf16]), bf16);
        assert_eq!(least_demanding(&[bf16, fp16]), fp16);
        assert_eq!(least_demanding(&[fp16, fp32, bf16]), fp32);
    }

    /// A stored key with its default value means the same as leaving the key out.
    #[test]
    fn stored_networks_are_compared_by_meaning() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let load = |set: &str| RunConfig::load(&path, &[set.to_owned()]).expect("loads");
        let off = load("network.pass_alive_inputs=false");
        let on = load("network.pass_alive_inputs=true");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = folder.path().join("store").display().to_string();
        let setup = Setup {
            scratch: Some(folder.path().to_owned()),
            ..Setup::default()
        };
        let open = |config: &RunConfig| Opened::open(config, &location, &setup);
        let mut stored = serde_json::to_value(&off).expect("JSON");
        assert!(stored["network"].get("pass_alive_inputs").is_none());
        stored["network"]["pass_alive_inputs"] = false.into();
        let store = Store::open(&location, Create::Always).expect("a new store");
        let info = RunInfo::new("test", 0, "tromp_taylor", vec!["5x5".to_owned()], stored);
        store.put_run_info(&info).expect("a new run");
        open(&off).expect("the same network");
        let error = open(&on).err().expect("another network").to_string();
        assert!(error.contains("network"), "{error}");
    }

    #[test]
    fn the_configuration_of_a_newer_version_is_refused_with_advice() {
        let newer = serde_json::json!({"telepathy": true});
        let error = stored_config(newer, "s3://bucket/run").expect_err("an unknown key");
        let said = format!("{error:#}");
        assert!(
            said.contains("s3://bucket/run/run.json") && said.contains("telepathy"),
            "{said}"
        );
        assert!(said.contains("or a newer one"), "{said}");
    }
}
