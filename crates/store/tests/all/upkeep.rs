//! Pruning and merging: what is dropped, what stays, what is counted, and that no kill loses or duplicates a game.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use tengen_records::{GameKind, GameRecord};
use tengen_samples::{Window, WindowConfig};
use tengen_store::{
    Admission, CheckpointFiles, Collection, CompactSettings, Create, GameTotals, GamesOf, Gather, MatchFile, Promotion,
    ShardReadError, Store, StoreError,
};
use tengen_testing::{Random, STORE_VARIABLE, random_games, random_model, start_helper};

fn new_store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    (folder, store)
}

/// Publishes `per_generation` shards of two games each; all games are different.
fn fill(store: &Store, generations: u32, per_generation: u32) -> Vec<GameRecord> {
    let games = random_games(3, 2 * u64::from(generations * per_generation));
    for (number, part) in games.chunks(2).enumerate() {
        let generation = number as u32 / per_generation;
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "w", number as u64, part)
            .unwrap();
    }
    games
}

/// The id of every game read, in listing order.
fn ids(store: &Store) -> Vec<String> {
    let mut ids = Vec::new();
    for shard in store.games().list_shards(&GamesOf::SelfPlay).unwrap() {
        match store.games().read(&shard) {
            Ok(games) => ids.extend(games.into_iter().map(|game| game.game_id)),
            Err(ShardReadError::Gone { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    ids
}

fn all_ids(games: &[GameRecord]) -> Vec<String> {
    games.iter().map(|game| game.game_id.clone()).collect()
}

const SMALL: CompactSettings = CompactSettings {
    keep_positions: 0,
    target_bytes: 1 << 20,
};

#[test]
fn pruning_drops_old_generations_and_keeps_their_counts() {
    let (_folder, store) = new_store();
    fill(&store, 6, 3);
    let model = store.models().publish(0, &random_model(1)).unwrap();
    let promotion = Promotion::now(&model, None, json!({}));
    store.models().promote(0, &promotion).unwrap();
    store.matches().put("m", MatchFile::Result, "{}").unwrap();
    store.files().put_new("datasets/d/v1/MANIFEST.json", "{}").unwrap();
    let before = store.games().list(&GamesOf::SelfPlay).unwrap();
    let newest: u64 = before.shards[12..].iter().map(|shard| shard.positions()).sum();
    let config = WindowConfig {
        base_positions: 10,
        fraction: 0.2,
    };
    let window = |store: &Store| {
        let listing = store.games().list(&GamesOf::SelfPlay).unwrap();
        Window::select_after(listing.pruned.positions, &listing.shards, config)
    };
    let window_before = window(&store);
    let others = |store: &Store| -> Vec<_> {
        let files = store.files().list("").unwrap().into_iter();
        files
            .filter(|(path, _)| !path.starts_with("games/") && !path.starts_with("changes/"))
            .filter(|(path, _)| !path.ends_with(".lock"))
            .collect()
    };
    let others_before = others(&store);

    let plan = store.games().plan_prune(newest).unwrap();
    assert_eq!(
        store.games().list(&GamesOf::SelfPlay).unwrap(),
        before,
        "planning changes nothing"
    );
    let numbers: Vec<u32> = plan
        .generations
        .iter()
        .map(|generation| generation.generation)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert_eq!(plan.freed().plus(plan.kept), GameTotals::of(&before.shards));
    store.games().prune(&plan).unwrap();

    let after = store.games().list(&GamesOf::SelfPlay).unwrap();
    assert_eq!(after.shards, before.shards[12..]);
    assert_eq!((after.pruned, after.published()), (plan.freed(), before.published()));
    assert_eq!(
        window(&store),
        Window {
            is_all: false,
            ..window_before
        },
        "the window must not shrink"
    );
    assert_eq!(others(&store), others_before, "nothing else is touched");
    assert!(matches!(
        store.games().read(&before.shards[0]),
        Err(ShardReadError::Gone { .. })
    ));
    assert_eq!(
        store.files().folders("games/v1/kind=selfplay").unwrap(),
        ["gen=g000004", "gen=g000005"]
    );
    let damaged = store.verify(|_, _| {}).unwrap().damaged;
    let paths: Vec<_> = damaged.iter().map(|damage| damage.path.as_str()).collect();
    assert_eq!(
        paths,
        ["datasets/d/v1/MANIFEST.json"],
        "only the placeholder manifest is damaged"
    );
    assert!(
        matches!(store.games().prune(&plan), Err(StoreError::Contended { .. })),
        "a plan can be executed only once"
    );
    // The newest generation stays, whatever is requested.
    assert_eq!(store.games().plan_prune(0).unwrap().generations.len(), 1);
}

/// A run goes on while its store is checked: shards are merged, pruned, imported, and published, models and checkpoints
/// come and go. None of it is damage, and no game is missed or counted twice.
#[test]
fn a_store_is_sound_whatever_others_do_while_it_is_verified() {
    let other = |store: &Store| Store::open(store.location(), Create::Never).unwrap();
    let import = |store: &Store| {
        let collection = Collection::Import { name: "i".to_owned() };
        let mut games = random_games(2, 40).split_off(38);
        games.iter_mut().for_each(|game| game.kind = GameKind::Import);
        let mut admission = Admission::new(store).unwrap();
        admission.admit(&collection, 0, &mut games).unwrap().unwrap();
    };
    let publish = |store: &Store| {
        let collection = Collection::SelfPlay { generation: 9 };
        let games = random_games(2, 40).split_off(36);
        store
            .games()
            .publish_games(&collection, "late", 0, &games[..2])
            .unwrap();
        let files = CheckpointFiles::from([("a".to_owned(), "b".into())]);
        store.checkpoints().put(7, &files).unwrap();
    };
    // Merges or prunes after this many of the shards were read.
    for after in [1, 2, 5, 12] {
        for is_merge in [true, false] {
            let (_folder, store) = new_store();
            let games = fill(&store, 4, 3).len() as u64;
            let mut kept = games;
            let mut calls = 0;
            let report = store
                .verify(|_, _| {
                    calls += 1;
                    if calls != after {
                        return;
                    }
                    let store = other(&store);
                    match is_merge {
                        true => drop(store.games().compact(SMALL, |_, _| {}).unwrap()),
                        false => {
                            let plan = store.games().plan_prune(1).unwrap();
                            kept -= plan.freed().games;
                            store.games().prune(&plan).unwrap();
                        }
                    }
                    import(&store);
                    publish(&store);
                })
                .unwrap();
            let case = format!("merge {is_merge} after {after}: {report:?}");
            assert_eq!((&report.damaged, report.doubled_games), (&Vec::new(), 0), "{case}");
            assert!(report.strangers.is_empty() && report.uncounted.is_empty(), "{case}");
            // The imported games are read as well; what was published meanwhile need not be.
            assert_eq!(report.games, kept + 2, "{case}");
        }
    }
}

#[test]
fn merging_keeps_every_game_in_order() {
    let (_folder, store) = new_store();
    let games = fill(&store, 4, 5);
    let before = store.games().list(&GamesOf::SelfPlay).unwrap();
    let plan = store.games().plan_compact(SMALL).unwrap();
    assert_eq!((plan.replaced.shards, plan.merged.shards), (15, 3));
    let report = store.games().compact(SMALL, |_, _| {}).unwrap();
    assert_eq!(
        (report.replaced, report.merged.games),
        (plan.replaced, plan.replaced.games)
    );
    let after = store.games().list(&GamesOf::SelfPlay).unwrap();
    assert_eq!(after.shards.len(), 3 + 5, "the newest generation is left alone");
    assert_eq!(after.published().positions, before.published().positions);
    assert_eq!(ids(&store), all_ids(&games));
    // A reader with an older listing still finds the games of every shard, and only those.
    let late = Store::open(store.location(), Create::Never).unwrap();
    for (shard, expected) in before.shards.iter().zip(games.chunks(2)) {
        assert_eq!(late.games().read(shard).unwrap(), expected);
    }
    assert!(store.verify(|_, _| {}).unwrap().strangers.is_empty());
    // Later games are merged with the rest, into as many shards as before.
    let late_games = random_games(2, 2);
    let generation = Collection::SelfPlay { generation: 1 };
    store
        .games()
        .publish_games(&generation, "late", 0, &late_games)
        .unwrap();
    assert_eq!(store.games().compact(SMALL, |_, _| {}).unwrap().replaced.shards, 2);
    assert_eq!(late.games().read(&before.shards[7]).unwrap(), games[14..16]);
    assert_eq!(store.games().compact(SMALL, |_, _| {}).unwrap().replaced.shards, 0);
    let error = store
        .games()
        .publish_games(&generation, "merged", 0, &late_games)
        .unwrap_err();
    assert!(matches!(error, StoreError::BadName { .. }), "{error}");
}

#[test]
fn damaged_and_large_shards_are_not_merged() {
    let (_folder, store) = new_store();
    let games = fill(&store, 2, 4);
    let shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    std::fs::write(store.local_path().unwrap().join(&shards[1].path), "damaged").unwrap();
    let report = store.games().compact(SMALL, |_, _| {}).unwrap();
    assert_eq!(report.replaced.shards, 3);
    let listing = store.games().list(&GamesOf::SelfPlay).unwrap();
    assert_eq!(listing.damaged.len(), 1);
    let good: Vec<GameRecord> = games[..2].iter().chain(&games[4..]).cloned().collect();
    assert_eq!(ids(&store), all_ids(&good));
    let tiny = CompactSettings {
        target_bytes: 100,
        ..SMALL
    };
    assert_eq!(store.games().plan_compact(tiny).unwrap().merged.shards, 0);
}

/// A missing merged shard takes games with it, which is damage.
#[test]
fn a_missing_merged_shard_is_reported() {
    let (_folder, store) = new_store();
    fill(&store, 2, 4);
    store.games().compact(SMALL, |_, _| {}).unwrap();
    let merged = store.games().list_shards(&GamesOf::SelfPlay).unwrap().remove(0);
    store.files().delete(&merged.path).unwrap();
    let report = store.verify(|_, _| {}).unwrap();
    assert_eq!(report.damaged[0].path, merged.path);
    assert!(!report.is_sound());
}

/// Flips every bit of a note, one at a time. A note that is not what was written must stop every reader: it decides
/// which games count.
#[test]
fn every_flipped_bit_of_a_note_is_detected() {
    let (_folder, store) = new_store();
    fill(&store, 2, 3);
    store.games().compact(SMALL, |_, _| {}).unwrap();
    let path = store.local_path().unwrap().join("changes/000001.json");
    let note = std::fs::read(&path).unwrap();
    for bit in 0..8 * note.len() {
        let mut flipped = note.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, flipped).unwrap();
        let fresh = Store::open(store.location(), Create::Never).unwrap();
        let error = fresh.games().list(&GamesOf::All).expect_err(&format!("bit {bit}"));
        assert!(error.to_string().contains("changes/000001.json"), "bit {bit}: {error}");
    }
}

/// The notes of earlier versions have no hash. They still count, but not with other keys or without one.
#[test]
fn notes_without_a_hash_are_read_if_they_are_complete() {
    let (_folder, store) = new_store();
    fill(&store, 2, 3);
    store.games().compact(SMALL, |_, _| {}).unwrap();
    let expected = ids(&store);
    let path = store.local_path().unwrap().join("changes/000001.json");
    let note = std::fs::read_to_string(&path).unwrap();
    let (old, _) = note.split_once(",\"sha256\"").unwrap();
    let old = format!("{old}}}");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let fresh = Store::open(store.location(), Create::Never).unwrap();
        let listed = fresh.games().list(&GamesOf::All);
        listed.map(|_| ids(&fresh)).map_err(|error| error.to_string())
    };
    assert_eq!(read(&old), Ok(expected));
    for (from, to) in [("merged", "mergfd"), ("pruned", "qruned"), ("into", "intn")] {
        let error = read(&old.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains("changes/000001.json") && error.contains(to), "{error}");
        assert!(error.contains("tengen data merge STORE --yes"), "{error}");
    }
}

/// If a note is lost, the shards that only it counted are named, kept, and counted again by the next merge.
#[test]
fn merged_shards_survive_the_loss_of_their_note() {
    let (_folder, store) = new_store();
    let games = fill(&store, 3, 3);
    store.games().compact(SMALL, |_, _| {}).unwrap();
    assert_eq!(ids(&store), all_ids(&games));
    let note = store.local_path().unwrap().join("changes/000001.json");
    let empty = r#"{"format_version":"1.1","changed_ms":0,"merged":[],"pruned":[]}"#;
    for lost in [None, Some(empty)] {
        match lost {
            None => std::fs::remove_file(&note).unwrap(),
            Some(text) => std::fs::write(&note, text).unwrap(),
        }
        let store = Store::open(store.location(), Create::Never).unwrap();
        assert_eq!(ids(&store).len(), 6, "the newest generation was not merged");
        let report = store.verify(|_, _| {}).unwrap();
        let unique: Vec<u64> = report.uncounted.iter().map(|shard| shard.unique_games).collect();
        assert_eq!((unique.as_slice(), report.damaged.len()), (&[6, 6][..], 2));
        assert!(
            report.damaged[0]
                .reason
                .contains("6 of its games are in no other shard"),
            "{:?}",
            report.damaged
        );
        let merged = store.games().compact(SMALL, |_, _| {}).unwrap();
        assert_eq!((merged.counted_again.len(), merged.deleted_files), (2, 0));
        assert_eq!(ids(&store), all_ids(&games));
        assert!(store.verify(|_, _| {}).unwrap().is_sound());
        // The second round begins with a single note again.
        for number in 2..=3 {
            let _ = std::fs::remove_file(note.with_file_name(format!("{number:06}.json")));
        }
    }
}

/// A shard that holds some games alone and others beside a shard that counts can neither count nor be deleted.
#[test]
fn a_merge_keeps_a_shard_with_games_of_its_own() {
    let (_folder, store) = new_store();
    let games = fill(&store, 2, 3);
    let first = store.games().list_shards(&GamesOf::SelfPlay).unwrap().remove(0);
    let bytes = store.files().require(&first.path).unwrap();
    store.games().compact(SMALL, |_, _| {}).unwrap();
    store.files().delete("changes/000001.json").unwrap();
    store.files().put_new(&first.path, bytes).unwrap();
    let store = Store::open(store.location(), Create::Never).unwrap();
    let merged = store.games().compact(SMALL, |_, _| {}).unwrap();
    assert_eq!((merged.uncounted.len(), merged.deleted_files), (1, 0));
    assert!(store.files().size_of(&merged.uncounted[0]).unwrap().is_some());
    assert_eq!(ids(&store).len(), games.len() - 4);
    assert!(!store.verify(|_, _| {}).unwrap().is_sound());
}

/// Two shards with the same game are both counted; whoever checks the store learns of it.
#[test]
fn games_that_two_shards_hold_are_named() {
    let (_folder, store) = new_store();
    let games = fill(&store, 1, 3);
    let again = &games[1..3];
    store
        .games()
        .publish_games(&Collection::SelfPlay { generation: 7 }, "w", 9, again)
        .unwrap();
    let report = store.verify(|_, _| {}).unwrap();
    assert_eq!(report.doubled_games, 2);
    let [shard] = report.damaged.as_slice() else {
        panic!("{:?}", report.damaged);
    };
    assert!(shard.path.contains("gen=g000007"), "{}", shard.path);
    for part in ["found 2", &games[1].game_id, "gen=g000000", "--into"] {
        assert!(shard.reason.contains(part), "{}", shard.reason);
    }
}

#[test]
fn stores_are_gathered_game_by_game() {
    let (_folder, target) = new_store();
    let (_folder_a, a) = new_store();
    let (_folder_b, b) = new_store();
    let games = fill(&a, 2, 3);
    a.games().compact(SMALL, |_, _| {}).unwrap();
    // The second store has two of the first store's games in a shard of its own.
    let mut others = random_games(4, 30).split_off(25);
    others.extend_from_slice(&games[..2]);
    b.games()
        .publish_games(&Collection::SelfPlay { generation: 9 }, "w", 0, &others)
        .unwrap();
    for round in 0..2 {
        let mut gather = Gather::new(target.games()).unwrap();
        gather.add(a.games(), |_, _| {}).unwrap();
        gather.add(b.games(), |_, _| {}).unwrap();
        let report = gather.finish();
        let expected = if round == 0 { (17, 2) } else { (0, 19) };
        assert_eq!((report.copied.games, report.repeated_games), expected);
        let mut found = ids(&target);
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 17);
        assert_eq!(target.games().list(&GamesOf::All).unwrap().published().games, 17);
    }
}

/// Merges and prunes until it is killed or there is nothing left to do.
#[test]
#[ignore = "a helper process; run: cargo test -p tengen-store --test all upkeep"]
fn endless_upkeep() {
    let Ok(location) = std::env::var(STORE_VARIABLE) else {
        return;
    };
    let store = Store::open(&location, Create::Never).unwrap();
    writeln!(std::io::stderr(), "ready").unwrap();
    store.games().compact(SMALL, |_, _| {}).unwrap();
    let plan = store.games().plan_prune(40).unwrap();
    store.games().prune(&plan).unwrap();
}

/// At every moment and after every kill, each game is listed once or counted as pruned, also for a reader that reads
/// while shards are merged and dropped.
#[test]
fn killed_upkeep_loses_and_duplicates_nothing() {
    let (_folder, store) = new_store();
    let mut random = Random::new(8);
    let mut published = BTreeMap::new();
    let mut kills = 0;
    let (mut merged, mut pruned) = (0, 0);
    for round in 0..24u32 {
        for (number, game) in random_games(2, 12).into_iter().enumerate() {
            let game_id = format!("{round}-{number}");
            let generation = (round * 3) / 2 + number as u32 % 3;
            published.insert(game_id.clone(), game.plies.len() as u64);
            let game = GameRecord { game_id, ..game };
            store
                .games()
                .publish_games(&Collection::SelfPlay { generation }, "w", number as u64, &[game])
                .unwrap();
        }
        let mut child = start_helper("upkeep::endless_upkeep", store.location());
        let killed_at = std::time::Instant::now() + Duration::from_micros(random.below(40_000) as u64);
        // Now and then one may finish: on a busy machine the others get nowhere before they are killed.
        let may_finish = round % 6 == 5;
        while child.try_wait().unwrap().is_none() && (may_finish || std::time::Instant::now() < killed_at) {
            check(&store, &published);
        }
        child.kill().unwrap();
        kills += u32::from(!child.wait().unwrap().success());
        let listing = check(&store, &published);
        merged += u64::from(listing.shards.iter().any(|shard| shard.games() > 1));
        pruned = listing.pruned.games;
    }
    assert!(kills >= 6, "{kills} of 24 processes were killed while working");
    assert!(
        merged > 0 && pruned > 0,
        "it merged {merged} times and pruned {pruned} games"
    );
    assert!(store.verify(|_, _| {}).unwrap().damaged.is_empty());
}

fn check(store: &Store, published: &BTreeMap<String, u64>) -> tengen_store::GamesListing {
    let listing = store.games().list(&GamesOf::SelfPlay).unwrap();
    let mut seen = BTreeMap::new();
    let mut gone = 0;
    for shard in &listing.shards {
        match store.games().read(shard) {
            Ok(games) => {
                assert_eq!(games.len() as u64, shard.games());
                for game in games {
                    let before = seen.insert(game.game_id.clone(), ());
                    assert_eq!(before, None, "game {} was read twice", game.game_id);
                }
            }
            Err(ShardReadError::Gone { .. }) => gone += shard.games(),
            Err(error) => panic!("{error}"),
        }
    }
    let totals = listing.published();
    assert_eq!(totals.games, published.len() as u64);
    assert_eq!(totals.positions, published.values().sum::<u64>());
    assert_eq!(seen.len() as u64 + gone + listing.pruned.games, totals.games);
    listing
}

#[test]
fn only_old_models_that_were_never_promoted_are_pruned() {
    let (folder, store) = new_store();
    let models = store.models();
    let ids: Vec<_> = (0..7)
        .map(|generation| models.publish(generation, &random_model(generation.into())).unwrap())
        .collect();
    assert_eq!(models.plan_prune(0).unwrap(), [], "nothing is older than the champion");
    for (number, generation) in [0, 2, 5].into_iter().enumerate() {
        let promotion = Promotion::now(&ids[generation], None, json!({}));
        models.promote(number as u32 + 1, &promotion).unwrap();
    }
    let planned = |keep| -> Vec<_> {
        let plan = models.plan_prune(keep).unwrap();
        plan.into_iter().map(|(id, _)| id.generation()).collect()
    };
    // The gate has yet to decide on generation 6.
    assert_eq!(
        (planned(0), planned(3), planned(100)),
        (vec![1, 3, 4], vec![1, 3], vec![])
    );
    let plan = models.plan_prune(3).unwrap();
    let size =
        |id: &_| std::fs::metadata(folder.path().join(format!("models/{id}/weights.safetensors"))).map(|m| m.len());
    assert_eq!(plan[0].1, size(&ids[1]).unwrap());

    // A kill between the files of the second model.
    models.prune(&plan[..1]).unwrap();
    store
        .files()
        .delete(&format!("models/{}/weights.safetensors", ids[3]))
        .unwrap();
    assert!(matches!(models.load(&ids[3]), Err(StoreError::NotFound { .. })));
    let rest = models.plan_prune(3).unwrap();
    assert_eq!(rest, [(ids[3].clone(), 0)]);
    models.prune(&rest).unwrap();
    assert_eq!(models.plan_prune(3).unwrap(), []);
    let left: Vec<u32> = models
        .list()
        .unwrap()
        .iter()
        .map(tengen_model::ModelId::generation)
        .collect();
    assert_eq!(left, [0, 2, 4, 5, 6]);
    assert!(
        left.iter()
            .all(|&generation| models.load(&ids[generation as usize]).is_ok())
    );
    assert_eq!(models.champion().unwrap().unwrap().1.model_id, ids[5]);
}
