//! Kills a real process in the middle of publishing, again and again, and looks at what it left.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Random, random_games};
use tempfile::TempDir;
use tengen_records::{Collection, Create, GamesOf, Store};

/// Tells the child where to publish.
const STORE_VARIABLE: &str = "TENGEN_CRASH_TEST_STORE";

/// How often a child is killed.
const KILLS: usize = 12;

/// Publishes shards and models until it is killed. Not a test by itself: it is started by
/// `killed_writers_leave_nothing_half_read`.
#[test]
#[ignore = "a helper process; run: cargo test -p tengen-records --test crash killed_writers"]
fn endless_writer() {
    let Ok(location) = std::env::var(STORE_VARIABLE) else {
        return;
    };
    let store = Store::open(&location, Create::Always).unwrap();
    let _lock = store.lock_run().unwrap();
    let games = random_games(4, 30);
    writeln!(std::io::stderr(), "ready").unwrap();
    for sequence in 0.. {
        let count = 1 + sequence as usize % games.len();
        let generation = std::process::id();
        store
            .publish_games(&Collection::SelfPlay { generation }, "child", sequence, &games[..count])
            .unwrap();
        let weights = vec![sequence as u8; 200_000];
        store
            .publish_model(generation, weights, serde_json::Map::new())
            .unwrap();
    }
}

fn start_writer(location: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "endless_writer", "--ignored", "--nocapture"])
        .env(STORE_VARIABLE, location)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    if !lines.map_while(Result::ok).any(|line| line.contains("ready")) {
        panic!("the writer ended before it began: {}", child.wait().unwrap());
    }
    child
}

#[test]
fn killed_writers_leave_nothing_half_read() {
    let folder = TempDir::new().unwrap();
    let location = folder.path().display().to_string();
    let mut random = Random::new(3);
    let mut seen = 0;
    for _ in 0..KILLS {
        let mut child = start_writer(&location);
        std::thread::sleep(Duration::from_micros(2_000 + random.below(60_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();

        let store = Store::open(&location, Create::Never).unwrap();
        let _lock = store.lock_run().expect("the lock ended with its process");
        let shards = store.list_shards(&GamesOf::All).unwrap();
        assert!(shards.len() >= seen, "a published shard was lost");
        seen = shards.len();
        let report = store.verify(|_, _| {}).unwrap();
        assert_eq!(report.damaged, []);
        assert!(
            report.strangers.iter().all(|path| path.starts_with("models/")),
            "{:?}",
            report.strangers
        );
        assert!(store.quarantine_notes().unwrap().is_empty());
    }
    assert!(seen > 0, "no writer ever published");
}
