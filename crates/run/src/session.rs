//! One process's part of a run: threads for self-play, publishing, training and the gate, until the budget is spent or
//! the user stops it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use tengen_health::{Comparison, Warnings};
use tengen_metrics::{Measured, Metrics, Warning};
use tengen_model::Weights;
use tengen_reanalysis::{Reanalyzing, Terms};
use tengen_report::{Refresh, counted, write_report};
use tengen_selfplay::{FairKomi, FinishedGame, Generator, ModelUpdate};
use tengen_store::ShardInfo;

use crate::failures::Failures;
use crate::gating::{self, Candidate, Gating};
use crate::ledger::Clock;
use crate::opened::Opened;
use crate::publisher::{Publisher, searched_positions};
use crate::selfplay;
use crate::start;
use crate::status::Status;
use crate::training::Training;
use tengen_config::{Ledger, Progress};

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
    /// Why threads ended early.
    failures: Failures,
    /// Generation of the newest model.
    generation: AtomicU32,
    /// Searched positions of the games that this process has published or spooled, counted as the generator counts
    /// them.
    published: AtomicU64,
    reanalyzing: Reanalyzing,
    /// The model that self-play has.
    model: Mutex<ModelUpdate>,
}

/// Runs until the budget is spent (true) or an interrupt arrives (false).
pub fn work(run: &Opened) -> anyhow::Result<bool> {
    let mut outbox = run.outbox()?;
    // Publish shards left over from the last start before reading the store.
    outbox.flush()?;
    let (mut training, before) = Training::resume_within_budget(run)?;
    let on_gpu = run.options.device.resolve()?.is_cuda();
    if training.spent() >= 1.0 {
        return Ok(true);
    }
    training.say_changed_settings()?;
    if run.config.selfplay.quiet_from < 1.0 && !run.config.budget.is_limited() {
        run.watch.say(
            "warning: selfplay.quiet_from is a share of the budget, but no limit in [budget] is set, so noise does not \
             fall; selfplay.later_noise goes by positions",
        );
    }
    if run.config.loop_config.canonical_from < 1.0 && !run.config.budget.is_limited() {
        run.watch.say(
            "warning: loop.canonical_from is a share of the budget, but no limit in [budget] is set, so it has no \
             effect",
        );
    }
    let clock = Clock::start(before, on_gpu);
    let metrics = Metrics::of(&run.store, &run.folder()?)?;
    let generation = run.store.models().list()?.last().map_or(0, |model| model.generation());
    let rejected = gating::rejected(run)?;
    let progress = Progress {
        positions: training.positions(),
        rejected,
        spent: training.spent(),
    };
    let status = Mutex::new(Status::resumed(&training, generation, progress));
    let start_with = first_update(run, &mut training, generation, progress)?;
    let reanalyzing = Reanalyzing::new(terms(run), &start_with, training.window());
    let generator = selfplay::start(run, start_with.clone(), training.lead())?;
    let title = format!(
        "{} in {}, {} so far",
        run.config.name,
        start::from_here(Path::new(run.store.location())).display(),
        counted(training.positions(), "position")
    );
    run.watch.begin(&title);
    let begun = start::of(run, &training, true)?;
    run.watch
        .say(&start::in_words(&begun, &run.folder()?.join("report.html")));
    let mut publisher = Publisher::new(outbox, &run.config.loop_config, &format!("p{}", std::process::id()));
    let shared = Shared {
        run,
        generator: &generator,
        clock: &clock,
        metrics: &metrics,
        status: &status,
        stop: AtomicBool::new(false),
        failures: Failures::default(),
        generation: AtomicU32::new(generation),
        published: AtomicU64::new(0),
        reanalyzing,
        model: Mutex::new(start_with),
    };

    shared.record(Measured::Start(begun));
    let spent = run_threads(&shared, &mut training, &mut publisher);
    run.watch.end();
    // Keep as many games and steps as possible, no matter why the threads ended and even if one of the next steps
    // fails.
    let (failures, generation) = (shared.failures, shared.generation.into_inner());
    let ledger = clock.read(generator.counters().evaluations + shared.reanalyzing.evaluations());
    let stopped = generator.stop();
    for game in stopped.games {
        publisher.add(generation, game.record);
    }
    failures.catch("self-play", || Ok(stopped.result?));
    failures.catch("publishing the last games", || publisher.close());
    if let Some(trouble) = publisher.trouble() {
        run.watch.say(&format!("{trouble}; the next start publishes them"));
    }
    failures.catch("saving the games in progress", || {
        selfplay::keep_in_progress(run, &stopped.snapshot)
    });
    failures.catch("writing the last checkpoint", || training.last_checkpoint(&ledger));
    failures.into_result(&*run.watch)?;
    Ok(spent == Some(true))
}

