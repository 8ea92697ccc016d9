//! One process's part of a run: threads for self-play, publishing, training and the gate, until the budget is spent or
//! the user stops it.

use crate::interrupt::Interrupt;
use crate::output::say;
use crate::run::gating::{self, Candidate, Gating};
use crate::run::ledger::Clock;
use crate::run::publisher::Publisher;
use crate::run::screen::Screen;
use crate::run::status::Status;
use crate::run::training::Training;
use crate::run::{Opened, Outbox, selfplay};
use anyhow::Context;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use tengen_model::Weights;
use tengen_records::GameRecord;
use tengen_report::metrics::{self, Event, Measured, Metrics};
use tengen_report::{Refresh, write_report};
use tengen_selfplay::{FinishedGame, Generator};
use tengen_store::ShardInfo;

/// How often to draw the screen and check whether to stop.
const TICK: Duration = Duration::from_millis(100);
/// How often to record metrics.
const METRICS_EVERY: Duration = Duration::from_secs(5);
/// How often to rewrite the report.
const REPORT_EVERY: Duration = Duration::from_secs(60);
/// How long the trainer sleeps while it waits for games.
const TRAINER_NAP: Duration = Duration::from_millis(20);

/// State shared by the threads.
struct Shared<'a> {
    run: &'a Opened,
    generator: &'a Generator,
    clock: &'a Clock,
    metrics: &'a Metrics,
    status: &'a Mutex<Status>,
    stop: AtomicBool,
    /// Generation of the newest model.
    generation: AtomicU32,
    /// Searched positions of the games published by this process, counted as the generator counts them.
    published: AtomicU64,
}

/// Runs until the budget is spent (true) or an interrupt arrives (false).
pub(crate) fn work(run: &Opened, interrupt: &Interrupt) -> anyhow::Result<bool> {
    let mut outbox = run.outbox()?;
    // Publish shards left from the last start before the store is read.
    outbox.flush()?;
    let (mut training, before) = Training::resume(&run.store, &run.config, &run.run_id, run.options.device)?;
    let on_gpu = run.options.device.resolve()?.is_cuda();
    let budget = &run.config.budget;
    if budget.spent(&before, training.games(), training.steps()) >= 1.0 {
        return Ok(true);
    }
    let clock = Clock::start(before, on_gpu);
    let metrics = Metrics::open(&run.folder()?)?;
    let status = Mutex::new(Status::resumed(&training));
    let generation = run.store.models().list()?.last().map_or(0, |model| model.generation());
    let start_with = first_update(run, &training, generation)?;
    let generator = selfplay::start(run, start_with, training_lead(run, &training))?;
    let title = format!(
        "{} in {}, {} positions so far",
        run.config.name,
        run.store.location(),
        training.positions()
    );
    let mut screen = Screen::open(&title);
    let shared = Shared {
        run,
        generator: &generator,
        clock: &clock,
        metrics: &metrics,
        status: &status,
        stop: AtomicBool::new(false),
        generation: AtomicU32::new(generation),
        published: AtomicU64::new(0),
    };

    let ended = run_threads(&shared, training, outbox, &mut screen, interrupt);
    screen.close();
    // However the threads ended, publish the games played and save the training progress.
    let evaluations = generator.counters().evaluations;
    let stopped = generator.stop();
    let mut ends = ended?;
    training = ends.training;
    for game in stopped.games {
        ends.publisher.add(ends.generation, game.record);
    }
    let rest = ends.publisher.publish()?;
    if let Some(words) = ends.publisher.trouble() {
        say(format!("{words}; the next start publishes them"));
    }
    ends.unread.extend(rest);
    training.take_in(ends.unread)?;
    selfplay::keep_in_flight(run, &stopped.snapshot)?;
    training.checkpoint(&clock.read(evaluations))?;
    stopped.result?;
    Ok(ends.spent)
}

/// The state that the threads leave behind.
struct Ends {
    training: Training,
    publisher: Publisher,
    /// Shards published after the trainer's last look.
    unread: Vec<ShardInfo>,
    generation: u32,
    spent: bool,
}

fn run_threads(
    shared: &Shared<'_>,
    training: Training,
    outbox: Outbox,
    screen: &mut Screen,
    interrupt: &Interrupt,
) -> anyhow::Result<Ends> {
    let (to_trainer, shards) = crossbeam_channel::unbounded();
    let (to_gate, candidates) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        let publisher = spawn(scope, shared, "publisher", || publish(shared, outbox, &to_trainer));
        let trainer = spawn(scope, shared, "trainer", || train(shared, training, &shards, &to_gate));
        let gate = spawn(scope, shared, "gate", || gate(shared, &candidates));
        let reporter = spawn(scope, shared, "reporter", || report(shared));
        let spent = watch(shared, screen, interrupt);
        shared.stop.store(true, Ordering::SeqCst);
        let (publisher, training, gate) = (join(publisher), join(trainer), join(gate));
        let (publisher, training, spent) = (publisher?, training?, spent?);
        gate?;
        join(reporter)?;
        let generation = shared.generation.load(Ordering::SeqCst);
        Ok(Ends {
            training,
            publisher,
            unread: shards.try_iter().collect(),
            generation,
            spent,
        })
    })
}

