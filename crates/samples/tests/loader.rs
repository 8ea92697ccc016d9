//! Shards that are read in the background: in order, without waiting, and with the same samples as without.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use tempfile::TempDir;

use tengen_records::GameRecord;
use tengen_samples::{CachePlace, Loader, ReadShard, SampleConfig, SampleSource, SymmetryMode, Window, WindowConfig};
use tengen_store::{Collection, CompactSettings, Create, GamesOf, ShardInfo, Store};
use tengen_testing::random_games;

const WINDOW: WindowConfig = WindowConfig {
    base_positions: 300,
    fraction: 0.2,
};

/// A store with shards of four games each, one for each generation.
fn filled(shards: u64) -> (TempDir, Store, Vec<ShardInfo>) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    for (number, part) in random_games(4, 4 * shards).chunks(4).enumerate() {
        let generation = number as u32;
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "w", 0, part)
            .unwrap();
    }
    let shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    (folder, store, shards)
}

fn file(store: &Store, shard: &ShardInfo) -> PathBuf {
    store.local_path().unwrap().join(&shard.path)
}

/// Takes what is ready until there are `count` shards.
fn take(loader: &mut Loader, count: usize) -> Vec<ReadShard> {
    let mut taken = Vec::new();
    for _ in 0..6000 {
        taken.append(&mut loader.take_ready().unwrap());
        if taken.len() >= count {
            return taken;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} of {count} shards", taken.len());
}

fn samples(source: &SampleSource) -> String {
    format!("{:?}", source.draw_samples(64, 9, SymmetryMode::Random))
}

#[test]
fn what_is_read_in_the_background_is_drawn_as_if_it_were_read_at_once() {
    follow(&SampleConfig::default());
    follow(&SampleConfig {
        cache: CachePlace::Memory,
        cache_bytes: 30_000,
        ..SampleConfig::default()
    });
    follow(&SampleConfig {
        max_positions: 250,
        ..SampleConfig::default()
    });
}

fn follow(config: &SampleConfig) {
    let (_folder, store, shards) = filled(30);
    let source = || SampleSource::new(config.clone()).holding_out(0.2).with_replies(true);
    let (mut at_once, mut following) = (source(), source());
    let mut loader = following.loader(&store);
    let (mut seen, mut seen_later) = (Vec::new(), Vec::new());
    let note = |seen: &mut Vec<(String, usize)>, shard: &ShardInfo, games: &[GameRecord]| {
        assert!(games.iter().all(|game| game.plies.is_empty()));
        seen.push((shard.path.clone(), games.len()));
    };
    shards.iter().for_each(|shard| loader.offer(shard.clone()).unwrap());
    assert_eq!(loader.positions(), shards.iter().map(ShardInfo::positions).sum::<u64>());
    let mut listed = 0;
    while listed < shards.len() {
        let ready = take(&mut loader, 1);
        let arrived: Vec<_> = ready.iter().map(|shard| shard.info().clone()).collect();
        assert_eq!(
            arrived,
            shards[listed..listed + arrived.len()],
            "in the order of the offers"
        );
        assert!(ready.iter().all(ReadShard::has_games));
        listed += ready.len();
        let window = Window::select(&shards[..listed], WINDOW);
        let load = at_once.load_window(&store, &window, |shard, games| note(&mut seen, shard, games));
        let count = ready.len();
        // Whatever is not ready would be read from the store, which is empty.
        let empty = TempDir::new().unwrap();
        let empty = Store::open(empty.path().to_str().unwrap(), Create::Always).unwrap();
        let later = following.load_window_with(ready, &empty, &window, |shard, games| {
            note(&mut seen_later, shard, games);
        });
        assert_eq!(later.unwrap(), load.unwrap(), "{count} shards");
        assert_eq!(seen_later, seen);
        assert_eq!(following.positions(), at_once.positions());
        assert_eq!(following.held_out_positions(), at_once.held_out_positions());
        assert_eq!(following.disk_bytes(), at_once.disk_bytes());
        assert_eq!(samples(&following), samples(&at_once));
        let held_out = |source: &SampleSource| format!("{:?}", source.draw_held_out(32, 3, SymmetryMode::Random));
        assert_eq!(held_out(&following), held_out(&at_once));
    }
    assert_eq!(loader.positions(), 0);
    assert!(loader.wait_for_next().unwrap().is_none());
    let mut fresh = source();
    fresh
        .load_window(&store, &Window::select(&shards, WINDOW), |_, _| ())
        .unwrap();
    assert_eq!(samples(&fresh), samples(&at_once));
}

/// The first shard is a pipe, so that reading it takes until somebody writes.
#[test]
fn nobody_waits_for_a_slow_store() {
    let (folder, store, shards) = filled(6);
    let slow = file(&store, &shards[0]);
    let real = folder.path().join("real");
    fs::rename(&slow, &real).unwrap();
    mknodat(CWD, &slow, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut loader = SampleSource::new(SampleConfig::default()).loader(&store);
    shards.iter().for_each(|shard| loader.offer(shard.clone()).unwrap());
    // Offered again, they are the same shards.
    shards.iter().for_each(|shard| loader.offer(shard.clone()).unwrap());
    let all: u64 = shards.iter().map(ShardInfo::positions).sum();
    for _ in 0..10 {
        assert!(
            loader.take_ready().unwrap().is_empty(),
            "later shards wait for their turn"
        );
        assert_eq!(loader.positions(), all);
        std::thread::sleep(Duration::from_millis(10));
    }
    // The pipe's end looks like damage, so the shard is read once more, and by now it is there. Without waiting, a pipe
    // only opens for writing if somebody reads from it, and nobody does if the loader came so late that it found the
    // shard.
    let pipe = folder.path().join("pipe");
    fs::rename(&slow, &pipe).unwrap();
    fs::rename(&real, &slow).unwrap();
    for _ in 0..100 {
        if rustix::fs::open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let taken = take(&mut loader, shards.len());
    assert_eq!(
        taken.iter().map(|shard| shard.info().clone()).collect::<Vec<_>>(),
        shards
    );
    assert!(taken.iter().all(ReadShard::has_games));
}

#[test]
fn damaged_pruned_and_missing_shards_are_told_apart() {
    let (_folder, store, shards) = filled(6);
    fs::write(file(&store, &shards[4]), b"damaged").unwrap();
    let plan = store.games().plan_prune(shards[5].positions() + 1).unwrap();
    store.games().prune(&plan).unwrap();
    let mut loader = SampleSource::new(SampleConfig::default()).loader(&store);
    loader.skip(&shards[1..2]);
    shards.iter().for_each(|shard| loader.offer(shard.clone()).unwrap());
    let taken = take(&mut loader, 5);
    let of = |number: usize| taken.iter().find(|shard| *shard.info() == shards[number]);
    assert!(of(1).is_none(), "skipped");
    let gone = of(0).unwrap();
    assert!(!gone.has_games() && gone.damage().is_none(), "pruned");
    let damaged = of(4).unwrap();
    assert!(!damaged.has_games() && damaged.damage().unwrap().contains("bytes"));
    assert!(of(5).unwrap().has_games());
    assert_eq!(store.games().quarantine_notes().unwrap().len(), 1);

    let (_folder, store, shards) = filled(3);
    fs::remove_file(file(&store, &shards[1])).unwrap();
    let mut source = SampleSource::new(SampleConfig::default());
    let mut loader = source.loader(&store);
    shards.iter().for_each(|shard| loader.offer(shard.clone()).unwrap());
    assert_eq!(*loader.wait_for_next().unwrap().unwrap().info(), shards[0]);
    let error = loader.wait_for_next().err().unwrap().to_string();
    let window = Window::select(&shards, WINDOW);
    let expected = source.load_window(&store, &window, |_, _| ()).unwrap_err().to_string();
    assert_eq!(error, expected);
    assert_eq!(*loader.wait_for_next().unwrap().unwrap().info(), shards[2]);
}

#[test]
fn a_merge_between_offer_and_read_loses_nothing() {
    let (_folder, store, shards) = filled(1);
    let generation = &Collection::SelfPlay { generation: 0 };
    let more = store
        .games()
        .publish_games(generation, "w", 1, &random_games(4, 8)[4..])
        .unwrap();
    let settings = CompactSettings {
        keep_positions: 0,
        target_bytes: 1 << 20,
    };
    let newer = Collection::SelfPlay { generation: 9 };
    store
        .games()
        .publish_games(&newer, "w", 2, &random_games(4, 9)[8..])
        .unwrap();
    assert_eq!(store.games().compact(settings, |_, _| ()).unwrap().replaced.shards, 2);
    let mut loader = SampleSource::new(SampleConfig::default()).loader(&store);
    loader.offer(shards[0].clone()).unwrap();
    loader.offer(more).unwrap();
    assert!(take(&mut loader, 2).iter().all(ReadShard::has_games));
}