/// Runs all threads until one of them ends. Returns whether the budget is spent, or `None` if the main thread failed.
fn run_threads(shared: &Shared<'_>, training: &mut Training, publisher: &mut Publisher) -> Option<bool> {
    let (to_trainer, shards) = crossbeam_channel::unbounded();
    let (to_gate, candidates) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        spawn(scope, shared, "publisher", move || {
            publish(shared, publisher, &to_trainer)
        });
        spawn(scope, shared, "trainer", move || {
            train(shared, training, &shards, &to_gate)
        });
        spawn(scope, shared, "gate", move || gate(shared, &candidates));
        spawn(scope, shared, "reporter", move || report(shared));
        if shared.run.config.reanalysis.is_on() {
            spawn(scope, shared, "reanalysis", move || Ok(shared.reanalyzing.work()?));
        }
        shared.part("screen", || watch(shared))
    })
}

/// Starts a named thread. When it ends, successfully or not, all threads stop. It borrows what it works on, so that its
/// state survives a panic.
fn spawn<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    shared: &'scope Shared<'_>,
    name: &'static str,
    body: impl FnOnce() -> anyhow::Result<()> + Send + 'scope,
) {
    let thread = std::thread::Builder::new().name(name.to_owned());
    let started = thread.spawn_scoped(scope, move || shared.part(name, body));
    if let Err(error) = started {
        shared.part::<()>(name, || Err(error.into()));
    }
}

impl Shared<'_> {
    /// Runs one thread's part until it ends; then all threads stop.
    fn part<T>(&self, name: &str, body: impl FnOnce() -> anyhow::Result<T>) -> Option<T> {
        let end = self.failures.catch(&format!("the {name}"), body);
        self.stop.store(true, Ordering::SeqCst);
        self.reanalyzing.end();
        end
    }

    /// Hands a model to self-play and to reanalysis.
    fn set_model(&self, update: ModelUpdate) {
        let mut model = self.model();
        model.clone_from(&update);
        self.reanalyzing.set_model(&update);
        self.generator.set_model(update);
    }

    /// Lets self-play go on with the same model, at this point of the run and with this fair komi.
    fn keep_champion(&self, progress: Progress, fair_komi: FairKomi) {
        let mut model = self.model();
        *model = selfplay::kept(self.run, &model, progress, fair_komi);
        self.reanalyzing.set_model(&model);
        self.generator.set_model(model.clone());
    }

    /// The model that self-play has.
    fn model(&self) -> MutexGuard<'_, ModelUpdate> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cost of the run so far.
    fn ledger(&self) -> Ledger {
        let evaluations = self.generator.counters().evaluations + self.reanalyzing.evaluations();
        self.clock.read(evaluations)
    }

    fn stopping(&self) -> bool {
        #[cfg(test)]
        tests::panic_where_wanted(self);
        self.stop.load(Ordering::SeqCst)
    }

    fn status(&self) -> std::sync::MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn record(&self, measured: Measured) {
        self.metrics.note(self.clock.read(0).elapsed_seconds, measured);
    }

    /// Tells the user that something goes wrong, now and in the report.
    fn warn(&self, text: String) {
        self.run.watch.say(&text);
        self.record(Measured::Warning(Warning { text }));
    }

    /// Lets self-play continue up to the allowed lead over the trainer.
    fn move_lead(&self, training: &Training) {
        let limit = self.published.load(Ordering::SeqCst) + training.lead();
        if limit != self.generator.lead().limit() {
            self.generator.lead().set_limit(limit);
        }
    }
}

