//! How fast a trainer of 5x5 steps while shards of games arrive: once if its thread reads each shard itself, and once
//! if it takes in what other threads have read.
//!
//! ```sh
//! cargo run --release -p tengen-run --example intake -- FOLDER [SECONDS] [SHARDS PER SECOND]
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use tengen_run::{Ledger, Opened, RunConfig, Setup, Training};
use tengen_store::{Collection, SealedShard, ShardInfo};
use tengen_testing::random_games;

/// Games in a shard.
const GAMES: usize = 100;

/// Shards that are there before the first step.
const BEFORE: usize = 4;

const GENERATION: Collection = Collection::SelfPlay { generation: 1 };

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().context("name a folder for the stores")?;
    let seconds: f64 = arguments.next().unwrap_or("20".to_owned()).parse()?;
    let rate: f64 = arguments.next().unwrap_or("4".to_owned()).parse()?;
    let shards = BEFORE + (seconds * rate) as usize;
    let games = random_games(5, (shards * GAMES) as u64);
    println!("trainer | steps a second | % of its time for games | longest pause in ms | positions taken in");
    for (name, waits) in [("reads by itself", true), ("takes in what is read", false)] {
        let sealed = games.chunks(GAMES).enumerate().map(|(number, games)| {
            let shard = SealedShard::new(&GENERATION, "w", number as u64, games);
            shard.context("games that cannot be sealed")
        });
        let sealed = sealed.collect::<anyhow::Result<Vec<_>>>()?;
        let place = format!("{folder}/{}", if waits { "waits" } else { "follows" });
        measure(name, waits, &place, sealed, Duration::from_secs_f64(seconds), rate)?;
    }
    Ok(())
}

fn measure(
    name: &str,
    waits: bool,
    place: &str,
    sealed: Vec<SealedShard>,
    length: Duration,
    rate: f64,
) -> anyhow::Result<()> {
    let config = RunConfig::load(
        Path::new("configs/5x5.toml"),
        &["training.schedule=constant".to_owned()],
    )?;
    let run = Opened::open(&config, place, &Setup::default())?;
    let (before, arriving) = sealed.split_at(BEFORE);
    for shard in before {
        run.store.games().publish(shard)?;
    }
    let (mut training, _) = Training::resume(&run)?;
    let (to_trainer, shards) = std::sync::mpsc::channel();
    let done = AtomicBool::new(false);
    let publish = || -> anyhow::Result<()> {
        let began = Instant::now();
        for (number, shard) in arriving.iter().enumerate() {
            let due = Duration::from_secs_f64(number as f64 / rate);
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            if done.load(Ordering::SeqCst) {
                break;
            }
            run.store.games().publish(shard)?;
            to_trainer.send(shard.info.clone()).ok();
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let publisher = scope.spawn(publish);
        let (mut steps, mut pauses, mut longest) = (0, Duration::ZERO, Duration::ZERO);
        let began = Instant::now();
        while began.elapsed() < length {
            let before = Instant::now();
            let arrived: Vec<ShardInfo> = shards.try_iter().collect();
            if waits {
                training.take_in(arrived)?;
            } else {
                training.offer(arrived)?;
                training.admit_ready()?;
            }
            let pause = before.elapsed();
            pauses += pause;
            longest = longest.max(pause);
            training.step(&Ledger::default())?;
            steps += 1;
        }
        let speed = f64::from(steps) / began.elapsed().as_secs_f64();
        let share = 100.0 * pauses.as_secs_f64() / began.elapsed().as_secs_f64();
        let pause = longest.as_secs_f64() * 1e3;
        println!(
            "{name} | {speed:.1} | {share:.1} | {pause:.1} | {}",
            training.positions()
        );
        done.store(true, Ordering::SeqCst);
        publisher
            .join()
            .map_err(|_| anyhow::anyhow!("the publisher panicked"))?
    })
}
