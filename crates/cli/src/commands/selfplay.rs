//! `tengen selfplay`: plays games of a store's champion against itself, or follows a trainer as one of its workers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use tengen_fleet::{End, Quota, play};
use tengen_records::GameRecord;
use tengen_run::{Failures, Outbox, selfplay};
use tengen_selfplay::{Clock, Counters, GenerateSetup, generate};
use tengen_store::{Collection, GamesOf, Operations, SealedShard, ShardInfo};

use crate::commands::stage::StageArgs;
use crate::interrupt::Interrupt;
use crate::output::{bar, counted, say, spinner, thousands};

/// Play self-play games with the store's champion and publish them in the store
///
/// The games depend only on the run's seed, --session and the model; any number of threads gives the same games.
/// Several processes may play into one store at once, each with its own --session. Games of the session that are
/// already in the store are not played again, so the same command with the same --session resumes one that was killed.
///
/// With --follow, the command is a worker of a run that `tengen train --follow` trains, on this machine or another: it
/// plays with the trainer's newest weights, waits while self-play is too far ahead of training, and ends by itself when
/// the run's budget is spent. Any number of workers may start, stop, or be killed at any time. A worker that is stopped
/// by a signal publishes its finished games, saves those in progress for the next worker, and exits with 0.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen selfplay --store data/runs/five --games 1000
  tengen selfplay --store data/runs/new --config configs/5x5.toml --games 200 \\
      --threads 4 --json
  tengen selfplay --store s3://bucket/five --follow --minutes 30

A run on several machines: one `tengen train --follow`, one `tengen gate --follow`,
and any number of `tengen selfplay --follow` on the same --store.")]
pub(crate) struct Args {
    #[command(flatten)]
    stage: StageArgs,
    /// Number of games to play [default: 1000; with --follow, no limit]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    games: Option<u64>,
    /// Follow the run's trainer, without end unless --games or --minutes sets one
    #[arg(long, conflicts_with_all = ["session", "fixed_time"])]
    follow: bool,
    /// Minutes after which a worker ends
    #[arg(long, requires = "follow", value_parser = crate::arguments::minutes)]
    minutes: Option<f64>,
    /// Worker threads [default: loop.workers of the configuration]
    #[arg(long, value_parser = crate::arguments::count)]
    threads: Option<u32>,
    /// Separates the games of different starts [default: a random number]
    #[arg(long)]
    session: Option<u64>,
    /// Write this start time (milliseconds since 1970) into every game, which makes the games byte-identical
    #[arg(long, value_name = "MS")]
    fixed_time: Option<i64>,
    /// Print what was done as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// The default of --games without --follow.
const USUAL_GAMES: u64 = 1000;

/// The command's JSON result.
#[derive(Serialize)]
struct Done {
    games: u64,
    /// Games of the session that the store already had.
    already_present: u64,
    finished: u64,
    unfinished: u64,
    positions: u64,
    evaluations: u64,
    seconds: f64,
    model: String,
    shards: Vec<String>,
}

/// Plays and publishes the games, or as many as are finished when the user stops it.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if args.follow {
        return follow(&args);
    }
    let all = args.games.unwrap_or(USUAL_GAMES);
    let interrupt = Interrupt::listen("Stopping after the games in progress…")?;
    let mut run = args.stage.open(&interrupt)?;
    say(format!("device {}", run.device_in_words()));
    run.be_patient();
    run.settle_auto()?;
    let model = selfplay::champion_update(&run, run.progress()?)?;
    let mut identity = selfplay::identity(&run);
    if let Some(ms) = args.fixed_time {
        identity.clock = Clock::Fixed(ms);
    }
    let counters = Arc::new(Counters::new());
    let began = Instant::now();
    let mut outbox = run.outbox()?;
    let left_over = outbox.flush()?;
    if !left_over.is_empty() {
        say(format!(
            "published {} left over from an earlier run",
            counted(left_over.len() as u64, "shard")
        ));
    }
    let setup = GenerateSetup {
        run: identity,
        session: own_session(args.session)?,
        games: all,
        threads: args
            .threads
            .map_or_else(|| selfplay::threads(&run), |threads| threads as usize),
        known: match args.session {
            Some(_) => {
                let games = run.store.games();
                games.ids_of(&games.list_shards(&GamesOf::SelfPlay)?)?
            }
            None => BTreeSet::new(),
        },
    };
    selfplay::check_threads(&run, setup.threads)?;
    let mut sink = Sink {
        interrupt: &interrupt,
        outbox,
        generation: model.generation,
        sequence: 0,
        shards: Vec::new(),
    };
    let config = selfplay::with_books(&run)?;
    let stop = AtomicBool::new(false);
    let ended = AtomicBool::new(false);
    let failures = Failures::default();
    // If any part fails, self-play stops and hands over the finished groups.
    let or_stop = |done: Option<()>| done.unwrap_or_else(|| stop.store(true, Ordering::SeqCst));
    let games = std::thread::scope(|scope| {
        scope.spawn(|| {
            or_stop(failures.catch("the progress display", || {
                watch(all, &counters, &interrupt, &stop, &ended);
                Ok(())
            }));
        });
        let publish = |games: Vec<GameRecord>| or_stop(failures.catch("publishing", || sink.publish(&games)));
        let games = failures.catch("self-play", || {
            Ok(generate(&config, &setup, &model, &counters, &stop, publish)?)
        });
        ended.store(true, Ordering::SeqCst);
        games
    });
    failures.catch("publishing the last games", || sink.outbox.close());
    if let Some(trouble) = sink.outbox.in_words() {
        say(format!(
            "{trouble}; the next `tengen selfplay` or `tengen run` on this store publishes them"
        ));
    }
    failures.into_result(&*run.watch)?;
    let counts = counters.values();
    let games = games.unwrap_or_default();
    let already_present = match interrupt.requested() {
        true => 0,
        false => all - games,
    };
    let done = Done {
        games,
        already_present,
        finished: counts.games,
        unfinished: counts.unfinished,
        positions: sink.shards.iter().map(ShardInfo::positions).sum(),
        evaluations: counts.evaluations,
        seconds: began.elapsed().as_secs_f64(),
        model: model.model_id,
        shards: sink.shards.into_iter().map(|shard| shard.path).collect(),
    };
    print(&done, args.json)?;
    interrupt.outcome_if(done.games + done.already_present < all)
}