/// The terms of the run's reanalysis.
fn terms(run: &Opened) -> Terms {
    Terms {
        store: run.store.clone(),
        config: run.config.reanalysis,
        selfplay: run.config.selfplay.clone(),
        held_out: run.config.loop_config.held_out,
        seed: run.config.seed,
        precision: run.options.precision.to_string(),
    }
}

/// The model that self-play starts with: the trainer's weights or the champion.
fn first_update(
    run: &Opened,
    training: &mut Training,
    generation: u32,
    progress: Progress,
) -> anyhow::Result<ModelUpdate> {
    let (weights, name) = match run.config.loop_config.champions_only {
        true => {
            let champion = run.champion()?;
            (run.weights(&champion)?, champion.to_string())
        }
        false => (training.weights()?, step_name(generation, training.steps())),
    };
    selfplay::update(run, &weights, generation, name, progress, training.fair_komi().clone())
}

/// The name of weights handed to self-play without being published as a model.
fn step_name(generation: u32, step: u64) -> String {
    format!("g{generation:06}-step{step}")
}

/// The publisher's thread: collects finished games and publishes them as shards.
fn publish(shared: &Shared<'_>, publisher: &mut Publisher, to_trainer: &Sender<ShardInfo>) -> anyhow::Result<()> {
    let games: &Receiver<FinishedGame> = shared.generator.games();
    let mut searched = 0;
    while !shared.stopping() {
        match games.recv_timeout(publisher.patience().min(TICK)) {
            Ok(game) => {
                searched += searched_positions(&game.record);
                shared.reanalyzing.see(&game.record);
                let warnings = shared.status().add_game(&game.record);
                warnings.into_iter().for_each(|warning| shared.warn(warning));
                publisher.add(shared.generation.load(Ordering::SeqCst), game.record);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The workers stopped on their own; stopping the generator returns the reason.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let shards = publisher.publish_if_due()?;
        if publisher.is_safe() {
            let played = std::mem::take(&mut searched);
            shared.published.fetch_add(played, Ordering::SeqCst);
        }
        shared.status().trouble = publisher.trouble();
        for shard in shards {
            // If the trainer is gone, its next start finds the shard in the store.
            to_trainer.send(shard).ok();
        }
    }
    Ok(())
}

/// The trainer's thread: takes in new shards once they have been read, and trains as far as the reuse ratio allows.
fn train(
    shared: &Shared<'_>,
    training: &mut Training,
    shards: &Receiver<ShardInfo>,
    to_gate: &Sender<Candidate>,
) -> anyhow::Result<()> {
    tengen_network::set_threads(shared.run.config.training.threads);
    let ledger = || shared.ledger();
    let mut warnings = Warnings::default();
    while !shared.stopping() {
        training.offer(shards.try_iter().collect())?;
        training.offer_reanalyzed(shared.reanalyzing.exchange(training.window()))?;
        training.admit_ready()?;
        shared.move_lead(training);
        if training.lacks_results() {
            let warning = warnings.miss_results(training.window_positions());
            warning.into_iter().for_each(|warning| shared.warn(warning));
        }
        let may_step = training.may_step();
        shared.status().trainer_waits = !may_step;
        if may_step {
            shared.status().training.begin();
            let losses = training.step(&ledger())?;
            losses.iter().for_each(|losses| shared.status().add_step(losses));
            if let Some(comparison) = training.validate_if_due()? {
                take_validation(shared, &mut warnings, &comparison);
            }
            after_step(shared, training, to_gate)?;
            shared.status().training.end();
        } else if let Ok(shard) = shards.recv_timeout(TRAINER_NAP) {
            training.offer(vec![shard])?;
        }
        shared.status().note(training);
        training.checkpoint_if_due(ledger)?;
    }
    Ok(())
}

/// Records and shows a validation, and warns if the network memorizes games or goes blind.
fn take_validation(shared: &Shared<'_>, warnings: &mut Warnings, comparison: &Comparison) {
    shared.record(Measured::Validation(comparison.event()));
    shared.status().validation = Some(*comparison);
    warnings.look(comparison).for_each(|warning| shared.warn(warning));
}

/// Hands weights to self-play and models to the gate when due.
fn after_step(shared: &Shared<'_>, training: &mut Training, to_gate: &Sender<Candidate>) -> anyhow::Result<()> {
    let loop_config = &shared.run.config.loop_config;
    let step = training.steps();
    if step.is_multiple_of(loop_config.candidate_every_steps) {
        let candidate = publish_candidate(shared, training)?;
        to_gate.send(candidate).ok();
    }
    if step.is_multiple_of(loop_config.weights_every_steps) {
        let generation = shared.generation.load(Ordering::SeqCst);
        let komi = training.fair_komi().clone();
        let progress = Progress {
            positions: training.positions(),
            ..shared.status().progress()
        };
        match loop_config.champions_only {
            true => shared.keep_champion(progress, komi),
            false => {
                let name = step_name(generation, step);
                let update = selfplay::update(shared.run, &training.weights()?, generation, name, progress, komi)?;
                shared.set_model(update);
            }
        }
    }
    Ok(())
}

fn publish_candidate(shared: &Shared<'_>, training: &mut Training) -> anyhow::Result<Candidate> {
    let generation = shared.generation.fetch_add(1, Ordering::SeqCst) + 1;
    let ledger = shared.ledger();
    let (id, weights) = training.publish(generation, &ledger)?;
    shared.record(Measured::Model(training.model_event(&id.to_string(), &ledger)));
    Ok(Candidate {
        id,
        weights: Some(weights),
    })
}

/// The gate's thread: always takes the newest candidate and skips older ones that arrived meanwhile.
fn gate(shared: &Shared<'_>, candidates: &Receiver<Candidate>) -> anyhow::Result<()> {
    let mut gating = Gating::new(shared.run);
    let mut next = gating::left_over(shared.run)?;
    shared.status().champion = gating.standing()?.champion;
    while !shared.stopping() {
        next = candidates.try_iter().last().or(next);
        let Some(candidate) = next.take() else {
            next = candidates.recv_timeout(TICK).ok();
            continue;
        };
        let tell = |line: String| shared.status().gate = line;
        shared.status().gating.begin();
        let settled = gating.settle(&candidate, &tell, &|| shared.stopping())?;
        shared.status().gating.end();
        if let Some(settled) = settled {
            let standing = gating.standing()?;
            shared.run.watch.say(&format!("gate: {}", settled.in_words()));
            {
                let mut status = shared.status();
                status.gate = settled.in_words();
                status.champion = standing.champion;
            }
            shared.record(Measured::Gate(settled.event()));
            gating
                .moved(standing.ratings)
                .into_iter()
                .for_each(|rating| shared.record(Measured::Rating(rating)));
            if !settled.promoted {
                shared.status().rejected += 1;
            }
            let loop_config = &shared.run.config.loop_config;
            if loop_config.champions_only && (settled.promoted || loop_config.stalled_visits > 0) {
                follow_champion(shared, &gating.champion(candidate, &settled)?)?;
            }
        }
    }
    Ok(())
}

/// Switches self-play to the champion, with the visits that the run's progress calls for.
fn follow_champion(shared: &Shared<'_>, champion: &Candidate) -> anyhow::Result<()> {
    let weights: Weights = match &champion.weights {
        Some(weights) => weights.clone(),
        None => shared.run.weights(&champion.id)?,
    };
    let (progress, komi) = {
        let status = shared.status();
        (status.progress(), status.fair_komi.clone())
    };
    let generation = shared.generation.load(Ordering::SeqCst);
    let update = selfplay::update(
        shared.run,
        &weights,
        generation,
        champion.id.to_string(),
        progress,
        komi,
    )?;
    shared.set_model(update);
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
                shared.run.watch.say(&format!("cannot write the report: {error:#}"));
            }
            written = Instant::now();
        }
    }
    Ok(())
}

