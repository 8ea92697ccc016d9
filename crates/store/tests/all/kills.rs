//! Repeatedly kills a real process while it publishes, and checks what it left behind.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use tempfile::TempDir;

use tengen_store::{Collection, Create, GamesOf, Store};
use tengen_testing::{Random, STORE_VARIABLE, random_games, random_model, start_helper};

/// Number of rounds; two child processes are killed in each.
const ROUNDS: usize = 55;

/// Publishes shards and models until it is killed. Not a test by itself; started by
/// `killed_writers_leave_nothing_partial`.
#[test]
#[ignore = "a helper process; run: cargo test -p tengen-store --test all kills"]
fn endless_writer() {
    let Ok(location) = std::env::var(STORE_VARIABLE) else {
        return;
    };
    let store = Store::open(&location, Create::Always).unwrap();
    let games = random_games(4, 30);
    writeln!(std::io::stderr(), "ready").unwrap();
    let generation = std::process::id();
    for sequence in 0.. {
        let count = 1 + sequence as usize % games.len();
        let mut games = games[..count].to_vec();
        for (number, game) in games.iter_mut().enumerate() {
            game.game_id = format!("{generation}-{sequence}-{number}");
        }
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "child", sequence, &games)
            .unwrap();
        let weights = vec![sequence as u8; 20_000];
        store.models().publish(generation, &random_model(sequence)).unwrap();
        let files = [("weights".to_owned(), weights.into())].into();
        store.checkpoints().put(u64::from(generation), &files).unwrap();
    }
}

/// Reads every shard not read before; all of them must be intact even while writers are running.
fn read_new(store: &Store, seen: &mut BTreeSet<String>) {
    let shards = store.games().list_shards(&GamesOf::All).unwrap();
    let listed: BTreeSet<String> = shards.iter().map(|shard| shard.path.clone()).collect();
    assert!(listed.is_superset(seen), "a published shard was lost");
    for shard in shards.iter().filter(|shard| !seen.contains(&shard.path)) {
        assert_eq!(store.games().read(shard).unwrap().len() as u64, shard.games());
    }
    *seen = listed;
}

/// The number of shards and of checkpoints.
fn written(store: &Store) -> [usize; 2] {
    let shards = store.games().list_shards(&GamesOf::All).unwrap();
    [shards.len(), store.checkpoints().list().unwrap().len()]
}

#[test]
fn killed_writers_leave_nothing_partial() {
    let folder = TempDir::new().unwrap();
    let location = folder.path().display().to_string();
    let store = Store::open(&location, Create::Always).unwrap();
    let mut random = Random::new(3);
    let mut seen = BTreeSet::new();
    for round in 0..ROUNDS {
        let before = written(&store);
        for mut child in [
            start_helper("kills::endless_writer", &location),
            start_helper("kills::endless_writer", &location),
        ] {
            // Later writers live longer, and some until there are more games or checkpoints, however busy the machine.
            std::thread::sleep(Duration::from_micros(random.below(20_000 + 4_000 * round) as u64));
            while round % 10 == 9 && written(&store).iter().zip(before).any(|(now, before)| *now == before) {
                std::thread::sleep(Duration::from_millis(5));
            }
            read_new(&store, &mut seen);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        read_new(&store, &mut seen);
    }
    let store = Store::open(&location, Create::Never).unwrap();
    let report = store.verify(|_, _| {}).unwrap();
    assert_eq!(report.damaged, []);
    assert_eq!(report.shards, seen.len() as u64);
    assert!(report.models > 0 && report.checkpoints > 0, "{report:?}");
    assert!(
        report
            .strangers
            .iter()
            .all(|path| path.starts_with("models/") || path.starts_with("checkpoints/")),
        "{:?}",
        report.strangers
    );
    assert!(store.games().quarantine_notes().unwrap().is_empty());
}

#[test]
fn the_run_lock_is_released_with_its_process() {
    let folder = TempDir::new().unwrap();
    let location = folder.path().display().to_string();
    let mut child = start_helper("kills::endless_holder", &location);
    let store = Store::open(&location, Create::Always).unwrap();
    let error = store.lock_run().unwrap_err();
    assert!(error.to_string().contains(&child.id().to_string()), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    let _lock = store.lock_run().expect("the lock was released with its process");
}

/// Holds the run lock until it is killed.
#[test]
#[ignore = "a helper process; run: cargo test -p tengen-store --test all kills"]
fn endless_holder() {
    let Ok(location) = std::env::var(STORE_VARIABLE) else {
        return;
    };
    let store = Store::open(&location, Create::Always).unwrap();
    let _lock = store.lock_run().unwrap();
    writeln!(std::io::stderr(), "ready").unwrap();
    std::thread::sleep(Duration::from_secs(600));
}
