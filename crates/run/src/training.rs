//! The trainer's side of the loop: takes in new shards, keeps the reuse ratio, provides weights, publishes models and
//! writes checkpoints.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tengen_model::{CostLedger, Model, ModelId, NetworkConfig, Provenance, Weights};
use tengen_network::{DeviceChoice, Precision};
use tengen_rng as rng;
use tengen_rules::Komi;
use tengen_samples::{SampleSource, Window};
use tengen_selfplay::FairKomi;
use tengen_store::{CheckpointFiles, GamesListing, GamesOf, ShardInfo, Store};
use tengen_trainer::{Losses, Trainer, TrainerError, Word};

use crate::config::RunConfig;
use crate::ledger::Ledger;
use crate::opened::{Opened, publish_model};
use crate::random_games::{RANDOM_SAMPLES, random_games};
use crate::ranks::Ranks;
use crate::validation::{Comparison, SAMPLES};
use crate::watch::Watch;

/// The checkpoint file with the loop's state, as opposed to the trainer's.
const LEDGER_FILE: &str = "ledger.json";

/// The checkpoint file with the configuration that the run had last. Checkpoints of earlier versions lack it.
const CONFIG_FILE: &str = "config.toml";

/// From this number of positions on, reading them takes long enough to show progress.
const MANY_POSITIONS: u64 = 1_000_000;

/// The trainer and the games it learns from.
pub struct Training {
    store: Store,
    config: RunConfig,
    run_id: String,
    /// The configuration as of the checkpoint, or of the start of the run.
    earlier_config: Option<RunConfig>,
    watch: Arc<dyn Watch>,
    /// The processes that train together, if this one does not train alone.
    ranks: Option<Arc<Ranks>>,
    trainer: Trainer,
    device: DeviceChoice,
    source: SampleSource,
    /// The ends of random games, which the network should be able to judge.
    random: SampleSource,
    shards: Vec<ShardInfo>,
    window: Window,
    /// Positions and games of everything published, including pruned shards.
    positions: u64,
    games: u64,
    pruned_positions: u64,
    /// Shards in quarantine, including those found by earlier processes.
    damaged: Vec<ShardInfo>,
    fair_komi: FairKomi,
    parent: Option<String>,
    checkpointed: Instant,
    /// Whether the warning about an oversized window was printed.
    warned: bool,
    /// Whether the last step completed. A step that diverged or panicked leaves unusable weights.
    sound: bool,
}

impl Training {
    /// Resumes from the store's newest checkpoint, or starts with the weights of the first model. Also returns the cost
    /// so far.
    pub fn resume(run: &Opened) -> anyhow::Result<(Training, Ledger)> {
        let (store, config, device) = (&run.store, &run.config, run.options.device);
        let checkpoint = store.checkpoints().latest()?;
        let (trainer, ledger) = match &checkpoint {
            Some((step, files)) => restore(config, device, files)
                .with_context(|| format!("cannot resume from checkpoint {step} of {}", store.location()))?,
            None => {
                let trainer = Trainer::new(&config.network, config.training.clone(), device, config.seed)?;
                (trainer, Ledger::default())
            }
        };
        let kept = checkpoint.as_ref().and_then(|(_, files)| files.get(CONFIG_FILE));
        let earlier_config = match kept {
            Some(bytes) => toml::from_slice(bytes).ok(),
            None => store
                .run_info()?
                .and_then(|run| serde_json::from_value(run.config).ok()),
        };
        let ranks = run.ranks.clone();
        let listing = listing(store, ranks.as_deref())?;
        let mut training = Training {
            store: store.clone(),
            config: config.clone(),
            run_id: run.run_id.clone(),
            earlier_config,
            watch: Arc::clone(&run.watch),
            ranks,
            trainer,
            device,
            source: SampleSource::for_store(store, config.samples.clone())
                .holding_out(config.loop_config.held_out)
                .with_replies(config.network.reply_head),
            random: random_games(&config.sizes()?, config.rules, config.seed)?,
            shards: Vec::new(),
            window: Window::select(&[], config.window),
            positions: listing.pruned.positions,
            games: listing.pruned.games,
            pruned_positions: listing.pruned.positions,
            damaged: listing.damaged,
            fair_komi: FairKomi::new(),
            parent: store.models().list()?.pop().map(|model| model.to_string()),
            checkpointed: Instant::now(),
            warned: false,
            sound: true,
        };
        training.take_in(listing.shards)?;
        if let Some(ranks) = training.ranks.clone() {
            let joined = training.trainer.join(Arc::clone(&ranks.group));
            joined.map_err(|error| ranks.explained(error, training.steps()))?;
        }
        Ok((training, ledger))
    }

