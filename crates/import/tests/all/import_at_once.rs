//! Several concurrent imports into one store, killed or not: each game is stored once.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use crate::faulty::{faulty_handle, faulty_store};
use tempfile::TempDir;

use tengen_import::{ImportReport, ImportRules, Importer, MissingTurns, SgfSource};
use tengen_store::{CompactSettings, Create, GamesOf, Gather, Patience, Store, StoreError};
use tengen_testing::{Random, STORE_VARIABLE, start_helper};

/// A file of games, which are the same in every file.
fn games(numbers: std::ops::Range<usize>) -> SgfSource {
    let text: String = numbers
        .map(|number| format!("(;SZ[9]PB[{number}];B[cc];W[gg];B[];W[])"))
        .collect();
    SgfSource {
        name: "test.sgf".to_owned(),
        bytes: text.into_bytes(),
    }
}

fn importer(store: &Store) -> Result<Importer, StoreError> {
    let how = ImportRules {
        rules: "tromp_taylor".parse().unwrap(),
        komi: None,
        missing_turns: MissingTurns::Refuse,
    };
    Importer::new(Some(store), "test", how)
}

fn import(store: &Store, numbers: std::ops::Range<usize>) -> Result<ImportReport, StoreError> {
    let mut importer = importer(store)?;
    importer.take(&games(numbers), |_| true)?;
    importer.finish()
}

/// Checks that the store holds each of the expected games once, through every way of reading them.
fn holds(store: &Store, expected: usize) {
    let mut ids = Vec::new();
    for shard in store.games().list_shards(&GamesOf::All).unwrap() {
        ids.extend(store.games().read(&shard).unwrap().into_iter().map(|game| game.game_id));
    }
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len()), (expected, expected));
    let report = store.verify(|_, _| {}).unwrap();
    assert_eq!((report.games, report.damaged), (expected as u64, Vec::new()));
}

#[test]
fn a_slower_import_skips_games_added_meanwhile() {
    let (store, _) = faulty_store();
    let mut importers: Vec<Importer> = (0..3).map(|_| importer(&store).unwrap()).collect();
    // All three have read the empty store. The second brings some of the first one's games and more, the third nothing
    // new.
    for (importer, numbers) in importers.iter_mut().zip([0..10, 5..20, 3..18]) {
        importer.take(&games(numbers), |_| true).unwrap();
    }
    let reports: Vec<ImportReport> = importers
        .into_iter()
        .map(|importer| importer.finish().unwrap())
        .collect();
    let counts: Vec<_> = reports
        .iter()
        .map(|report| (report.kept, report.duplicates, report.positions, report.shards.len()))
        .collect();
    assert_eq!(counts, [(10, 0, 40, 1), (10, 5, 40, 1), (0, 15, 0, 0)]);
    assert_eq!(reports[1].results.values().sum::<u64>(), 10);
    holds(&store, 20);
    assert!(
        store.verify(|_, _| {}).unwrap().strangers.is_empty(),
        "no stray shards remain"
    );
    assert_eq!(import(&store, 0..20).unwrap().duplicates, 20);

    // A gathered store has them too, and the notes of imports do not prevent merging.
    let (target, _) = faulty_store();
    let mut gather = Gather::new(target.games()).unwrap();
    gather.add(store.games(), |_, _| {}).unwrap();
    holds(&target, 20);
    assert_eq!(import(&target, 0..21).unwrap().kept, 1);
}

/// An import that dies at its first, second, … call to the store, before or after the call took effect, while another
/// import is running; the next imports complete the games.
#[test]
fn an_import_that_dies_at_any_call_can_be_completed() {
    for after_writing in [false, true] {
        for call in 0.. {
            let (store, faults) = faulty_store();
            let mut other = importer(&store).unwrap();
            other.take(&games(8..14), |_| true).unwrap();
            faults.plan(call, u64::MAX, after_writing);
            let died = import(&store, 0..10);
            let struck = faults.heal(u64::MAX);
            other.finish().unwrap();
            import(&store, 0..10).unwrap();
            holds(&store, 14);
            let strays = store.verify(|_, _| {}).unwrap().strangers;
            assert!(strays.is_empty(), "call {call}: {strays:?}");
            if !struck {
                died.unwrap();
                assert!(call > 8, "only {call} calls could fail");
                break;
            }
        }
    }
}

