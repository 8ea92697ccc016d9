//! The trainer's side of the loop: takes in new shards, keeps the reuse ratio, provides weights, publishes models and
//! writes checkpoints.

mod costs;
mod publish;
mod resume;

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use tengen_config::{Ledger, RunConfig};
use tengen_health::{Comparison, RandomGames};
use tengen_model::NetworkConfig;
use tengen_network::{DeviceChoice, Precision};
use tengen_reanalysis::Refreshed;
use tengen_records::GameRecord;
use tengen_report::counted;
use tengen_rng as rng;
use tengen_rules::Size;
use tengen_samples::{Loader, ReadShard, SampleSource, Window};
use tengen_selfplay::FairKomi;
use tengen_store::{GamesListing, GamesOf, ShardInfo, Store};
use tengen_trainer::{Losses, Trainer, TrainerError, Word};

pub(crate) use costs::Costs;
pub(crate) use resume::costs_so_far;

use crate::ranks::Ranks;
use crate::watch::Watch;

/// Positions per validation from held-out games and from the window, and from random games.
const SAMPLES: usize = 512;
const RANDOM_SAMPLES: usize = 128;

/// From this number of positions on, reading them takes long enough to show progress.
const MANY_POSITIONS: u64 = 1_000_000;

/// Whether a checkpoint may become the newest; the error says why not.
pub type Guard = Box<dyn Fn() -> anyhow::Result<()> + Send>;

/// The trainer and the games it learns from.
pub struct Training {
    store: Store,
    config: RunConfig,
    /// The configuration as it was given, with every `auto` in it.
    given: RunConfig,
    run_id: String,
    /// The configuration as of the checkpoint, or of the start of the run.
    earlier_config: Option<RunConfig>,
    watch: Arc<dyn Watch>,
    /// The processes that train together, if this one does not train alone.
    ranks: Option<Arc<Ranks>>,
    trainer: Trainer,
    device: DeviceChoice,
    source: SampleSource,
    /// Reads the shards that were offered.
    loader: Loader,
    /// Reanalyzed games, if reanalysis is on.
    refreshed: Option<Refreshed>,
    /// The ends of random games, which the network should be able to judge.
    random: RandomGames,
    shards: Vec<ShardInfo>,
    window: Window,
    /// Positions and games of all shards taken in, and of the pruned ones, without the damaged ones.
    positions: u64,
    games: u64,
    /// Positions for which no training is owed, because the window had none to train on when they were taken in.
    /// Otherwise, the next game with a result would be trained on over and over.
    unowed: u64,
    /// Shards in quarantine, including those found by earlier processes.
    damaged: Vec<ShardInfo>,
    /// The komi that the network considers fair on each board; for boards no longer played, its last answer.
    fair_komi: FairKomi,
    /// The step from which on it is asked again.
    ask_again_at: u64,
    parent: Option<String>,
    checkpointed: Instant,
    /// The step of the last checkpoint that this process wrote.
    saved: Option<u64>,
    /// Asked before a checkpoint becomes the newest.
    guard: Option<Guard>,
    /// Whether the warning about an oversized window was printed.
    warned: bool,
    /// Whether the weights are usable: not after a step that diverged or panicked.
    sound: bool,
    /// Losses that have not been returned yet, oldest first.
    losses: Vec<Losses>,
}

impl Training {
    /// Takes in new shards: advances the window, then reads and checks its games. The store quarantines damaged shards,
    /// and the log names them.
    ///
    /// # Errors
    /// If the store fails, or if more than 1% of the window's shards, and more than one, are damaged.
    pub fn take_in(&mut self, shards: Vec<ShardInfo>) -> anyhow::Result<()> {
        self.loader.skip(&shards);
        if shards.is_empty() {
            Ok(())
        } else {
            self.hold(shards, Vec::new())
        }
    }