    /// Takes in new shards: advances the window, then reads and checks its games. The store quarantines damaged shards,
    /// and the log names them.
    ///
    /// # Errors
    /// If the store fails, or if more than 1% of the window's shards, and more than one, are damaged.
    pub fn take_in(&mut self, shards: Vec<ShardInfo>) -> anyhow::Result<()> {
        if shards.is_empty() {
            return Ok(());
        }
        self.positions += shards.iter().map(ShardInfo::positions).sum::<u64>();
        self.games += shards.iter().map(ShardInfo::games).sum::<u64>();
        self.shards.extend(shards);
        self.window = Window::select_after(self.pruned_positions, &self.shards, self.config.window);
        let fair_komi = &mut self.fair_komi;
        let mut reading = Reading::new(
            &*self.watch,
            self.window.positions.saturating_sub(self.source.positions()),
        );
        let load = self.source.load_window(&self.store, &self.window, |games| {
            for game in games {
                fair_komi.observe(game, FairKomi::USUAL_RATE);
                reading.add(game.plies.len() as u64);
            }
        })?;
        reading.finish();
        if load.left_out > 0 && !self.warned {
            self.warned = true;
            tracing::warn!(
                "the oldest {} of the window's {} positions do not fit: increase samples.max_positions or, with \
                 samples.cache = \"memory\", samples.cache_bytes",
                load.left_out,
                self.window.positions
            );
        }
        for (path, reason) in load.quarantined {
            tracing::warn!("{path} is damaged and was quarantined: {reason}");
            let (bad, good) = std::mem::take(&mut self.shards)
                .into_iter()
                .partition(|shard| shard.path == path);
            self.shards = good;
            self.damaged.extend::<Vec<_>>(bad);
        }
        self.window.check_damage(&self.damaged).with_context(|| {
            format!(
                "training cannot continue; run `tengen data verify {}` for details",
                self.store.location()
            )
        })
    }

    /// Whether the store's games allow one more step at the reuse ratio.
    pub fn may_step(&self) -> bool {
        self.may_make(1)
    }

    /// Whether the store's games allow this many more steps at the reuse ratio.
    pub(crate) fn may_make(&self, steps: u64) -> bool {
        let samples = steps * self.config.training.batch as u64;
        self.positions >= self.config.loop_config.start_positions.max(1)
            && self.source.positions() > 0
            && (self.trained() + samples) as f64 <= self.positions as f64 * self.config.loop_config.reuse
    }

    /// Goes on with a larger network if the configuration asks for one from here on.
    fn grow_if_due(&mut self) -> anyhow::Result<()> {
        let (from, into) = (self.trainer.network(), self.config.network_at(self.positions));
        if !from.can_grow_into(&into) {
            return Ok(());
        }
        let message = format!(
            "the network grows from {} to {} after {} positions",
            from.name(),
            into.name(),
            self.positions
        );
        let seed = rng::fold(self.config.seed, &[into.blocks as u64, into.channels as u64]);
        self.trainer = self.trainer.grown(&into, self.device, seed)?;
        if self.ranks.as_ref().is_none_or(|ranks| ranks.is_first()) {
            self.watch.say(&message);
        }
        Ok(())
    }

    /// What this process says to the others with its next step, if it does not train alone.
    pub(crate) fn say(&mut self, word: Word) {
        self.trainer.say(word);
    }

    /// What some process has said with the last step.
    pub(crate) fn heard(&self) -> Word {
        self.trainer.heard()
    }

