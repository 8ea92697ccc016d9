//! A self-play worker: plays with the newest weights until it is stopped, its quota is spent, or the run ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;

use tengen_health::Health;
use tengen_report::notices::{Author, Notice, Work, WorkerSays, worker_path};
use tengen_run::{Clock, Failures, GpuMeter, Ledger, Opened, Publisher, searched_positions, selfplay};
use tengen_selfplay::{CounterValues, Generator, GeneratorSetup, Snapshot};
use tengen_store::StoreError;

use crate::author;
use crate::follow::{Follow, Orders};
use crate::in_flight;
use crate::unseen::{Unseen, share};

/// How often to show progress and check whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// Number of poll intervals between a worker's notices.
const NOTICE_LOOKS: f64 = 5.0;

/// How long a worker waits for the trainer before reporting it, and how often it repeats the report.
const SAY_AFTER: Duration = Duration::from_secs(10);
const SAY_AGAIN: Duration = Duration::from_secs(300);

/// Maximum number of finished games waiting to be published.
const CHANNEL: usize = 4096;

/// When a worker ends on its own; without limits, it never does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quota {
    /// Finished games.
    pub games: Option<u64>,
    /// Minutes since the start.
    pub minutes: Option<f64>,
    /// Self-play threads; `None` means as many as configured.
    pub threads: Option<usize>,
}

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// [`Opened::stop`] was set, usually by a signal.
    Stopped,
    /// Its quota is spent.
    Quota,
    /// The run's budget is spent.
    Finished,
}

/// A snapshot of what a worker is doing.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Self-play since the worker started.
    pub counters: CounterValues,
    /// The network it plays with.
    pub model: String,
    /// Why it is waiting; empty while it plays.
    pub waits: String,
    /// What keeps games from reaching the store; usually `None`.
    pub trouble: Option<String>,
}

/// What a worker has done.
#[derive(Clone, Debug)]
pub struct Played {
    /// Why it ended.
    pub end: End,
    /// The worker's name in shards and notices.
    pub worker: String,
    /// Self-play since the worker started.
    pub counters: CounterValues,
    /// Positions of the published games.
    pub positions: u64,
    /// Shards that have reached the store.
    pub shards: u64,
    /// Games in progress that were saved for the next worker.
    pub saved: usize,
    /// Seconds since the start.
    pub seconds: f64,
    /// The network that was used last.
    pub model: String,
}

/// Plays games for a run and publishes them until the worker must end. Calls `show` about ten times a second.
///
/// # Errors
/// If the run cannot be used, the store stays unreachable for longer than the configured patience, or self-play fails.
/// Finished games are then published or spooled, and games in progress are saved.
pub fn play(run: &mut Opened, quota: Quota, show: &mut dyn FnMut(&Scene)) -> anyhow::Result<Played> {
    run.be_patient();
    run.settle_auto()?;
    run.say_when_away();
    let (author, session) = author::own()?;
    let mut follow = Follow::new(run)?;
    let mut outbox = run.outbox()?;
    outbox.flush()?;
    let first = follow.first_orders(run)?;
    let threads = quota.threads.unwrap_or_else(|| selfplay::threads(run));
    selfplay::check_threads(run, threads)?;
    let setup = GeneratorSetup {
        run: selfplay::identity(run),
        session,
        threads,
        groups_per_thread: selfplay::groups(run),
        channel_capacity: CHANNEL,
        // Play nothing before the trainer or the other workers can see this one.
        first_limit: 0,
    };
    let take = || Ok(in_flight::take(run, &author.name)?);
    let keep = |games: &Snapshot| in_flight::keep(run, &author.name, games);
    let generator = selfplay::start_with(run, setup, first.model.clone(), take, keep)?;
    let shared = Shared {
        run,
        generator: &generator,
        clock: Clock::start(Ledger::default(), false),
        began: Instant::now(),
        author,
        threads,
        stop: AtomicBool::new(false),
        failures: Failures::default(),
        state: Mutex::new(State::new(&first)),
    };
    let mut publisher = Publisher::new(outbox, &run.config.loop_config, &shared.author.name);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| shared.part("following the trainer", || attend(&shared, &mut follow, first.clone())));
        shared.part("publishing", || publish(&shared, &mut publisher, quota, show))
    });
    let Shared {
        author,
        began,
        failures,
        state,
        clock,
        ..
    } = shared;
    let mut state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counters = generator.counters();
    let stopped = generator.stop();
    for game in stopped.games {
        publisher.add(state.generation, game.record);
    }
    failures.catch("self-play", || Ok(stopped.result?));
    failures.catch("publishing the last games", || publisher.close());
    if let Some(trouble) = publisher.trouble() {
        run.watch
            .say(&format!("{trouble}; the next worker here publishes them"));
    }
    failures.catch("saving the games in progress", || {
        in_flight::keep(run, &author.name, &stopped.snapshot)
    });
    failures.catch("writing the last notice", || {
        state.beat += 1;
        let says = WorkerSays {
            work: work(&counters, &clock),
            ..state.says.clone()
        };
        let last = Notice::new(&author, state.beat, true, says);
        // The worker ends anyway, so waiting for the store is not worthwhile.
        last.write(&run.store.without_patience(), &worker_path(&author.name))
            .ok();
        Ok(())
    });
    failures.into_result(&*run.watch)?;
    Ok(Played {
        end: end.unwrap_or(End::Stopped),
        worker: author.name,
        counters,
        positions: publisher.published().positions,
        shards: publisher.published().shards,
        saved: stopped.snapshot.games(),
        seconds: began.elapsed().as_secs_f64(),
        model: state.says.model,
    })
}

