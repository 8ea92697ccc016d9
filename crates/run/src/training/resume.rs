//! Where training resumes: from which checkpoint or model, with which settings, and after which costs.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use tengen_config::{Ledger, RunConfig};
use tengen_health::RandomGames;
use tengen_model::{CostLedger, Model, ModelId, ModelInfo, Weights};
use tengen_network::DeviceChoice;
use tengen_reanalysis::Refreshed;
use tengen_samples::{SampleSource, Window};
use tengen_selfplay::FairKomi;
use tengen_store::{CheckpointFiles, ShardInfo};
use tengen_trainer::Trainer;

use super::costs::Costs;
use super::publish::{CONFIG_FILE, LEDGER_FILE};
use super::{Training, listing};
use crate::fair_komi::stated;
use crate::opened::{Opened, name_damaged};

impl Training {
    /// Resumes from the store's newest intact checkpoint. Without one, continues from the newest model, or starts with
    /// the weights of the first one. Also returns the cost so far.
    pub fn resume(run: &Opened) -> anyhow::Result<(Training, Ledger)> {
        Self::resume_if(run, |_| true)
    }

    /// Like [`Training::resume`], for a run that trains no more once its budget is spent: then, it counts its games but
    /// reads none.
    pub fn resume_within_budget(run: &Opened) -> anyhow::Result<(Training, Ledger)> {
        Self::resume_if(run, |spent| spent < 1.0)
    }

    /// Reads games if `goes_on` is true for the share of the budget that is spent.
    fn resume_if(run: &Opened, goes_on: impl Fn(f64) -> bool) -> anyhow::Result<(Training, Ledger)> {
        let (store, config, device) = (&run.store, &run.config, run.options.device);
        let recovered = store.checkpoints().recover()?;
        name_damaged(&recovered.damaged);
        let checkpoint = recovered.newest;
        let (trainer, ledger) = match &checkpoint {
            Some((step, files)) => restore(config, device, files)
                .with_context(|| format!("cannot resume from checkpoint {step} of {}", store.location()))?,
            None => without_checkpoint(run)?,
        };
        let later = Costs::read(store)?.filter(|costs| checkpoint.is_some() && costs.step == trainer.steps());
        let ledger = later.map_or(ledger, |costs| costs.ledger);
        let kept = checkpoint.as_ref().and_then(|(_, files)| files.get(CONFIG_FILE));
        let earlier_config = match kept {
            Some(bytes) => comparable(toml::from_slice(bytes)),
            None => store
                .run_info()?
                .and_then(|run| comparable(serde_json::from_value(run.config))),
        };
        let ranks = run.ranks.clone();
        let refreshed = match config.reanalysis.is_on() {
            true => {
                let boards = (config.sizes()?, config.rules);
                let replies = config.network.reply_head;
                let samples = config.samples.clone();
                Some(Refreshed::open(store, config.reanalysis, samples, boards, replies)?)
            }
            false => None,
        };
        let models = store.models().list()?;
        let fair_komi = match newest_info(run, &models)? {
            Some(info) => stated(&info, &config.sizes()?),
            None => FairKomi::new(),
        };
        let listing = listing(store, ranks.as_deref())?;
        let source = SampleSource::for_store(store, config.samples.clone())
            .holding_out(config.loop_config.held_out)
            .with_replies(config.network.reply_head);
        let mut training = Training {
            store: store.clone(),
            config: config.clone(),
            given: run.given.clone(),
            run_id: run.run_id.clone(),
            earlier_config,
            watch: Arc::clone(&run.watch),
            ranks,
            trainer,
            device,
            loader: source.loader(store),
            refreshed,
            source,
            random: RandomGames::new(&config.sizes()?, config.rules, config.seed)?,
            shards: Vec::new(),
            window: Window::select(&[], config.window),
            positions: listing.pruned.positions,
            games: listing.pruned.games,
            unowed: 0,
            damaged: listing.damaged,
            fair_komi,
            ask_again_at: 1,
            parent: models.last().map(ToString::to_string),
            checkpointed: Instant::now(),
            saved: None,
            guard: None,
            warned: false,
            sound: true,
            losses: Vec::new(),
        };
        training.loader.skip(&training.damaged);
        let games = training.games + listing.shards.iter().map(ShardInfo::games).sum::<u64>();
        let spent = config.budget.spent(&ledger, games, training.steps());
        training.trainer.set_budget_spent(spent);
        match goes_on(spent) {
            true => training.take_in(listing.shards)?,
            false => training.count(&listing.shards),
        }
        if let Some(ranks) = training.ranks.clone() {
            let joined = training.trainer.join(Arc::clone(&ranks.group));
            joined.map_err(|error| ranks.explained(error, training.steps()))?;
        }
        Ok((training, ledger))
    }