    /// Draws a batch from the window and trains on it. `ledger` is the cost of the run so far. Processes that train
    /// together train on a part of the batch each.
    pub fn step(&mut self, ledger: &Ledger) -> anyhow::Result<Losses> {
        self.grow_if_due()?;
        let spent = self.config.budget.spent(ledger, self.games, self.steps());
        self.trainer.set_budget_spent(spent);
        let seed = rng::fold(self.config.seed, &[self.trainer.steps()]);
        let part = match &self.ranks {
            Some(ranks) => ranks.part(self.config.training.batch),
            None => 0..self.config.training.batch,
        };
        let samples = self.source.draw_part(part, seed, self.config.loop_config.symmetry);
        let samples = samples.context("the window has no positions to train on")?;
        let batch = self.trainer.batch(&samples);
        self.sound = false;
        let losses = self.trainer.step(&batch);
        self.sound = !matches!(losses, Err(TrainerError::Diverged { .. }));
        match &self.ranks {
            Some(ranks) => losses.map_err(|error| ranks.explained(error, self.trainer.steps())),
            None => Ok(losses?),
        }
    }

    /// Compares the network's predictions on held-out games with those on the window, if that is due after the last
    /// step. `None` if it is not, or if the window has no held-out games.
    pub(crate) fn validate_if_due(&mut self) -> anyhow::Result<Option<Comparison>> {
        let (step, settings) = (self.trainer.steps(), &self.config.loop_config);
        if !step.is_multiple_of(settings.validate_every_steps) {
            return Ok(None);
        }
        let seed = |of| rng::fold(self.config.seed, &[step, of]);
        let held_out = self.source.draw_held_out(SAMPLES, seed(1), settings.symmetry);
        let window = self.source.draw_samples(SAMPLES, seed(2), settings.symmetry);
        let Some((held_out, window)) = held_out.zip(window) else {
            return Ok(None);
        };
        let random = match self.random.draw_samples(RANDOM_SAMPLES, seed(3), settings.symmetry) {
            Some(random) => self.trainer.validate(&self.trainer.batch(&random))?.brier,
            None => f64::NAN,
        };
        let (held_out, window) = (self.trainer.batch(&held_out), self.trainer.batch(&window));
        Ok(Some(Comparison {
            step,
            held_out: self.trainer.validate(&held_out)?,
            window: self.trainer.validate(&window)?,
            random_brier: random,
            games: self.source.held_out_games(),
            positions: self.source.held_out_positions(),
        }))
    }

    /// Checks the store for games that others have published, merged or pruned, and updates the window.
    ///
    /// # Errors
    /// See [`Training::take_in`].
    pub fn look(&mut self) -> anyhow::Result<()> {
        let listing = listing(&self.store, self.ranks.as_deref())?;
        if listing.shards == self.shards {
            return Ok(());
        }
        self.positions = listing.pruned.positions;
        self.games = listing.pruned.games;
        self.pruned_positions = listing.pruned.positions;
        self.damaged = listing.damaged;
        self.shards.clear();
        self.take_in(listing.shards)
    }

    /// The settings in which this start differs from the one before it, such as `training.learning_rate 0.003 ->
    /// 0.002`.
    pub fn changed_settings(&self) -> anyhow::Result<Vec<String>> {
        match &self.earlier_config {
            Some(earlier) => self.config.changes_since(earlier),
            None => Ok(Vec::new()),
        }
    }

    /// Tells the user which settings changed since the last start, if any did.
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

    /// Whether the store still has too few positions for the first step.
    pub(crate) fn has_too_few_positions(&self) -> bool {
        self.positions < self.config.loop_config.start_positions.max(1)
    }

    /// The network in training, which may have grown.
    pub fn network(&self) -> &NetworkConfig {
        self.trainer.network()
    }

    /// The number format of the network's tower in training.
    pub fn precision(&self) -> Precision {
        self.trainer.precision()
    }

    /// Training steps since the run began.
    pub fn steps(&self) -> u64 {
        self.trainer.steps()
    }

    /// Samples trained on since the run began.
    pub fn trained(&self) -> u64 {
        self.trainer.samples()
    }

    /// Positions of all shards taken in.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Games of all shards taken in.
    pub fn games(&self) -> u64 {
        self.games
    }

    /// Number of positions in the training window.
    pub fn window_positions(&self) -> u64 {
        self.window.positions
    }

    /// The komi at which games are even, estimated from the games seen.
    pub fn fair_komi(&self) -> &FairKomi {
        &self.fair_komi
    }

    /// The averaged weights, which self-play and models use.
    pub fn weights(&self) -> Weights {
        self.trainer.ema_weights()
    }