/// What a worker has spent.
fn work(counters: &CounterValues, clock: &Clock) -> Work {
    Work {
        games: counters.games,
        evaluations: counters.evaluations,
        cpu_seconds: clock.read(0).cpu_seconds,
    }
}

/// What the threads of a worker share.
struct Shared<'a> {
    run: &'a Opened,
    generator: &'a Generator,
    clock: Clock,
    began: Instant,
    author: Author,
    threads: usize,
    stop: AtomicBool,
    failures: Failures,
    state: Mutex<State>,
}

/// What changes while a worker plays.
struct State {
    unseen: Unseen,
    /// Searched positions of the games that have arrived from self-play, counted as the generator counts them.
    arrived: u64,
    generation: u32,
    finished: bool,
    trouble: Option<String>,
    /// Number of the last heartbeat.
    beat: u64,
    says: WorkerSays,
}

impl State {
    fn new(first: &Orders) -> State {
        State {
            unseen: Unseen::default(),
            arrived: 0,
            generation: first.model.generation,
            finished: first.finished,
            trouble: None,
            beat: 0,
            says: WorkerSays {
                model: first.model.model_id.clone(),
                ..WorkerSays::default()
            },
        }
    }
}

impl Shared<'_> {
    /// Runs one thread's part until it ends; then the others stop.
    fn part<T>(&self, name: &str, body: impl FnOnce() -> anyhow::Result<T>) -> Option<T> {
        let end = self.failures.catch(name, body);
        self.stop.store(true, Ordering::SeqCst);
        end
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self) -> bool {
        self.generator.counters().positions >= self.generator.lead().limit()
    }
}