/// An import loses its store between its shard and the note. Meanwhile other imports admit the shard, or refuse it
/// because one of its games was already added: the import, still alive, notices.
#[test]
fn an_import_notices_that_others_admitted_or_refused_its_shard() {
    for (brought, kept) in [(20..21, 10), (0..4, 6)] {
        let objects = Arc::default();
        let (store, _) = faulty_handle(&objects);
        let (away, faults) = faulty_handle(&objects);
        let mut faster = importer(&store).unwrap();
        faster.take(&games(brought.clone()), |_| true).unwrap();
        let patience = Patience {
            limit: Duration::from_secs(60),
            give_up: Arc::default(),
        };
        let mut owner = importer(&away.with_patience(patience)).unwrap();
        owner.take(&games(0..10), |_| true).unwrap();
        // A finish makes one call to ask for a new note, then writes the shard, and then its own note.
        faults.plan(2, u64::MAX, false);
        let owner = std::thread::spawn(move || owner.finish().unwrap());
        while store.verify(|_, _| {}).unwrap().strangers.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        holds(&store, 0);
        faster.finish().unwrap();
        let third = import(&store, 30..31).unwrap();
        assert_eq!(third.kept, 1);
        let all = 1 + brought.len() + if kept == 10 { 10 } else { 0 };
        holds(&store, all);
        assert!(faults.heal(u64::MAX), "the store failed as planned");
        let report = owner.join().unwrap();
        assert_eq!((report.kept, report.duplicates), (kept, 10 - kept));
        holds(&store, 1 + brought.len() + kept as usize);
        assert!(store.verify(|_, _| {}).unwrap().strangers.is_empty());
    }
}

/// Imports the games listed in a file next to the store.
#[test]
#[ignore = "a helper process; run: cargo test -p tengen-datasets --test all import_at_once"]
fn import_helper() {
    let Ok(location) = std::env::var(STORE_VARIABLE) else {
        return;
    };
    let (store, numbers) = location.split_once('#').unwrap();
    let (first, end) = numbers.split_once('-').unwrap();
    let store = Store::open(store, Create::Always).unwrap();
    let mut importer = importer(&store).unwrap();
    writeln!(std::io::stderr(), "ready").unwrap();
    let numbers = first.parse().unwrap()..end.parse().unwrap();
    // Many small shards, so that the imports collide often.
    for first in numbers.clone().step_by(10) {
        importer
            .take(&games(first..numbers.end.min(first + 10)), |_| true)
            .unwrap();
        importer.finish().unwrap();
        importer = self::importer(&store).unwrap();
    }
}

fn start(store: &Store, numbers: std::ops::Range<usize>) -> Child {
    let location = format!("{}#{}-{}", store.location(), numbers.start, numbers.end);
    start_helper("import_at_once::import_helper", &location)
}

#[test]
fn concurrent_import_processes_store_each_game_once() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let children = [0..200, 0..200, 100..300, 50..250].map(|numbers| start(&store, numbers));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    holds(&store, 300);
    assert!(store.verify(|_, _| {}).unwrap().strangers.is_empty());
}

/// Kills imports at random moments while others continue and a merge is running; repeating the imports completes
/// everything.
#[test]
fn killed_imports_lose_and_duplicate_nothing() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let mut random = Random::new(5);
    let mut kills = 0;
    for round in 0..12 {
        let first = round * 20;
        let numbers = [first..first + 60, first..first + 60, first + 30..first + 80];
        let mut children = numbers.map(|numbers| start(&store, numbers));
        std::thread::sleep(Duration::from_micros(random.below(30_000) as u64));
        store
            .games()
            .compact(
                CompactSettings {
                    keep_positions: 0,
                    target_bytes: 1 << 20,
                },
                |_, _| {},
            )
            .unwrap();
        for child in &mut children {
            child.kill().unwrap();
            kills += u32::from(!child.wait().unwrap().success());
        }
        let listed = store.games().list(&GamesOf::Imported).unwrap().published().games;
        let mut ids = BTreeSet::new();
        for shard in store.games().list_shards(&GamesOf::Imported).unwrap() {
            ids.extend(store.games().read(&shard).unwrap().into_iter().map(|game| game.game_id));
        }
        assert_eq!(ids.len() as u64, listed, "no duplicate games");
    }
    assert!(kills >= 12, "{kills} of 36 processes were killed while working");
    import(&store, 0..300).unwrap();
    holds(&store, 300);
    assert!(
        store
            .verify(|_, _| {})
            .unwrap()
            .strangers
            .iter()
            .all(|path| path.contains('#'))
    );
}
