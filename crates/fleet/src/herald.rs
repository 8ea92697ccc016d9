//! The trainer's link to the other processes, in a thread of its own so that training never waits for the store:
//! publishes the notice and the weights that workers follow, and finds new games, workers, and champions.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use crossbeam_channel::{Receiver, Sender};

use tengen_model::{Weights, sha256_hex};
use tengen_report::counted;
use tengen_report::notices::{GATE, GateSays, Notice, Taken, TrainerSays, WEIGHTS, WeightsPlace};
use tengen_run::{GpuMeter, Opened, Training, Watch};
use tengen_selfplay::catch_panic;
use tengen_store::{CompactSettings, ShardInfo, Store};

use crate::lease::Lease;
use crate::scout::Scout;
use crate::workers::{Effort, Workers};

/// How often to check whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// How often to read what workers have spent.
const COSTS_EVERY: Duration = Duration::from_secs(30);

/// Number of published weights files to keep: workers may still be reading the older ones.
const WEIGHTS_KEPT: usize = 3;

/// Target size of merged shards, in bytes.
const MERGED_BYTES: u64 = 8 << 20;

/// The trainer's side of the herald.
pub(crate) struct Herald {
    board: Arc<Board>,
    fresh: Receiver<ShardInfo>,
    /// Positions of the shards that the trainer has received.
    received: Cell<u64>,
    thread: Option<JoinHandle<()>>,
}

/// What the trainer and the herald's thread share.
struct Board {
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The trainer's part of the notice.
    says: TrainerSays,
    /// Positions of the shards that the trainer has received and that its part of the notice accounts for.
    received: u64,
    /// Weights to publish for self-play, with their step.
    weights: Option<(u64, Weights)>,
    /// What workers have done.
    effort: Effort,
    /// Why the herald ended early.
    failure: Option<anyhow::Error>,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Herald {
    /// Starts the thread of a trainer that holds the lease; `before` is the previous trainer's last notice.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(
        run: &Opened,
        lease: Lease,
        before: Option<TrainerSays>,
        (training, generation, elapsed_seconds): (&Training, u32, f64),
    ) -> anyhow::Result<Herald> {
        let before = before.unwrap_or_default();
        let mut says = TrainerSays {
            device: training.device_in_words(),
            weights: before.weights,
            champion: None,
            finished: false,
            ..TrainerSays::default()
        };
        note(&mut says, training, generation, elapsed_seconds);
        let board = Arc::new(Board {
            stop: AtomicBool::new(false),
            state: Mutex::new(State {
                says: says.clone(),
                ..State::default()
            }),
        });
        let (sender, fresh) = crossbeam_channel::unbounded();
        let voice = Voice {
            store: run.store.clone(),
            watch: Arc::clone(&run.watch),
            board: Arc::clone(&board),
            lease,
            look_every: Duration::from_secs_f64(run.config.loop_config.look_seconds),
            merges: run.config.loop_config.merge_old_games,
            follows_gate: run.config.loop_config.stalled_visits > 0,
            scout: Scout::new(training.shards()),
            workers: Workers::after(before.retired, before.retiring),
            fresh: sender,
            sent: 0,
            kept: says.weights.iter().map(|place| place.path.clone()).collect(),
            says,
            costs_read: None,
            gpus: GpuMeter::default(),
        };
        let thread = std::thread::Builder::new().name("herald".to_owned());
        let thread = thread.spawn(move || voice.run())?;
        Ok(Herald {
            board,
            fresh,
            received: Cell::new(0),
            thread: Some(thread),
        })
    }

    /// Passes the progress of training to the herald.
    ///
    /// # Errors
    /// Why the herald ended, if it did: the store failed, or another trainer has taken over.
    pub(crate) fn tell(&self, training: &Training, generation: u32, elapsed_seconds: f64) -> anyhow::Result<()> {
        let mut state = self.board.state();
        note(&mut state.says, training, generation, elapsed_seconds);
        state.received = self.received.get();
        state.failure.take().map_or(Ok(()), Err)
    }