    /// The settings in which this start differs from the one before it, such as `training.learning_rate 0.003 ->
    /// 0.002`.
    pub fn changed_settings(&self) -> anyhow::Result<Vec<String>> {
        match &self.earlier_config {
            Some(earlier) => self.given.changes_since(earlier),
            None => Ok(Vec::new()),
        }
    }

    /// Reports to the user which settings have changed since the last start, if any.
    pub fn say_changed_settings(&self) -> anyhow::Result<()> {
        let changed = self.changed_settings()?;
        if !changed.is_empty() {
            let settings = if changed.len() == 1 { "setting" } else { "settings" };
            self.watch.say(&format!(
                "{settings} changed since the last start: {}",
                changed.join(", ")
            ));
        }
        Ok(())
    }
}

/// The settings of an earlier start, to compare with; `None` after a warning if this version cannot read them.
fn comparable<E: std::fmt::Display>(settings: Result<RunConfig, E>) -> Option<RunConfig> {
    if let Err(error) = &settings {
        tracing::warn!("cannot tell which settings changed since the last start: {error}");
    }
    settings.ok()
}

fn restore(config: &RunConfig, device: DeviceChoice, files: &CheckpointFiles) -> anyhow::Result<(Trainer, Ledger)> {
    let trainer = Trainer::restore(files, Some(config.training.clone()), device)?;
    let ledger = files
        .get(LEDGER_FILE)
        .with_context(|| format!("the checkpoint has no {LEDGER_FILE}"))?;
    Ok((trainer, serde_json::from_slice(ledger)?))
}

/// Where training starts if no checkpoint is intact: at the step of the newest model, if any was published after the
/// first; otherwise at step 0, with the first model or random weights.
fn without_checkpoint(run: &Opened) -> anyhow::Result<(Trainer, Ledger)> {
    let models = run.store.models().list()?;
    let begin = |weights: &Weights| Trainer::from_weights(weights, run.config.training.clone(), run.options.device);
    match models.split_first() {
        Some((first, [])) => Ok((begin(&run.weights(first)?)?, Ledger::default())),
        Some((_, newer)) => {
            let (id, model) = newest_usable(run, newer)?;
            let (step, cost) = (model.info.provenance.step, model.info.cost);
            if run.is_first() {
                tracing::warn!(
                    "{} has no intact checkpoint: training goes on from its newest model {id} at step {step}, with a \
                     fresh optimizer; the steps after it are lost, and budget.minutes begins again",
                    run.store.location()
                );
            }
            Ok((begin(&model.weights)?.counting_from(step), ledger_of(&cost)))
        }
        None => {
            let weights = Weights::random(&run.config.network, run.config.seed)?;
            Ok((begin(&weights)?, Ledger::default()))
        }
    }
}

/// What a model says about the cost of its run; without the elapsed time, which it does not know.
fn ledger_of(cost: &CostLedger) -> Ledger {
    Ledger {
        cpu_seconds: cost.cpu_seconds,
        gpu_seconds: cost.gpu_seconds,
        evaluations: cost.evaluations,
        ..Ledger::default()
    }
}

/// How far training had come and what the run had cost when a checkpoint was last due; in a store of an earlier
/// version, what its newest model says.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn costs_so_far(run: &Opened) -> anyhow::Result<Costs> {
    if let Some(costs) = Costs::read(&run.store)? {
        return Ok(costs);
    }
    let newest = newest_info(run, &run.store.models().list()?)?;
    Ok(newest.map_or_else(Costs::default, |info| Costs {
        step: info.provenance.step,
        ledger: ledger_of(&info.cost),
    }))
}

/// The newest of these models whose files are intact.
fn newest_usable(run: &Opened, models: &[ModelId]) -> anyhow::Result<(ModelId, Model)> {
    for id in models.iter().rev() {
        let skipped = || format!("the model {id} is skipped");
        if let Some(model) = run.unless_damaged(skipped, run.store.models().load(id))? {
            return Ok((id.clone(), model));
        }
    }
    anyhow::bail!(
        "{} has neither an intact checkpoint nor an intact model after the first: restore one of them from a copy of \
         the store, or delete the folders of all models but the first and their promotions, and training begins again \
         with the games that are there",
        run.store.location()
    )
}

/// The description of the newest of these models that can be read.
fn newest_info(run: &Opened, models: &[ModelId]) -> anyhow::Result<Option<ModelInfo>> {
    for id in models.iter().rev() {
        let skipped = || format!("the model {id} is skipped");
        let info = run.unless_damaged(skipped, run.store.models().info(id))?;
        if info.is_some() {
            return Ok(info);
        }
    }
    Ok(None)
}
