//! A run's store and configuration, checked against each other.

use crate::config::RunConfig;
use crate::players::DeviceArgs;
use crate::run::training::publish_model;
use anyhow::{Context, bail};
use std::path::PathBuf;
use tengen_network::{Model, PredictorOptions, Weights};
use tengen_records::{Create, Promotion, RunInfo, Store, now_ms};

/// A run, opened: what its parts share.
pub(crate) struct Opened {
    /// The store.
    pub(crate) store: Store,
    /// The effective configuration.
    pub(crate) config: RunConfig,
    /// Names the configuration in every game.
    pub(crate) config_id: String,
    /// Names the run in every model.
    pub(crate) run_id: String,
    /// How networks are run.
    pub(crate) options: PredictorOptions,
}

impl Opened {
    /// Opens or begins the run of `config` at `location`.
    ///
    /// # Errors
    /// When the store belongs to a run of another board, rule set or network, or cannot be used.
    pub(crate) fn open(config: &RunConfig, location: &str, device: &DeviceArgs) -> anyhow::Result<Opened> {
        let options = device.predictor_options();
        options.device.resolve()?;
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
            .context("run.json was written a moment ago and is gone")?;
        let run = Opened {
            store,
            config: config.clone(),
            config_id,
            run_id: stored.run_id.clone(),
            options,
        };
        run.check(&stored)?;
        run.store
            .put_new(&format!("configs/{}.toml", run.config_id), toml::to_string(config)?)?;
        Ok(run)
    }

    /// Opens the run that a store already holds, under the configuration of its `run.json`.
    pub(crate) fn existing(location: &str, device: &DeviceArgs) -> anyhow::Result<Opened> {
        let store = Store::open(location, Create::Never)?;
        let Some(stored) = store.run_info()? else {
            bail!("{location} has no run.json: begin the run with --config FILE, or with `tengen run FILE`");
        };
        let config: RunConfig = serde_json::from_value(stored.config)
            .with_context(|| format!("the configuration in {location}/run.json is of another version"))?;
        Opened::open(&config, location, device)
    }

    /// Publishes the random network that everything begins with, and makes it the champion, unless that was done.
    pub(crate) fn first_model(&self) -> anyhow::Result<()> {
        if self.store.champion()?.is_some() {
            return Ok(());
        }
        let entry = match self.store.list_models()?.into_iter().next() {
            Some(entry) => entry,
            None => {
                let mut model = Model::new(Weights::random(&self.config.network, self.config.seed)?);
                model.info.provenance.run_id = self.run_id.clone();
                publish_model(&self.store, 0, &model)?
            }
        };
        let promotion = Promotion {
            model_id: entry.id,
            generation: entry.generation,
            promoted_ms: now_ms(),
            match_id: None,
            verdict: serde_json::json!({ "reason": "the first model" }),
        };
        self.store.promote(0, &promotion)?;
        Ok(())
    }

    /// The weights of a model of this run.
    pub(crate) fn weights(&self, id: &str) -> anyhow::Result<Weights> {
        let files = self.store.load_model(id)?;
        let info = serde_json::to_vec(&files.info)?;
        let model = Model::from_files(&files.weights, &info)
            .with_context(|| format!("cannot use the model {id} of {}", self.store.location()))?;
        Ok(model.weights)
    }

    /// The store's folder.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        let folder = self.store.local_path();
        Ok(folder
            .with_context(|| format!("{} is no local folder; a run needs one", self.store.location()))?
            .to_owned())
    }

    fn check(&self, stored: &RunInfo) -> anyhow::Result<()> {
        let network = stored.config.get("network").cloned().unwrap_or_default();
        let sizes: Vec<String> = self.config.sizes()?.iter().map(ToString::to_string).collect();
        let differs = match () {
            () if stored.sizes != sizes => Some(("boards", format!("{:?}", stored.sizes), format!("{sizes:?}"))),
            () if stored.rules.parse() != Ok(self.config.rules) => {
                Some(("rules", stored.rules.clone(), self.config.rules.to_string()))
            }
            () if network != serde_json::to_value(&self.config.network)? => Some((
                "network",
                network.to_string(),
                serde_json::to_string(&self.config.network)?,
            )),
            () => None,
        };
        match differs {
            Some((what, expected, found)) => bail!(
                "the run in {} has the {what} {expected}, but the config says {found}: choose another --store, or the \
                 config of that run",
                self.store.location()
            ),
            None => Ok(()),
        }
    }
}
