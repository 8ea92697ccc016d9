//! Checkpoints: the newest intact one is found, and damaged ones are set aside, named once, and replaced.

use std::fs;

use tengen_store::{CheckpointFiles, Create, Store};

use crate::store::{file_of, new_store};

#[test]
fn the_newest_intact_checkpoint_is_found() {
    let (_folder, store) = new_store();
    let files = |text: &str| -> CheckpointFiles {
        [("weights.bin", text.to_owned()), ("state.json", format!("{text}!"))]
            .into_iter()
            .map(|(name, text)| (name.to_owned(), text.into()))
            .collect()
    };
    assert!(store.checkpoints().latest().unwrap().is_none());
    for (step, text) in [(10, "a"), (200, "b"), (3000, "c")] {
        store.checkpoints().put(step, &files(text)).unwrap();
    }
    // A crash before the commit mark leaves no checkpoint; the next attempt replaces the remains.
    store
        .files()
        .put_new("checkpoints/000004000/weights.bin", "half")
        .unwrap();
    assert_eq!(store.checkpoints().list().unwrap(), [10, 200, 3000]);
    assert_eq!(store.checkpoints().latest().unwrap().unwrap(), (3000, files("c")));
    store.checkpoints().prune(2).unwrap();
    assert!(
        store
            .files()
            .size_of("checkpoints/000004000/weights.bin")
            .unwrap()
            .is_some()
    );
    store.checkpoints().put(10, &files("a")).unwrap();
    store.checkpoints().put(4000, &files("d")).unwrap();
    assert_eq!(store.checkpoints().latest().unwrap().unwrap(), (4000, files("d")));
    // A damaged checkpoint is skipped.
    fs::write(file_of(&store, "checkpoints/000004000/state.json"), "x").unwrap();
    assert_eq!(store.checkpoints().latest().unwrap().unwrap(), (3000, files("c")));
    // Older than the newest one, an unfinished checkpoint is a leftover.
    store
        .files()
        .put_new("checkpoints/000002500/weights.bin", "half")
        .unwrap();
    assert_eq!(opened_again(&store).checkpoints().prune(2).unwrap().steps, [10]);
    assert!(store.files().list("checkpoints/000002500").unwrap().is_empty());
    assert_eq!(store.checkpoints().list().unwrap(), [200, 3000]);
    assert!(store.files().list("checkpoints/000000010").unwrap().is_empty());
}

/// The store as a process sees it that starts now.
fn opened_again(store: &Store) -> Store {
    Store::open(store.location(), Create::Never).unwrap()
}

#[test]
fn a_damaged_checkpoint_is_set_aside_and_costs_no_good_one() {
    let (_folder, store) = new_store();
    let files = |text: &str| CheckpointFiles::from([("weights.bin".to_owned(), text.to_owned().into())]);
    for (step, text) in [(10, "a"), (20, "b"), (30, "c")] {
        store.checkpoints().put(step, &files(text)).unwrap();
    }
    fs::write(file_of(&store, "checkpoints/000000030/weights.bin"), "x").unwrap();
    fs::remove_file(file_of(&store, "checkpoints/000000020/weights.bin")).unwrap();
    // What a starting process deletes leaves the good one, however few are kept.
    let store = opened_again(&store);
    let pruned = store.checkpoints().prune(1).unwrap();
    assert_eq!(pruned.steps, [] as [u64; 0]);
    let named: Vec<&str> = pruned.damaged.iter().map(|note| note.shard.as_str()).collect();
    assert_eq!(named, ["checkpoints/000000030", "checkpoints/000000020"]);
    assert!(pruned.damaged[0].reason.contains("expected SHA-256"), "{pruned:?}");
    // Now they are skipped without another word, and listed as damaged.
    let store = opened_again(&store);
    let recovered = store.checkpoints().recover().unwrap();
    assert_eq!(
        (recovered.newest.unwrap(), recovered.damaged.len()),
        ((10, files("a")), 0)
    );
    assert_eq!(store.checkpoints().list().unwrap(), [10]);
    assert_eq!(store.games().quarantine_notes().unwrap().len(), 2);
    let report = store.verify(|_, _| {}).unwrap();
    assert_eq!(
        (report.damaged.len(), report.is_sound(), report.checkpoints),
        (2, true, 1)
    );
    // New checkpoints come first, although the damaged one has a higher number.
    store.checkpoints().put(15, &files("d")).unwrap();
    assert_eq!(store.checkpoints().prune(1).unwrap().steps, [10]);
    assert_eq!(store.checkpoints().latest().unwrap().unwrap(), (15, files("d")));
    // A damaged one of the same step is replaced, and then counts.
    store.checkpoints().put(20, &files("e")).unwrap();
    assert_eq!(store.checkpoints().list().unwrap(), [15, 20]);
    assert_eq!(
        opened_again(&store).checkpoints().latest().unwrap().unwrap(),
        (20, files("e"))
    );
    // Once newer ones are intact, the damaged ones go with their notes.
    store.checkpoints().put(40, &files("f")).unwrap();
    assert_eq!(store.checkpoints().prune(1).unwrap().steps, [15, 20, 30]);
    assert!(store.games().quarantine_notes().unwrap().is_empty());
    assert_eq!(store.files().folders("checkpoints").unwrap(), ["000000040"]);
}

#[test]
fn a_checkpoint_that_is_found_damaged_is_named_once_and_replaced() {
    let (_folder, store) = new_store();
    let files = |text: &str| CheckpointFiles::from([("weights.bin".to_owned(), text.to_owned().into())]);
    store.checkpoints().put(10, &files("a")).unwrap();
    fs::write(file_of(&store, "checkpoints/000000010/checkpoint.json"), "{").unwrap();
    let store = opened_again(&store);
    // A mere look changes nothing.
    assert!(store.checkpoints().latest().unwrap().is_none());
    assert!(store.games().quarantine_notes().unwrap().is_empty());
    let recovered = store.checkpoints().recover().unwrap();
    assert!(recovered.newest.is_none() && recovered.damaged[0].reason.contains("checkpoint.json"));
    assert!(store.checkpoints().recover().unwrap().damaged.is_empty());
    assert!(store.verify(|_, _| {}).unwrap().is_sound());
    store.checkpoints().put(10, &files("b")).unwrap();
    assert_eq!(store.checkpoints().latest().unwrap().unwrap(), (10, files("b")));
}