/// Starts a named thread; when it ends, for any reason, all threads stop.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    shared: &'scope Shared<'_>,
    name: &str,
    body: impl FnOnce() -> anyhow::Result<T> + Send + 'scope,
) -> ScopedJoinHandle<'scope, anyhow::Result<T>> {
    let stop_all = StopOnDrop(&shared.stop);
    let thread = std::thread::Builder::new().name(name.to_owned());
    let started = thread.spawn_scoped(scope, move || {
        let _stop_all = stop_all;
        body()
    });
    started.expect("the system can start a handful of threads")
}

/// Sets the stop flag when its thread ends, even by a panic.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn join<T>(thread: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    let name = thread.thread().name().unwrap_or("a thread").to_owned();
    match thread.join() {
        Ok(end) => end.with_context(|| format!("the {name} stopped")),
        Err(_) => anyhow::bail!("the {name} broke down; its message stands above"),
    }
}

impl Shared<'_> {
    fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn status(&self) -> std::sync::MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Records a measurement. A failure to write it does not end the run.
    fn record(&self, measured: Measured) {
        let elapsed = self.clock.read(0).elapsed_seconds;
        if let Err(error) = self.metrics.record(&Event::now(elapsed, measured)) {
            tracing::warn!("a measurement is lost: {error:#}");
        }
    }

    /// Lets self-play continue up to the allowed lead over the trainer.
    fn move_gate(&self, training: &Training) {
        let limit = self.published.load(Ordering::SeqCst) + training_lead(self.run, training);
        if limit != self.generator.lead().limit() {
            self.generator.lead().set_limit(limit);
        }
    }
}

/// Number of positions that self-play may generate beyond those in the store.
fn training_lead(run: &Opened, training: &Training) -> u64 {
    let pace = &run.config.pace;
    let used = (training.trained() as f64 / pace.reuse) as u64;
    (used.max(pace.start_positions) + pace.lead_positions).saturating_sub(training.positions())
}

/// The model that self-play starts with: the trainer's weights or the champion.
fn first_update(run: &Opened, training: &Training, generation: u32) -> anyhow::Result<tengen_selfplay::ModelUpdate> {
    let (weights, name) = match run.config.pace.champions_only {
        true => {
            let (_, champion) = run.store.models().champion()?.context("the store has no champion")?;
            (run.weights(&champion.model_id)?, champion.model_id.to_string())
        }
        false => (training.weights(), step_name(generation, training.steps())),
    };
    let visits = run.config.visits_at(training.positions());
    Ok(selfplay::update(
        weights,
        run.options,
        generation,
        name,
        visits,
        training.fair_komi().clone(),
    ))
}

/// The name of weights handed to self-play without being published as a model.
fn step_name(generation: u32, step: u64) -> String {
    format!("g{generation:06}-step{step}")
}