    /// Hands shards to the threads that read and check games; ignores those that were offered or taken in before. Never
    /// waits.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn offer(&mut self, shards: Vec<ShardInfo>) -> anyhow::Result<()> {
        Ok(shards.into_iter().try_for_each(|shard| self.loader.offer(shard))?)
    }

    /// [`Training::offer`] for shards of reanalyzed games, which count as neither games nor positions of the run.
    ///
    /// # Errors
    /// As [`Training::offer`].
    pub fn offer_reanalyzed(&mut self, shards: impl IntoIterator<Item = ShardInfo>) -> anyhow::Result<()> {
        let Some(refreshed) = &mut self.refreshed else {
            return Ok(());
        };
        Ok(shards.into_iter().try_for_each(|shard| refreshed.offer(shard))?)
    }

    /// Takes in the offered shards that are ready, in the order in which they were offered. Until then, neither their
    /// positions nor their games count. Never waits for a shard.
    ///
    /// # Errors
    /// As [`Training::take_in`].
    pub fn admit_ready(&mut self) -> anyhow::Result<()> {
        if let Some(refreshed) = &mut self.refreshed {
            refreshed.admit_ready(self.window.positions)?;
        }
        let ready = self.loader.take_ready()?;
        if ready.is_empty() {
            return Ok(());
        }
        let (good, others): (Vec<_>, Vec<_>) = ready.into_iter().partition(ReadShard::has_games);
        for shard in others {
            if let Some(reason) = shard.damage() {
                self.set_aside(shard.info().clone(), reason);
            }
        }
        self.hold(good.iter().map(|shard| shard.info().clone()).collect(), good)
    }

    /// Adds shards, some of which may have been read already, advances the window, and reads what it lacks.
    fn hold(&mut self, shards: Vec<ShardInfo>, ready: Vec<ReadShard>) -> anyhow::Result<()> {
        self.count(&shards);
        self.shards.extend(shards);
        self.window = Window::select_of(self.positions, &self.shards, self.config.window);
        let watch = &self.watch;
        let (all, mut done) = (self.window.positions.saturating_sub(self.source.positions()), 0);
        let show = |done| {
            if all >= MANY_POSITIONS {
                watch.reading(done, all)
            }
        };
        let see = |shard: &ShardInfo, _: &[GameRecord]| {
            done += shard.positions();
            show(done.min(all.saturating_sub(1)));
        };
        let load = self.source.load_window_with(ready, &self.store, &self.window, see)?;
        show(all);
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
            let place = self.shards.iter().position(|shard| shard.path == path);
            let shard = self
                .shards
                .remove(place.context("a damaged shard comes from the window")?);
            self.positions -= shard.positions();
            self.games -= shard.games();
            self.set_aside(shard, &reason);
        }
        if self.lacks_results() {
            self.unowed = self.positions.saturating_sub(self.used());
        }
        self.window.check_damage(&self.damaged).with_context(|| {
            format!(
                "training cannot continue; run `tengen data verify {}` for details",
                self.store.location()
            )
        })
    }

    /// Adds shards to the totals.
    fn count(&mut self, shards: &[ShardInfo]) {
        self.positions += shards.iter().map(ShardInfo::positions).sum::<u64>();
        self.games += shards.iter().map(ShardInfo::games).sum::<u64>();
    }

    fn set_aside(&mut self, shard: ShardInfo, reason: &str) {
        tracing::warn!("{} is damaged and was quarantined: {reason}", shard.path);
        self.damaged.push(shard);
    }

    /// Whether the store's games allow one more step at the reuse ratio.
    pub fn may_step(&self) -> bool {
        self.may_make(1)
    }

    /// Whether the store's games allow this many more steps at the reuse ratio.
    pub fn may_make(&self, steps: u64) -> bool {
        let samples = steps * self.config.training.batch as u64;
        let owed = self.positions.saturating_sub(self.unowed);
        !self.has_too_few_positions()
            && self.source.positions() > 0
            && (self.trained() + samples) as f64 <= owed as f64 * self.reuse()
    }

    /// Whether there are enough positions to train on, but none of the window belongs to a game with a result.
    pub fn lacks_results(&self) -> bool {
        !self.has_too_few_positions() && self.window.positions > 0 && self.source.positions() == 0
    }

    /// Samples trained on per position of self-play: `loop.reuse`, scaled up by those drawn from reanalyzed games.
    fn reuse(&self) -> f64 {
        self.config.loop_config.reuse * self.config.reanalysis.draws()
    }

    /// Positions of self-play that the samples trained on stand for.
    fn used(&self) -> u64 {
        (self.trained() as f64 / self.reuse()) as u64
    }

    /// Switches to a larger network if the configuration calls for one at this point.
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
        self.wait()?;
        let seed = rng::fold(self.config.seed, &[into.blocks as u64, into.channels as u64]);
        self.trainer = self.trainer.grown(&into, self.device, seed)?;
        if self.ranks.as_ref().is_none_or(|ranks| ranks.is_first()) {
            self.watch.say(&message);
        }
        Ok(())
    }

    /// Sets the word that this process sends to the others with its next step, if it does not train alone.
    pub fn say(&mut self, word: Word) {
        self.trainer.say(word);
    }

    /// The combined word of all processes from the last step.
    pub fn heard(&self) -> Word {
        self.trainer.heard()
    }

    /// Draws a batch from the window and trains on it. `ledger` is the cost of the run so far. When several processes
    /// train together, each trains on its part of the batch.
    ///
    /// Returns the losses that have become known since the last call, oldest first: on the CPU, those of this step; on
    /// a GPU, which is not waited for, those of earlier steps.
    pub fn step(&mut self, ledger: &Ledger) -> anyhow::Result<Vec<Losses>> {
        self.grow_if_due()?;
        let spent = self.config.budget.spent(ledger, self.games, self.steps());
        self.trainer.set_budget_spent(spent);
        let seed = rng::fold(self.config.seed, &[self.trainer.steps()]);
        let part = match &self.ranks {
            Some(ranks) => ranks.part(self.config.training.batch),
            None => 0..self.config.training.batch,
        };
        let symmetry = self.config.loop_config.symmetry_at(spent);
        let old = match &self.refreshed {
            Some(refreshed) => refreshed.draw(part.len(), rng::fold(seed, &[1]), symmetry),
            None => Vec::new(),
        };
        let samples = self.source.draw_part(part.start..part.end - old.len(), seed, symmetry);
        let mut samples = samples.context("the window has no positions to train on")?;
        samples.extend(old);
        let batch = self.trainer.batch(&samples);
        self.sound = false;
        let losses = self.trainer.advance(&batch);
        let losses = self.judged(losses)?;
        self.losses.extend(losses);
        Ok(std::mem::take(&mut self.losses))
    }

    /// Waits until all steps are done, and returns the losses that [`Training::step`] has not returned yet.
    ///
    /// # Errors
    /// If one of the steps diverged or a GPU failed.
    pub fn settle(&mut self) -> anyhow::Result<Vec<Losses>> {
        self.wait()?;
        Ok(std::mem::take(&mut self.losses))
    }

    /// Waits until all steps are done. Call it before using the weights for anything that lasts.
    fn wait(&mut self) -> anyhow::Result<()> {
        let settled = self.trainer.settle();
        let losses = self.judged(settled)?;
        self.losses.extend(losses);
        Ok(())
    }

    /// Records whether steps have left usable weights.
    fn judged<T>(&mut self, steps: Result<T, TrainerError>) -> anyhow::Result<T> {
        self.sound = !matches!(steps, Err(TrainerError::Diverged { .. }));
        match &self.ranks {
            Some(ranks) => steps.map_err(|error| ranks.explained(error, self.trainer.steps())),
            None => Ok(steps?),
        }
    }

    /// Compares the network's predictions on held-out games with those on the window, if that is due after the last
    /// step. `None` if it is not, or if the window has no held-out games.
    pub fn validate_if_due(&mut self) -> anyhow::Result<Option<Comparison>> {
        let (step, settings) = (self.trainer.steps(), &self.config.loop_config);
        if !step.is_multiple_of(settings.validate_every_steps) {
            return Ok(None);
        }
        self.wait()?;
        // The image of the end of the run, from the beginning, so that the losses can be compared.
        let symmetry = self.config.loop_config.symmetry_at(1.0);
        let seed = |of| rng::fold(self.config.seed, &[step, of]);
        let held_out = self.source.draw_held_out(SAMPLES, seed(1), symmetry);
        let window = self.source.draw_samples(SAMPLES, seed(2), symmetry);
        let Some((held_out, window)) = held_out.zip(window) else {
            return Ok(None);
        };
        let boards = self.config.selfplay.boards.iter();
        let played: Vec<Size> = boards
            .filter(|board| board.is_played_at(self.positions))
            .filter_map(|board| board.size.parse().ok())
            .collect();
        let random = self.random.draw(&played, RANDOM_SAMPLES, seed(3), symmetry);
        let random = match random.is_empty() {
            true => f64::NAN,
            false => self.trainer.validate(&self.trainer.batch(&random))?.brier,
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

    /// Takes in new shards on all ranks: those that rank 0 passes in.
    ///
    /// # Errors
    /// See [`Training::take_in`].
    pub fn take_in_together(&mut self, shards: Vec<ShardInfo>) -> anyhow::Result<()> {
        let Some(ranks) = self.ranks.clone() else {
            return self.take_in(shards);
        };
        let mut listing = GamesListing::default();
        listing.shards = shards;
        self.take_in(agreed(&ranks, || Ok(listing))?.shards)
    }

    /// The shards that were taken in, oldest first.
    pub fn shards(&self) -> &[ShardInfo] {
        &self.shards
    }

    /// The shards of the training window, oldest first.
    pub fn window(&self) -> &[ShardInfo] {
        &self.window.shards
    }

    /// Number of positions that self-play may generate beyond those of the shards offered or taken in.
    pub fn lead(&self) -> u64 {
        let settings = &self.config.loop_config;
        let used = self.unowed + self.used();
        // With less than the positions of a step, some of which wait to be published, the trainer and self-play would
        // wait for each other.
        let step = (self.config.training.batch as f64 / self.reuse()).ceil() as u64;
        let lead = settings.lead_positions.max(step.saturating_add(step / 4));
        (used.max(settings.start_positions).saturating_add(lead)).saturating_sub(self.offered_positions())
    }

    /// A published model as an event for the run's metrics.
    pub fn model_event(&self, id: &str, ledger: &Ledger) -> tengen_metrics::Model {
        tengen_metrics::Model {
            model_id: id.to_owned(),
            step: self.steps(),
            games: self.games,
            positions: self.positions,
            evaluations: ledger.evaluations,
            cpu_seconds: ledger.cpu_seconds,
            elo: None,
        }
    }

    /// Whether the store still has too few positions for the first step.
    fn has_too_few_positions(&self) -> bool {
        self.positions < self.config.loop_config.start_positions.max(1)
    }

    /// What has to be played before the next step, if the positions played so far are not enough to train on.
    pub(crate) fn awaits(&self) -> Option<String> {
        match self.has_too_few_positions() {
            true => Some(counted(self.config.loop_config.start_positions, "position")),
            false => self.lacks_results().then(|| "a game with a result".to_owned()),
        }
    }

    /// The network in training, which may have grown.
    pub fn network(&self) -> &NetworkConfig {
        self.trainer.network()
    }

    /// The number format of the network's tower in training.
    pub fn precision(&self) -> Precision {
        self.trainer.precision()
    }

    /// The trainer's device and number format, as text.
    pub fn device_in_words(&self) -> String {
        self.trainer.device_in_words()
    }

    /// Training steps since the run began.
    pub fn steps(&self) -> u64 {
        self.trainer.steps()
    }

    /// The share of the budget that was spent at the last step, or where the run was resumed.
    pub fn spent(&self) -> f64 {
        self.trainer.budget_spent()
    }

    /// Samples trained on since the run began.
    pub fn trained(&self) -> u64 {
        self.trainer.samples()
    }

    /// Positions of all shards offered or taken in.
    pub(crate) fn offered_positions(&self) -> u64 {
        self.positions + self.loader.positions()
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

    /// Positions of the reanalyzed games to draw from.
    pub fn reanalyzed_positions(&self) -> u64 {
        self.refreshed.as_ref().map_or(0, Refreshed::positions)
    }

    /// The komi at which games are even, as last judged by the averaged weights or, after a resume, as stated by the
    /// newest model; 0 if unknown.
    pub fn fair_komi(&self) -> &FairKomi {
        &self.fair_komi
    }
}

/// The self-play games that rank 0 sees, so that processes that train together draw from the same window.
fn listing(store: &Store, ranks: Option<&Ranks>) -> anyhow::Result<GamesListing> {
    let list = || Ok(store.games().list(&GamesOf::SelfPlay)?);
    ranks.map_or_else(list, |ranks| agreed(ranks, list))
}

/// Broadcasts the listing of rank 0.
fn agreed(ranks: &Ranks, own: impl FnOnce() -> anyhow::Result<GamesListing>) -> anyhow::Result<GamesListing> {
    let bytes = match ranks.is_first() {
        true => own()?.to_bytes(),
        false => Vec::new(),
    };
    let bytes = ranks.bytes_from_first(&bytes)?;
    GamesListing::from_bytes(&bytes).context("rank 0 runs another version of Tengen: start the same one everywhere")
}