/// The main thread: draws the screen, records metrics and checks whether to stop. True when the budget is spent.
fn watch(shared: &Shared<'_>) -> anyhow::Result<bool> {
    let mut recorded = Instant::now();
    loop {
        std::thread::sleep(TICK);
        let counters = shared.generator.counters();
        let ledger = shared.ledger();
        let spent = {
            let mut status = shared.status();
            status.measure(&counters, shared.generator.worker_times(), ledger);
            status.selfplay_waits = counters.positions >= shared.generator.lead().limit();
            status.spent = shared.run.config.budget.spent(&ledger, status.games, status.steps);
            shared.run.watch.show(&status.view(shared.run));
            status.spent
        };
        if recorded.elapsed() >= METRICS_EVERY {
            recorded = Instant::now();
            let events = shared.status().take_events(shared.run);
            events.into_iter().for_each(|event| shared.record(event));
        }
        if spent >= 1.0 || shared.run.stop.load(Ordering::SeqCst) || shared.stopping() {
            return Ok(spent >= 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opened::Setup;
    use std::path::Path;
    use tengen_config::RunConfig;
    use tengen_store::GamesOf;

    /// The thread that should panic, and the training step from which it does.
    static WANTED: Mutex<Option<(&str, u64)>> = Mutex::new(None);

    const THREADS: [&str; 5] = ["publisher", "trainer", "gate", "reporter", "screen"];

    pub(super) fn panic_where_wanted(shared: &Shared<'_>) {
        let wanted = *WANTED.lock().expect("no panic inside");
        let Some((thread, step)) = wanted else { return };
        let here = std::thread::current().name().unwrap_or_default().to_owned();
        // The main thread draws the screen; in a test, it has the test's name.
        let is_here = here == thread || (thread == "screen" && !THREADS.contains(&here.as_str()));
        assert!(!is_here || shared.status().steps < step, "struck by lightning");
    }

    /// A tiny network on 3x3, without periodic checkpoints.
    fn config() -> RunConfig {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let settings = [
            "network.blocks=1",
            "network.channels=8",
            "selfplay.boards=[{size=\"3x3\"}]",
            "selfplay.games_per_group=8",
            "training.batch=32",
            "training.schedule=constant",
            "loop.workers=2",
            "loop.start_positions=100",
            "loop.lead_positions=500",
            "loop.shard_seconds=0.1",
            "loop.candidate_every_steps=1000000",
            "loop.checkpoint_seconds=100000",
            "budget.minutes=0",
        ];
        RunConfig::load(&path, &settings.map(str::to_owned)).expect("a configuration")
    }

    #[test]
    fn a_panic_in_any_thread_is_reported_and_loses_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = folder.path().join("store").display().to_string();
        let setup = Setup {
            scratch: Some(folder.path().to_owned()),
            ..Setup::default()
        };
        let run = Opened::open(&config(), &location, &setup).expect("a run");
        run.first_model().expect("a first model");
        let (mut steps, mut begun) = (0, 0);
        for thread in THREADS {
            *WANTED.lock().expect("no panic inside") = Some((thread, steps + 20));
            let error = work(&run).expect_err("a thread that panics");
            assert_eq!(error.to_string(), format!("the {thread} panicked: struck by lightning"));

            // The checkpoint is from the last step, and every game started is published or saved as in progress.
            let (step, _) = run
                .store
                .checkpoints()
                .latest()
                .expect("readable")
                .expect("a checkpoint");
            assert!(step >= steps + 20, "{thread}: {step} after {steps}");
            steps = step;
            let in_flight = run
                .store
                .files()
                .get("in_flight.json")
                .expect("readable")
                .expect("games in progress");
            let in_flight: serde_json::Value = serde_json::from_slice(&in_flight).expect("JSON");
            let groups = in_flight["groups"].as_array().expect("groups");
            begun += groups
                .iter()
                .filter_map(|group| group["next_index"].as_u64())
                .sum::<u64>();
            let waiting: usize = groups
                .iter()
                .filter_map(|group| group["games"].as_array())
                .map(Vec::len)
                .sum();
            let published = run
                .store
                .games()
                .list(&GamesOf::SelfPlay)
                .expect("a listing")
                .published()
                .games;
            assert_eq!(published + waiting as u64, begun, "{thread}");
        }
    }
}