/// The publisher's thread.
fn publish(shared: &Shared<'_>, outbox: Outbox, to_trainer: &Sender<ShardInfo>) -> anyhow::Result<Publisher> {
    let games: &Receiver<FinishedGame> = shared.generator.games();
    let mut publisher = Publisher::new(outbox, &shared.run.config.pace);
    let mut searched = 0;
    while !shared.stopping() {
        match games.recv_timeout(publisher.patience().min(TICK)) {
            Ok(game) => {
                searched += searched_positions(&game.record);
                shared.status().add_game(&game.record);
                publisher.add(shared.generation.load(Ordering::SeqCst), game.record);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The workers stopped on their own; the join reports why.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let shards = publisher.publish_if_due()?;
        if publisher.is_safe() {
            let played = std::mem::take(&mut searched);
            shared.published.fetch_add(played, Ordering::SeqCst);
        }
        shared.status().trouble = publisher.trouble();
        for shard in shards {
            // If the trainer is gone, it finds the shard in the store at the next start.
            to_trainer.send(shard).ok();
        }
    }
    Ok(publisher)
}

/// The positions of a game that self-play's counters include.
fn searched_positions(game: &GameRecord) -> u64 {
    if game.is_finished() {
        (game.plies.len() - usize::from(game.opening_plies)) as u64
    } else {
        0
    }
}

/// The trainer's thread.
fn train(
    shared: &Shared<'_>,
    mut training: Training,
    shards: &Receiver<ShardInfo>,
    to_gate: &Sender<Candidate>,
) -> anyhow::Result<Training> {
    tengen_network::set_threads(shared.run.config.training.threads);
    let ledger = || shared.clock.read(shared.generator.counters().evaluations);
    while !shared.stopping() {
        training.take_in(shards.try_iter().collect())?;
        shared.move_gate(&training);
        let may_step = training.may_step();
        shared.status().trainer_waits = !may_step;
        if may_step {
            let losses = training.step()?;
            shared.status().add_step(&losses);
            after_step(shared, &mut training, to_gate)?;
        } else if let Ok(shard) = shards.recv_timeout(TRAINER_NAP) {
            training.take_in(vec![shard])?;
        }
        shared.status().note(&training);
        training.checkpoint_if_due(ledger)?;
    }
    Ok(training)
}

/// Hands weights to self-play and models to the gate when due.
fn after_step(shared: &Shared<'_>, training: &mut Training, to_gate: &Sender<Candidate>) -> anyhow::Result<()> {
    let pace = &shared.run.config.pace;
    let step = training.steps();
    if step.is_multiple_of(pace.candidate_every_steps) {
        let candidate = publish_candidate(shared, training)?;
        to_gate.send(candidate).ok();
    }
    if step.is_multiple_of(pace.weights_every_steps) && !pace.champions_only {
        let generation = shared.generation.load(Ordering::SeqCst);
        let visits = shared.run.config.visits_at(training.positions());
        let name = step_name(generation, step);
        let komi = training.fair_komi().clone();
        let update = selfplay::update(training.weights(), shared.run.options, generation, name, visits, komi);
        shared.generator.set_model(update);
    }
    Ok(())
}

fn publish_candidate(shared: &Shared<'_>, training: &mut Training) -> anyhow::Result<Candidate> {
    let generation = shared.generation.fetch_add(1, Ordering::SeqCst) + 1;
    let ledger = shared.clock.read(shared.generator.counters().evaluations);
    let (id, weights) = training.publish(generation, &ledger)?;
    shared.record(Measured::Model(metrics::Model {
        model_id: id.to_string(),
        step: training.steps(),
        games: training.games(),
        positions: training.positions(),
        evaluations: ledger.evaluations,
        cpu_seconds: ledger.cpu_seconds,
        elo: None,
    }));
    Ok(Candidate {
        id,
        weights: Some(weights),
    })
}

/// The gate's thread: always takes the newest candidate and skips older ones that arrived meanwhile.
fn gate(shared: &Shared<'_>, candidates: &Receiver<Candidate>) -> anyhow::Result<()> {
    let mut gating = Gating::new(shared.run);
    let mut next = gating::left_over(shared.run)?;
    while !shared.stopping() {
        next = candidates.try_iter().last().or(next);
        let Some(candidate) = next.take() else {
            next = candidates.recv_timeout(TICK).ok();
            continue;
        };
        let tell = |line: String| shared.status().gate = line;
        if let Some(settled) = gating.settle(&candidate, &tell, &|| shared.stopping())? {
            shared.status().gate = settled.in_words();
            shared.record(Measured::Gate(settled.event()));
            gating
                .ratings()?
                .into_iter()
                .for_each(|rating| shared.record(Measured::Rating(rating)));
            if shared.run.config.pace.champions_only && settled.promoted {
                follow_champion(shared, &candidate)?;
            }
        }
    }
    Ok(())
}

/// Switches self-play to the new champion.
fn follow_champion(shared: &Shared<'_>, champion: &Candidate) -> anyhow::Result<()> {
    let weights: Weights = match &champion.weights {
        Some(weights) => weights.clone(),
        None => shared.run.weights(&champion.id)?,
    };
    let (positions, komi) = {
        let status = shared.status();
        (status.positions, status.fair_komi.clone())
    };
    let visits = shared.run.config.visits_at(positions);
    let generation = shared.generation.load(Ordering::SeqCst);
    let update = selfplay::update(
        weights,
        shared.run.options,
        generation,
        champion.id.to_string(),
        visits,
        komi,
    );
    shared.generator.set_model(update);
    Ok(())
}

/// The reporter's thread: rewrites the report periodically. A page with many games takes seconds, but nothing waits for
/// it.
fn report(shared: &Shared<'_>) -> anyhow::Result<()> {
    let page = shared.run.folder()?.join("report.html");
    let refresh = Refresh::Every(REPORT_EVERY.as_secs() as u32);
    let mut written = Instant::now();
    while !shared.stopping() {
        std::thread::sleep(TICK);
        if written.elapsed() >= REPORT_EVERY {
            if let Err(error) = write_report(&shared.run.store, &page, refresh) {
                say(format!("the report could not be written: {error:#}"));
            }
            written = Instant::now();
        }
    }
    Ok(())
}

/// The main thread: draws the screen, records metrics and checks whether to stop. True when the budget is spent.
fn watch(shared: &Shared<'_>, screen: &mut Screen, interrupt: &Interrupt) -> anyhow::Result<bool> {
    let mut recorded = Instant::now();
    loop {
        std::thread::sleep(TICK);
        let counters = shared.generator.counters();
        let ledger = shared.clock.read(counters.evaluations);
        let spent = {
            let mut status = shared.status();
            status.measure(&counters, ledger);
            status.selfplay_waits = counters.positions >= shared.generator.lead().limit();
            let spent = shared.run.config.budget.spent(&ledger, status.games, status.steps);
            screen.show(&status.view(shared.run, spent));
            spent
        };
        if recorded.elapsed() >= METRICS_EVERY {
            recorded = Instant::now();
            let events = shared.status().take_events(shared.run);
            events.into_iter().for_each(|event| shared.record(event));
        }
        if spent >= 1.0 || interrupt.requested() || shared.stopping() {
            return Ok(spent >= 1.0);
        }
    }
}
