//! What is asked of a store, and that a look at it costs the same however long the run is.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use tengen_store::{
    Collection, CompactSettings, Create, GamesOf, Operations, Patience, Promotion, ShardInfo, Store, StoreError,
};
use tengen_testing::{random_games, random_model};

use crate::faulty::faulty_store;

fn new_store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    (folder, store)
}

/// What `work` asks of the store, without the time it takes.
fn asked(store: &Store, work: impl FnOnce()) -> Operations {
    let before = store.operations();
    work();
    Operations {
        nanoseconds: 0,
        ..store.operations().since(before)
    }
}

#[test]
fn every_call_is_counted() {
    let (_folder, store) = new_store();
    let files = store.without_patience().files().clone();
    let counted = asked(&store, || {
        files.put_new("notes/a", "12345").unwrap();
        files.put_new("notes/a", "123").unwrap();
        files.replace("notes/b", "1234").unwrap();
        files.get("notes/a").unwrap();
        files.get("notes/missing").unwrap();
        files.size_of("notes/a").unwrap();
        files.list("notes").unwrap();
        files.list("empty").unwrap();
        files.folders("").unwrap();
        files.modified("notes").unwrap();
        files.delete("notes/a").unwrap();
        files.delete("notes/a").unwrap();
    });
    let expected = Operations {
        gets: 2,
        puts: 3,
        lists: 4,
        heads: 1,
        deletes: 2,
        listed: 5,
        bytes_read: 5,
        bytes_written: 9,
        ..Operations::default()
    };
    assert_eq!(counted, expected);
    assert_eq!(counted.requests(), 12);
    assert!(store.operations().mean_seconds() > 0.0);
    let text = serde_json::to_string(&counted).unwrap();
    assert_eq!(serde_json::from_str::<Operations>(&text).unwrap(), counted);
}

#[test]
fn a_long_listing_counts_as_several_requests() {
    let (store, _) = faulty_store();
    for number in 0..1001 {
        store.files().put_new(&format!("many/{number}"), "x").unwrap();
    }
    let counted = asked(&store, || drop(store.files().list("many").unwrap()));
    assert_eq!((counted.lists, counted.listed), (2, 1001));
}

#[test]
fn every_attempt_of_a_patient_call_is_counted() {
    let (store, faults) = faulty_store();
    let patient = store.with_patience(Patience {
        limit: Duration::from_secs(20),
        give_up: AtomicBool::new(false).into(),
    });
    faults.plan(0, 2, false);
    let counted = asked(&store, || patient.files().replace("notice", "here").unwrap());
    assert_eq!((counted.puts, counted.failures, counted.bytes_written), (3, 2, 4));
}