/// The JSON result of a worker.
#[derive(Serialize)]
struct Followed {
    /// Why the worker ended: `stopped` by a signal, its `quota` is spent, or the run is `finished`.
    end: &'static str,
    worker: String,
    games: u64,
    unfinished: u64,
    /// Positions and shards that have reached the store.
    positions: u64,
    shards: u64,
    evaluations: u64,
    mean_batch: f64,
    /// Games in progress that were saved for the next worker.
    games_saved: usize,
    seconds: f64,
    model: String,
    /// The operations on the store.
    operations: Operations,
}

/// Plays as a worker of a run's trainer.
fn follow(args: &Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen("Stopping; finished games are published, the others saved for the next worker…")?;
    let mut run = args.stage.open_patiently(&interrupt)?;
    say(format!("device {}", run.device_in_words()));
    let quota = Quota {
        games: args.games,
        minutes: args.minutes,
        threads: args.threads.map(|threads| threads as usize),
    };
    let line = spinner("{spinner} {wide_msg}");
    let (mut drawn, mut before) = (Instant::now(), 0);
    let played = play(&mut run, quota, &mut |scene| {
        let seconds = drawn.elapsed().as_secs_f64();
        if seconds < 1.0 {
            return;
        }
        let rate = (scene.counters.evaluations - before) as f64 / seconds;
        (drawn, before) = (Instant::now(), scene.counters.evaluations);
        let state = match (&scene.trouble, scene.waits.as_str()) {
            (Some(trouble), _) => trouble.clone(),
            (None, "") => format!("{} evaluations/s with {}", thousands(rate as u64), scene.model),
            (None, waits) => waits.to_owned(),
        };
        line.set_message(format!("{}, {state}", counted(scene.counters.games, "game")));
        line.tick();
    })?;
    line.finish_and_clear();
    let done = Followed {
        end: match played.end {
            End::Stopped => "stopped",
            End::Quota => "quota",
            End::Finished => "finished",
        },
        worker: played.worker,
        games: played.counters.games,
        unfinished: played.counters.unfinished,
        positions: played.positions,
        shards: played.shards,
        evaluations: played.counters.evaluations,
        mean_batch: played.counters.mean_batch(),
        games_saved: played.saved,
        seconds: played.seconds,
        model: played.model,
        operations: run.store.operations(),
    };
    if args.json {
        return crate::output::json(&done);
    }
    if played.end == End::Finished {
        say("the run's budget is spent");
    }
    crate::output::result(format!(
        "{} ({} unfinished), {}, {} in {:.1} s with {}; saved for the next worker: {}",
        counted(done.games, "game"),
        thousands(done.unfinished),
        counted(done.positions, "position"),
        counted(done.evaluations, "evaluation"),
        done.seconds,
        done.model,
        counted(done.games_saved as u64, "unfinished game"),
    ));
    Ok(())
}