    /// Announces the newest model, for the gate to decide on.
    pub(crate) fn name_model(&self, id: &str) {
        self.board.state().says.newest_model = Some(id.to_owned());
    }

    /// Whether the last weights handed over have been published, so that the herald can take newer ones.
    pub(crate) fn wants_weights(&self) -> bool {
        self.board.state().weights.is_none()
    }

    /// Whether no weights are published, by this trainer or one before it.
    pub(crate) fn has_no_weights(&self) -> bool {
        self.board.state().says.weights.is_none()
    }

    /// Hands over weights for self-play.
    pub(crate) fn hand_over(&self, step: u64, weights: Weights) {
        self.board.state().weights = Some((step, weights));
    }

    /// The shards found since the last call, oldest first.
    pub(crate) fn fresh(&self) -> Vec<ShardInfo> {
        let fresh: Vec<_> = self.fresh.try_iter().collect();
        let positions: u64 = fresh.iter().map(ShardInfo::positions).sum();
        self.received.set(self.received.get() + positions);
        fresh
    }

    /// Whether there are new games.
    pub(crate) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// What all workers have done since the run began.
    pub(crate) fn effort(&self) -> Effort {
        self.board.state().effort
    }

    /// Ends the thread after a final notice, which says whether the run is finished.
    ///
    /// # Errors
    /// Why the herald ended early, if it did.
    pub(crate) fn end(mut self, finished: bool) -> anyhow::Result<()> {
        self.board.state().says.finished = finished;
        self.stop();
        self.board.state().failure.take().map_or(Ok(()), Err)
    }

    fn stop(&mut self) {
        self.board.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // The thread catches its own panics.
            thread.join().ok();
        }
    }
}

impl Drop for Herald {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Copies the progress of training into a notice.
fn note(says: &mut TrainerSays, training: &Training, generation: u32, elapsed_seconds: f64) {
    says.elapsed_seconds = elapsed_seconds;
    says.step = training.steps();
    says.samples = training.trained();
    says.games = training.games();
    says.positions = training.positions();
    says.spent = training.spent();
    says.room = training.lead();
    says.generation = generation;
    says.fair_komi = training.fair_komi().clone().into();
}

/// The herald's thread.
struct Voice {
    store: Store,
    watch: Arc<dyn Watch>,
    board: Arc<Board>,
    lease: Lease,
    look_every: Duration,
    merges: bool,
    follows_gate: bool,
    scout: Scout,
    workers: Workers,
    fresh: Sender<ShardInfo>,
    /// Positions of the shards sent to the trainer.
    sent: u64,
    /// The herald's part of the notice.
    says: TrainerSays,
    /// Published weights files, oldest first.
    kept: VecDeque<String>,
    costs_read: Option<Instant>,
    gpus: GpuMeter,
}

impl Voice {
    fn run(mut self) {
        let worked = match catch_panic(|| self.work()) {
            Ok(worked) => worked,
            Err(message) => Err(anyhow!("telling workers how far training is panicked: {message}")),
        };
        if let Err(error) = worked {
            self.board.state().failure = Some(error);
        }
    }

    fn work(&mut self) -> anyhow::Result<()> {
        self.delete_old_weights()?;
        loop {
            let began = Instant::now();
            let ending = self.board.stop.load(Ordering::SeqCst);
            if !ending {
                self.look()?;
            }
            self.publish_weights()?;
            self.write(ending)?;
            if ending {
                return Ok(());
            }
            while began.elapsed() < self.look_every && !self.board.stop.load(Ordering::SeqCst) {
                std::thread::sleep(TICK);
            }
        }
    }