#[test]
fn readers_of_a_replaced_file_see_the_old_or_the_new_bytes() {
    let (_folder, store) = new_store();
    let notice = |number: u8| vec![number; 100_000 + usize::from(number)];
    store.files().replace("notices/trainer", notice(0)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut reads = 0;
                    while reads < 10 || !done.load(Ordering::SeqCst) {
                        let found = store.files().get("notices/trainer").unwrap().unwrap();
                        assert_eq!(found, notice(found[0]), "a whole notice");
                        let listed = store.files().list("notices").unwrap();
                        assert_eq!(listed.len(), 1, "{listed:?}");
                        reads += 1;
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..2)
            .map(|of| {
                let (store, notice) = (&store, &notice);
                scope.spawn(move || {
                    for number in 0..100 {
                        store
                            .files()
                            .replace("notices/trainer", notice(2 * number + of))
                            .unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::SeqCst);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn files_are_listed_with_the_time_of_their_last_change() {
    let (folder, store) = new_store();
    store.files().put_new("workers/b", "123").unwrap();
    store.files().put_new("workers/a", "1").unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_millis(1_600_000_000_123);
    let file = fs::File::options()
        .append(true)
        .open(folder.path().join("workers/a"))
        .unwrap();
    file.set_modified(long_ago).unwrap();
    let listed = store.files().modified("workers").unwrap();
    assert_eq!(listed[0], ("workers/a".to_owned(), 1, 1_600_000_000_123));
    let (path, bytes, time) = &listed[1];
    assert_eq!((path.as_str(), *bytes), ("workers/b", 3));
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_millis() as u64;
    assert!((now - 60_000..=now + 1000).contains(time), "{time}");
    store.files().replace("workers/a", "12").unwrap();
    assert!(store.files().modified("workers").unwrap()[0].2 > now - 60_000);
}

fn selfplay(generation: u32) -> Collection {
    Collection::SelfPlay { generation }
}

/// Publishes one shard of one game for each of these generations.
fn fill(store: &Store, generations: impl IntoIterator<Item = u32>) -> Vec<ShardInfo> {
    let publish = |(sequence, generation): (usize, u32)| {
        let games = random_games(3, sequence as u64 + 1).split_off(sequence);
        let shard = store
            .games()
            .publish_games(&selfplay(generation), "w", sequence as u64, &games);
        shard.unwrap()
    };
    generations.into_iter().enumerate().map(publish).collect()
}

const ALL: CompactSettings = CompactSettings {
    keep_positions: 0,
    target_bytes: 1 << 20,
};

fn reopened(store: &Store) -> Store {
    Store::open(store.location(), Create::Never).unwrap()
}

#[test]
fn change_notes_are_listed_once_and_then_asked_for_one_by_one() {
    let (_folder, store) = new_store();
    fill(&store, [0, 0, 1, 1, 2]);
    let reader = reopened(&store);
    let everything = || reader.games().list(&GamesOf::SelfPlay).unwrap();
    let first = asked(&reader, || drop(everything()));
    assert_eq!(
        (first.lists, first.gets),
        (3, 1),
        "notes, games, quarantine; notes again"
    );
    let second = asked(&reader, || drop(everything()));
    assert_eq!((second.lists, second.gets), (2, 2));

    // Two notes appear: each is read once, and every listing agrees with that of a process that starts now.
    store.games().compact(ALL, |_, _| {}).unwrap();
    let plan = store.games().plan_prune(1).unwrap();
    store.games().prune(&plan).unwrap();
    let third = asked(&reader, || {
        assert_eq!(everything(), reopened(&store).games().list(&GamesOf::SelfPlay).unwrap());
    });
    assert_eq!((third.lists, third.gets), (2, 4), "two notes, and twice none");
}

#[test]
fn a_bounded_look_sees_what_a_full_listing_sees_in_its_generations() {
    let (_folder, store) = new_store();
    fill(&store, [0, 0, 3, 4, 4, 5]);
    let reader = reopened(&store);
    let check = |store: &Store| {
        let newest = store.games().newest(3..=5).unwrap();
        let full = store.games().list(&GamesOf::SelfPlay).unwrap();
        let of = |shards: &[ShardInfo]| -> Vec<ShardInfo> {
            let new = shards.iter().filter(|shard| shard.generation() >= 3);
            new.cloned().collect()
        };
        assert_eq!(newest, of(&full.shards));
        newest
    };
    assert_eq!(check(&reader).len(), 4);
    // It asks for the generations and for the note that would follow, whatever else there is.
    let counted = asked(&reader, || drop(reader.games().newest(4..=5).unwrap()));
    assert_eq!((counted.lists, counted.listed, counted.gets), (2, 3, 2));

    // Merged shards replace their sources, and a pruned generation disappears.
    store.games().compact(ALL, |_, _| {}).unwrap();
    assert_eq!(check(&reader).len(), 3);
    store.games().prune(&store.games().plan_prune(1).unwrap()).unwrap();
    assert_eq!(check(&reader).len(), 1);
    assert!(reader.games().newest(7..=9).unwrap().is_empty());
}

#[test]
fn a_bounded_look_knows_the_damage_that_its_process_found() {
    let (folder, store) = new_store();
    let shards = fill(&store, [1, 1, 2]);
    for shard in &shards[..2] {
        fs::write(folder.path().join(&shard.path), b"damaged").unwrap();
    }
    let (finder, other) = (reopened(&store), reopened(&store));
    finder.games().read(&shards[0]).unwrap_err();
    let paths = |shards: &[ShardInfo]| -> Vec<String> { shards.iter().map(|shard| shard.path.clone()).collect() };
    let found = |store: &Store| paths(&store.games().newest(1..=2).unwrap());
    assert_eq!(found(&finder), paths(&shards[1..]));
    assert_eq!(found(&other), paths(&shards));
    // The others know it from their next listing on.
    let listed = other.games().list(&GamesOf::SelfPlay).unwrap();
    assert_eq!(paths(&listed.damaged), paths(&shards[..1]));
    assert_eq!(found(&other), paths(&shards[1..]));
    // Without a note, only the process that found the damage skips the shard.
    fs::remove_dir_all(folder.path().join("quarantine")).unwrap();
    fs::write(folder.path().join("quarantine"), b"in the way").unwrap();
    finder.games().read(&shards[1]).unwrap_err();
    assert_eq!(found(&finder), paths(&shards[2..]));
    assert_eq!(found(&other), paths(&shards[1..]));
}

#[test]
fn the_champion_after_a_known_one_is_found_without_a_listing() {
    let (_folder, store) = new_store();
    let promote = |number: u32| {
        let model = store
            .models()
            .publish(number, &random_model(u64::from(number)))
            .unwrap();
        let promotion = Promotion::now(&model, None, serde_json::Value::Null);
        store.models().promote(number, &promotion).unwrap();
    };
    let after = |number: u32| store.models().champion_after(number).unwrap();
    assert_eq!(after(0), None);
    (0..4).for_each(promote);
    assert_eq!(after(0), store.models().champion().unwrap());
    assert_eq!(after(2).unwrap().0, 3);
    let counted = asked(&store, || assert_eq!(after(3), None));
    assert_eq!((counted.gets, counted.lists), (1, 0));
    assert_eq!(after(u32::MAX), None);
    store.files().put_new("promotions/000004.json", "nonsense").unwrap();
    assert!(matches!(
        store.models().champion_after(3),
        Err(StoreError::Damaged { .. })
    ));
}
