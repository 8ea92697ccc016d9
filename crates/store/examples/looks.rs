//! What a look at a store costs as the store grows: fills new stores with tiny shards, spread over generations as a run
//! would, and times the bounded look of a process that follows a run against a listing of everything.
//!
//! ```sh
//! cargo run --release -p tengen-store --example looks -- FOLDER 1000 100000
//! cargo run --release -p tengen-store --features cloud --example looks -- s3://bucket/looks 1000 20000
//! ```
//!
//! The address names where the stores go, one for each number of shards. A store that already has its shards is used
//! again, so the first run fills and later ones only measure.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tengen_store::{Collection, Create, GamesOf, Operations, Promotion, SealedShard, Store};
use tengen_testing::{random_games, random_model};

/// Shards in a generation.
const PER_GENERATION: u32 = 100;

/// Generations for each promotion.
const PER_PROMOTION: u32 = 4;

/// Writers that fill a store at the same time.
const WRITERS: u32 = 16;

/// How many looks are timed at most, and for how long.
const LOOKS: usize = 200;
const LONG_ENOUGH: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("name a folder or the address of a bucket")?;
    println!("look | shards | median ms | slowest ms | lists | gets | listed");
    for shards in arguments {
        let shards: u32 = shards.parse()?;
        let location = format!("{address}/{shards}");
        fill(&location, shards)?;
        measure(&location, shards)?;
    }
    Ok(())
}

/// Publishes this many shards of one game each, unless they are there.
fn fill(location: &str, shards: u32) -> Result<(), Box<dyn Error>> {
    let store = Store::open(location, Create::Always)?;
    if store.files().size_of("filled")?.is_some() {
        return Ok(());
    }
    let began = Instant::now();
    let generations = shards.div_ceil(PER_GENERATION);
    let model = store.models().publish(0, &random_model(1))?;
    for number in 0..=generations / PER_PROMOTION {
        let promotion = Promotion::now(&model, None, serde_json::Value::Null);
        store.models().promote(number, &promotion)?;
    }
    let game = random_games(2, 1);
    let next = AtomicU32::new(0);
    let write = || -> Result<(), String> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= shards {
                return Ok(());
            }
            let generation = number / PER_GENERATION;
            let sealed = SealedShard::new(&Collection::SelfPlay { generation }, "w", number.into(), &game);
            let published = sealed.and_then(|shard| store.games().publish(&shard));
            published.map_err(|error| error.to_string())?;
        }
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        let ends = writers
            .into_iter()
            .map(|writer| writer.join().map_err(|_| "a writer panicked".to_owned())?);
        ends.collect::<Result<(), String>>()
    })?;
    store.files().put_new("filled", shards.to_string())?;
    println!("(filled {location} in {:.0} s)", began.elapsed().as_secs_f64());
    Ok(())
}

fn measure(location: &str, shards: u32) -> Result<(), Box<dyn Error>> {
    let store = Store::open(location, Create::Never)?;
    let newest = shards.div_ceil(PER_GENERATION) - 1;
    let last_two: RangeInclusive<u32> = newest.saturating_sub(1)..=newest;
    let (champion, _) = store.models().champion()?.ok_or("no champion")?;
    // The first look of a process also lists the change notes.
    store.games().newest(last_two.clone())?;
    time(&store, "bounded: newest two generations, champion", shards, || {
        let found = store.games().newest(last_two.clone())?;
        store.models().champion_after(champion)?;
        Ok(found.len())
    })?;
    time(&store, "full: list of all games", shards, || {
        Ok(store.games().list(&GamesOf::SelfPlay)?.shards.len())
    })?;
    time(&store, "full: champion", shards, || {
        store.models().champion()?;
        Ok(0)
    })
}

/// Times some looks and prints what one of them takes.
fn time(
    store: &Store,
    name: &str,
    shards: u32,
    look: impl Fn() -> Result<usize, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let before = store.operations();
    let began = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || (times.len() < LOOKS && began.elapsed() < LONG_ENOUGH) {
        let began = Instant::now();
        std::hint::black_box(look()?);
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let Operations {
        lists, gets, listed, ..
    } = store.operations().since(before);
    times.sort_by(f64::total_cmp);
    let each = |count: u64| count as f64 / times.len() as f64;
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    println!(
        "{name} | {shards} | {median:.2} | {slowest:.2} | {:.0} | {:.0} | {:.0}",
        each(lists),
        each(gets),
        each(listed)
    );
    Ok(())
}
