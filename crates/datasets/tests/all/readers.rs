//! Every reader sees each game exactly once, wherever a merge was killed.

use std::sync::Arc;

use crate::exports::{export, options};
use crate::faulty::{faulty_handle, faulty_store};
use object_store::memory::InMemory;
use tempfile::TempDir;

use tengen_datasets::{DatasetFilter, FileFormat, What, sample, stats};
use tengen_records::TreeShape;
use tengen_samples::{CachePlace, SampleConfig, SampleSource, Window, WindowConfig};
use tengen_store::{Collection, CompactSettings, GamesOf, Gather, Store};
use tengen_testing::random_games;

/// What each reader finds: game ids, or numbers of games and positions.
#[derive(Debug, PartialEq)]
struct Found {
    shards: Vec<String>,
    window: (u64, u64, u64),
    training: (usize, u64),
    stats: (u64, u64),
    export: (u64, u64),
    sample: Vec<(String, Vec<usize>)>,
    verify: (u64, u64, bool),
    gather: (u64, u64),
}

fn read(store: &Store) -> Found {
    let listing = store.games().list(&GamesOf::SelfPlay).unwrap();
    let mut shards = Vec::new();
    for shard in &listing.shards {
        shards.extend(store.games().read(shard).unwrap().into_iter().map(|game| game.game_id));
    }
    let all = WindowConfig {
        base_positions: u64::MAX,
        fraction: 0.0,
    };
    let window = Window::select_after(listing.pruned.positions, &listing.shards, all);
    let in_memory = SampleConfig {
        cache: CachePlace::Memory,
        ..SampleConfig::default()
    };
    let mut source = SampleSource::new(in_memory);
    source.load_window(store, &window, |_, _| {}).unwrap();
    let filter = DatasetFilter::default();
    let stats = stats(store, &filter, TreeShape::default(), |_, _| ()).unwrap().games;
    let folder = TempDir::new().unwrap();
    let dataset = export(
        store,
        &folder.path().join("out"),
        &options(What::Positions, FileFormat::Parquet),
    )
    .unwrap();
    let mut sampled = Vec::new();
    sample(store, (What::Positions, 7), &filter, &mut |_| true, &mut |drawn| {
        sampled.push((drawn.game.game_id.clone(), drawn.plies.to_vec()));
    })
    .unwrap();
    let report = store.verify(|_, _| {}).unwrap();
    let mut gather = Gather::new(faulty_store().0.games()).unwrap();
    gather.add(store.games(), |_, _| {}).unwrap();
    let gathered = gather.finish();
    Found {
        shards,
        window: (window.games, window.positions, window.total_positions),
        training: (source.games(), source.positions()),
        stats: (stats.games, stats.positions),
        export: (dataset.manifest.games, dataset.manifest.rows),
        sample: sampled,
        verify: (report.games, report.positions, report.is_sound()),
        gather: (gathered.copied.games, gathered.repeated_games),
    }
}

/// A merge dies at its first, second, … call, before or after the call took effect. Every reader then reads the store
/// from scratch, and again after the next merge.
#[test]
fn a_killed_merge_shows_every_reader_each_game_once() {
    let settings = CompactSettings {
        keep_positions: 0,
        target_bytes: 1 << 20,
    };
    let games = random_games(2, 8);
    let mut expected = None;
    for after_writing in [false, true] {
        for call in 0.. {
            let objects: Arc<InMemory> = Arc::default();
            let (store, faults) = faulty_handle(&objects);
            for (number, game) in games.iter().enumerate() {
                let generation = number as u32 / 4;
                let collection = Collection::SelfPlay { generation };
                let game = std::slice::from_ref(game);
                store
                    .games()
                    .publish_games(&collection, "w", number as u64, game)
                    .unwrap();
            }
            let fresh = || faulty_handle(&objects).0;
            let expected = expected.get_or_insert_with(|| read(&fresh()));
            faults.plan(call, u64::MAX, after_writing);
            let died = store.games().compact(settings, |_, _| {});
            let struck = faults.heal(u64::MAX);
            assert_eq!(&read(&fresh()), expected, "call {call}, after writing: {after_writing}");
            let again = fresh().games().compact(settings, |_, _| {}).unwrap();
            assert_eq!(fresh().games().list(&GamesOf::SelfPlay).unwrap().shards.len(), 5);
            if !struck {
                assert_eq!((died.unwrap().merged.shards, again.merged.shards), (1, 0));
                assert!(call > 10, "only {call} calls could fail");
                break;
            }
        }
    }
    let expected = expected.unwrap();
    assert_eq!(
        (expected.shards.len(), expected.gather, expected.stats.0),
        (8, (8, 0), 8)
    );
    assert!(expected.training.1 > 0 && expected.export.0 == 8 && expected.verify.2);
}