fn print(done: &Done, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return crate::output::json(done);
    }
    if done.already_present > 0 {
        crate::output::result(format!(
            "already in the store: {} of this session; another --session gives other games",
            counted(done.already_present, "game")
        ));
    }
    crate::output::result(format!(
        "{} ({} unfinished), {}, {} in {:.1} s with {}",
        counted(done.games, "game"),
        thousands(done.unfinished),
        counted(done.positions, "position"),
        counted(done.evaluations, "evaluation"),
        done.seconds,
        done.model
    ));
    Ok(())
}

/// The given session, or a random one that no other process on any machine has.
fn own_session(given: Option<u64>) -> anyhow::Result<u64> {
    given
        .map_or_else(getrandom::u64, Ok)
        .context("the system has no random numbers")
}

/// Publishes each finished group of games as a shard.
struct Sink<'a> {
    interrupt: &'a Interrupt,
    outbox: Outbox,
    generation: u32,
    sequence: u64,
    shards: Vec<ShardInfo>,
}

impl Sink<'_> {
    /// Stores the games. Waits while neither the store nor the spool accepts them.
    fn publish(&mut self, games: &[GameRecord]) -> anyhow::Result<()> {
        let collection = Collection::SelfPlay {
            generation: self.generation,
        };
        let worker = format!("p{}", std::process::id());
        let shard = SealedShard::new(&collection, &worker, self.sequence, games)?;
        self.sequence += 1;
        let mut published = self.outbox.send(shard)?;
        while !self.outbox.is_safe() && !self.interrupt.requested() {
            std::thread::sleep(Duration::from_millis(200));
            published.extend(self.outbox.flush()?);
        }
        self.shards.extend(published);
        Ok(())
    }
}

/// Shows progress until all games are done, and stops self-play on an interrupt.
fn watch(games: u64, counters: &Counters, interrupt: &Interrupt, stop: &AtomicBool, ended: &AtomicBool) {
    let bar = bar(
        games,
        "[{bar:24}] {human_pos}/{human_len} games, {eta} left, {wide_msg}",
    );
    let began = Instant::now();
    while !ended.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(100));
        let counts = counters.values();
        bar.set_position(counts.games + counts.unfinished);
        let rate = counts.evaluations as f64 / began.elapsed().as_secs_f64();
        bar.set_message(format!("{} evaluations/s", thousands(rate as u64)));
        if interrupt.requested() && !stop.swap(true, Ordering::SeqCst) {
            say("abandoning the games in progress; published games are kept");
        }
    }
    bar.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_given_or_unlike_any_other() {
        assert_eq!(own_session(Some(7)).expect("given"), 7);
        let random = |_| own_session(None).expect("random numbers");
        let sessions: std::collections::BTreeSet<u64> = (0..1000).map(random).collect();
        assert_eq!(sessions.len(), 1000);
    }
}