/// The main thread: publishes finished games and decides when to end.
fn publish(
    shared: &Shared<'_>,
    publisher: &mut Publisher,
    quota: Quota,
    show: &mut dyn FnMut(&Scene),
) -> anyhow::Result<End> {
    let mut shown = Instant::now();
    let mut health = Health::default();
    loop {
        match shared.generator.games().recv_timeout(publisher.patience().min(TICK)) {
            Ok(game) => {
                for warning in health.take(&game.record) {
                    shared.run.watch.say(&warning);
                }
                let mut state = shared.state();
                state.unseen.finished(game.record.plies.len() as u64);
                state.arrived += searched_positions(&game.record);
                publisher.add(state.generation, game.record);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The self-play threads ended on their own; stopping the generator returns the reason.
            Err(RecvTimeoutError::Disconnected) => return Ok(End::Stopped),
        }
        publisher.publish_if_due()?;
        let finished = {
            let mut state = shared.state();
            for shard in publisher.take_sealed() {
                state.unseen.sealed(shard.name.sequence, shard.positions());
            }
            state.trouble = publisher.trouble();
            state.finished
        };
        let counters = shared.generator.counters();
        if shown.elapsed() >= TICK {
            shown = Instant::now();
            let state = shared.state();
            show(&Scene {
                counters,
                model: state.says.model.clone(),
                waits: state.says.waits.clone(),
                trouble: state.trouble.clone(),
            });
        }
        let minutes = shared.began.elapsed().as_secs_f64() / 60.0;
        let end = match () {
            () if shared.run.stop.load(Ordering::SeqCst) || shared.stopping() => Some(End::Stopped),
            () if finished => Some(End::Finished),
            () if quota.games.is_some_and(|games| counters.games >= games) => Some(End::Quota),
            () if quota.minutes.is_some_and(|limit| minutes >= limit) => Some(End::Quota),
            () => None,
        };
        if let Some(end) = end {
            return Ok(end);
        }
    }
}

/// The second thread: follows the trainer's notice and writes the worker's own.
fn attend(shared: &Shared<'_>, follow: &mut Follow, mut orders: Orders) -> anyhow::Result<()> {
    let look_every = Duration::from_secs_f64(shared.run.config.loop_config.look_seconds);
    let mut reporter = Reporter::new(shared);
    reporter.write(shared)?;
    let mut looked: Option<Instant> = None;
    while !shared.stopping() {
        if looked.is_some_and(|looked| looked.elapsed() < look_every) {
            std::thread::sleep(TICK);
            reporter.tick(shared, &orders);
            continue;
        }
        looked = Some(Instant::now());
        if let Some(new) = given_up(shared, follow.orders(shared.run, &shared.author.name))? {
            if new.changes(&orders) {
                shared.generator.set_model(new.model.clone());
            }
            orders = new;
        }
        let mut state = shared.state();
        state.generation = orders.model.generation;
        state.finished = orders.finished;
        state.says.model.clone_from(&orders.model.model_id);
        state.unseen.seen(orders.seen);
        let room = share(orders.room, orders.workers).saturating_sub(state.unseen.positions());
        let limit = state.arrived + room;
        drop(state);
        if limit != shared.generator.lead().limit() {
            shared.generator.lead().set_limit(limit);
        }
        if reporter.is_due() {
            given_up(shared, reporter.write(shared).map(Some))?;
        }
    }
    Ok(())
}

/// Passes on a result, but with `None` for a transient store error while the worker is stopping and no longer waits for
/// the store.
fn given_up<T>(shared: &Shared<'_>, done: anyhow::Result<Option<T>>) -> anyhow::Result<Option<T>> {
    match done {
        Err(error) if shared.run.stop.load(Ordering::SeqCst) => {
            let away = error.downcast_ref::<StoreError>().is_some_and(StoreError::may_pass);
            if away { Ok(None) } else { Err(error) }
        }
        done => done,
    }
}

/// Measures what the worker does and writes its notice.
struct Reporter {
    written: Instant,
    before: CounterValues,
    /// Ticks since the last notice, and how many of them self-play spent waiting.
    ticks: (u64, u64),
    every: Duration,
    waits_since: Option<Instant>,
    said: Option<Instant>,
    gpus: GpuMeter,
}

impl Reporter {
    fn new(shared: &Shared<'_>) -> Reporter {
        let mut state = shared.state();
        state.says.device = shared.run.device_in_words();
        state.says.threads = shared.threads as u64;
        let notice_seconds = NOTICE_LOOKS * shared.run.config.loop_config.look_seconds;
        state.says.notice_seconds = notice_seconds;
        Reporter {
            every: Duration::from_secs_f64(notice_seconds),
            written: Instant::now(),
            before: CounterValues::default(),
            ticks: (0, 0),
            waits_since: None,
            said: None,
            gpus: GpuMeter::default(),
        }
    }

    /// Records whether self-play is waiting, and reports a long wait.
    fn tick(&mut self, shared: &Shared<'_>, orders: &Orders) {
        let waits = shared.waits();
        self.ticks = (self.ticks.0 + 1, self.ticks.1 + u64::from(waits));
        let since = match (waits, self.waits_since) {
            (false, _) => None,
            (true, since) => since.or(Some(Instant::now())),
        };
        self.waits_since = since;
        let words = since.map_or(String::new(), |_| orders.why_wait());
        let is_due = self.said.is_none_or(|said| said.elapsed() >= SAY_AGAIN);
        if since.is_some_and(|since| since.elapsed() >= SAY_AFTER) && is_due {
            self.said = Some(Instant::now());
            shared.run.watch.say(&words);
        }
        shared.state().says.waits = words;
    }

    fn is_due(&self) -> bool {
        self.written.elapsed() >= self.every
    }

    fn write(&mut self, shared: &Shared<'_>) -> anyhow::Result<()> {
        let counters = shared.generator.counters();
        let seconds = self.written.elapsed().as_secs_f64().max(1e-3);
        let lately = counters.since(self.before);
        let notice = {
            let mut state = shared.state();
            let says = &mut state.says;
            says.seconds = shared.began.elapsed().as_secs_f64();
            says.positions = counters.positions;
            says.work = work(&counters, &shared.clock);
            says.games_per_second = lately.games as f64 / seconds;
            says.evaluations_per_second = lately.evaluations as f64 / seconds;
            says.idle = self.ticks.1 as f64 / self.ticks.0.max(1) as f64;
            says.gpu_busy = self.gpus.busy();
            says.operations = shared.run.store.operations();
            let says = says.clone();
            state.beat += 1;
            Notice::new(&shared.author, state.beat, false, says)
        };
        notice.write(&shared.run.store, &worker_path(&shared.author.name))?;
        (self.before, self.ticks, self.written) = (counters, (0, 0), Instant::now());
        Ok(())
    }
}