    /// Polls the store for new games, champions, and workers.
    fn look(&mut self) -> anyhow::Result<()> {
        let generation = self.board.state().says.generation;
        let mut fresh = self.scout.look(&self.store, generation)?;
        if self.scout.is_thorough_look_due() {
            fresh.extend(self.scout.look_thoroughly(&self.store)?);
            self.merge_old_games(generation);
        }
        for shard in fresh {
            // If the trainer is gone, its next start finds the shard in the store.
            self.sent += shard.positions();
            self.fresh.send(shard).ok();
        }
        let number = self.says.champion.as_ref().map(|(number, _)| *number);
        let champion = match number {
            Some(number) => self.store.models().champion_after(number)?,
            None => self.store.models().champion()?,
        };
        if let Some((number, promotion)) = champion {
            self.says.champion = Some((number, promotion.model_id.to_string()));
        }
        self.workers.look(&self.store)?;
        if self.follows_gate
            && let Some(gate) = Notice::<GateSays>::read(&self.store, GATE)?
        {
            self.says.rejected = gate.says.rejected;
        }
        if is_due(self.costs_read, COSTS_EVERY) {
            self.costs_read = Some(Instant::now());
            // The sums from the last time are in the store by now.
            self.workers.forget(&self.store)?;
            self.workers.read(&self.store)?;
            self.workers.retire();
            self.board.state().effort = self.workers.effort();
        }
        Ok(())
    }

    /// Merges small shards of old generations in the background. Killing the process during a merge loses nothing.
    fn merge_old_games(&self, generation: u32) {
        if !self.merges {
            return;
        }
        let settings = CompactSettings {
            // Spare the newest generations: workers may still publish games in them.
            keep_positions: self.scout.positions_from(generation.saturating_sub(2)) + 1,
            target_bytes: MERGED_BYTES,
        };
        let (store, watch) = (self.store.clone(), Arc::clone(&self.watch));
        std::thread::spawn(move || match store.games().compact(settings, |_, _| {}) {
            Ok(report) if report.replaced.shards > 0 => tracing::info!(
                "merged {} into {}",
                counted(report.replaced.shards, "shard"),
                report.merged.shards
            ),
            Ok(_) => {}
            Err(error) => watch.say(&format!(
                "cannot merge old games: {error}; the next try is in ten minutes"
            )),
        });
    }

    /// Publishes the weights that the trainer has handed over.
    fn publish_weights(&mut self) -> anyhow::Result<()> {
        let Some((step, weights)) = self.board.state().weights.clone() else {
            return Ok(());
        };
        let bytes = weights.to_safetensors();
        let sha256 = sha256_hex(&bytes);
        let path = format!("{WEIGHTS}/{step:09}-{}.safetensors", &sha256[..16]);
        self.store.files().put_same(&path, bytes)?;
        if self.kept.back() != Some(&path) {
            self.kept.push_back(path.clone());
        }
        self.says.weights = Some(WeightsPlace { path, sha256, step });
        let mut state = self.board.state();
        state.says.weights.clone_from(&self.says.weights);
        state.weights = None;
        drop(state);
        while self.kept.len() > WEIGHTS_KEPT {
            if let Some(old) = self.kept.pop_front() {
                self.store.files().delete(&old)?;
            }
        }
        Ok(())
    }

    /// Deletes the weights left by earlier trainers, except for those that workers may be using.
    fn delete_old_weights(&mut self) -> anyhow::Result<()> {
        for (path, _) in self.store.files().list(WEIGHTS)? {
            if !self.kept.contains(&path) {
                self.store.files().delete(&path)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, ended: bool) -> anyhow::Result<()> {
        let (trainer, received) = {
            let state = self.board.state();
            (state.says.clone(), state.received)
        };
        let workers = self.workers.alive().map(|(name, silent)| {
            let taken = Taken {
                sequence: self.scout.sequence(name),
                silent_seconds: silent.as_secs_f64(),
            };
            (name.clone(), taken)
        });
        let says = TrainerSays {
            weights: self.says.weights.clone(),
            champion: self.says.champion.clone(),
            rejected: self.says.rejected,
            workers: workers.collect(),
            retired: self.workers.retired,
            retiring: self.workers.retiring.clone(),
            gpu_busy: self.gpus.busy(),
            operations: self.store.operations(),
            // The trainer has not received these games yet, but workers already count them as seen.
            room: trainer.room.saturating_sub(self.sent - received),
            ..trainer
        };
        self.lease.beat(&self.store, ended, says)
    }
}

fn is_due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= every)
}