    /// Publishes the averaged weights as the model of a generation.
    pub fn publish(&mut self, generation: u32, ledger: &Ledger) -> anyhow::Result<(ModelId, Weights)> {
        let weights = self.weights();
        let mut model = Model::new(weights.clone());
        model.info.provenance = Provenance {
            run_id: self.run_id.clone(),
            step: self.steps(),
            parent: self.parent.clone(),
        };
        model.info.cost = CostLedger {
            games: self.games(),
            positions: self.positions,
            evaluations: ledger.evaluations,
            cpu_seconds: ledger.cpu_seconds,
            gpu_seconds: ledger.gpu_seconds,
        };
        model.info.rules = Some(self.config.rules.to_string());
        for size in self.config.sizes()? {
            let half_points = (self.fair_komi.of(size) * 2.0).round() as i16;
            model.info.set_fair_komi(size, Komi::from_half_points(half_points));
        }
        let id = publish_model(&self.store, generation, &model)?;
        self.parent = Some(id.to_string());
        Ok((id, weights))
    }

    /// Writes a checkpoint if the last one is old enough.
    pub fn checkpoint_if_due(&mut self, ledger: impl FnOnce() -> Ledger) -> anyhow::Result<()> {
        match self.checkpointed.elapsed() >= Duration::from_secs_f64(self.config.loop_config.checkpoint_seconds) {
            true => self.checkpoint(&ledger()),
            false => Ok(()),
        }
    }

    /// Writes a checkpoint at the end of a process, whatever ended it.
    ///
    /// # Errors
    /// If the store fails, or if the last step left unusable weights. The next start then resumes from the previous
    /// checkpoint.
    pub fn last_checkpoint(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.sound,
            "the last step left unusable weights, so the previous checkpoint remains the newest"
        );
        self.checkpoint(ledger)
    }

    /// Writes a checkpoint now and deletes old ones.
    fn checkpoint(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        let mut files: CheckpointFiles = self
            .trainer
            .checkpoint()
            .into_iter()
            .map(|(name, bytes)| (name, bytes.into()))
            .collect();
        files.insert(LEDGER_FILE.to_owned(), serde_json::to_vec_pretty(ledger)?.into());
        files.insert(CONFIG_FILE.to_owned(), toml::to_string(&self.config)?.into());
        self.store.checkpoints().put(self.steps(), &files)?;
        self.store
            .checkpoints()
            .prune(self.config.loop_config.checkpoints_kept)?;
        self.checkpointed = Instant::now();
        tracing::info!("checkpoint at step {}", self.steps());
        Ok(())
    }
}

/// Shows the progress of reading games if there is much to read.
struct Reading<'a> {
    watch: &'a dyn Watch,
    done: u64,
    /// Positions to read; 0 if reading them takes too little time to show.
    all: u64,
}

impl Reading<'_> {
    fn new(watch: &dyn Watch, positions: u64) -> Reading<'_> {
        let all = if positions < MANY_POSITIONS { 0 } else { positions };
        Reading { watch, done: 0, all }
    }

    fn add(&mut self, positions: u64) {
        self.done = (self.done + positions).min(self.all.saturating_sub(1));
        if self.all > 0 {
            self.watch.reading(self.done, self.all);
        }
    }

    fn finish(self) {
        if self.all > 0 {
            self.watch.reading(self.all, self.all);
        }
    }
}

/// The games of self-play: those that rank 0 sees, so that processes that train together draw from the same window.
fn listing(store: &Store, ranks: Option<&Ranks>) -> anyhow::Result<GamesListing> {
    let list = || Ok(store.games().list(&GamesOf::SelfPlay)?);
    let Some(ranks) = ranks else { return list() };
    let bytes = match ranks.is_first() {
        true => list()?.to_bytes(),
        false => Vec::new(),
    };
    let bytes = ranks.bytes_from_first(&bytes)?;
    GamesListing::from_bytes(&bytes).context("rank 0 runs another version of Tengen: start the same one everywhere")
}

fn restore(config: &RunConfig, device: DeviceChoice, files: &CheckpointFiles) -> anyhow::Result<(Trainer, Ledger)> {
    let trainer = Trainer::restore(files, Some(config.training.clone()), device)?;
    let ledger = files
        .get(LEDGER_FILE)
        .with_context(|| format!("the checkpoint has no {LEDGER_FILE}"))?;
    Ok((trainer, serde_json::from_slice(ledger)?))
}
