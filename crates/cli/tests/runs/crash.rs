//! A run survives crashes: killed at any moment, stopped by Ctrl-C, with a full disk, next to a second run, with
//! damaged files. The tests really kill a child process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tengen_store::{Create, GamesOf, Store};

use crate::common::{self, QUICK_RUN, json, read_until, rewrite, stderr_of, store_at};

/// Many checkpoints and gate matches per second.
const SETTINGS: &[&str] = &[
    "loop.checkpoint_seconds=0.5",
    "gate.games=24",
    "gate.visits=4",
    "gate.openings=random:2",
];

/// A run with these settings, and with those of [`SETTINGS`] whose keys they do not set.
fn command(store: &Path, more: &[&str]) -> Command {
    let mut command = common::command("run", store, &[QUICK_RUN, SETTINGS, more]);
    command.arg("-v");
    command
}

fn finish(store: &Path, more: &[&str]) -> Output {
    command(store, more).arg("--json").output().expect("the program starts")
}

/// Starts a run and returns once `words` has appeared in its log for the `nth` time.
fn run_until(store: &Path, words: &str, nth: usize) -> Child {
    let mut child = command(store, &[]).spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
    for _ in 0..nth {
        read_until(&mut log, words);
    }
    // Keep reading, or the run blocks on a full pipe.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    child
}

/// The contents of a store, with every file checked.
#[derive(Default)]
struct Contents {
    shards: BTreeSet<String>,
    games: u64,
    promotions: Vec<String>,
}

fn check(folder: &Path) -> Contents {
    let store = store_at(folder);
    let mut contents = Contents::default();
    let mut ids = BTreeMap::new();
    for shard in store.games().list_all(&GamesOf::SelfPlay).expect("a listing") {
        let games = store
            .games()
            .read(&shard)
            .unwrap_or_else(|error| panic!("{}: {error}", shard.path));
        assert_eq!(games.len() as u64, shard.games());
        for game in games {
            let other = ids.insert(game.game_id.clone(), shard.path.clone());
            assert_eq!(other, None, "game {} was published twice", game.game_id);
            contents.games += 1;
        }
        contents.shards.insert(shard.path);
    }
    for model in store.models().list().expect("a listing") {
        store
            .models()
            .load(&model)
            .expect("a listed model is complete and usable");
    }
    for (number, (stated, promotion)) in store
        .models()
        .promotions()
        .expect("complete promotions")
        .into_iter()
        .enumerate()
    {
        assert_eq!(number as u32, stated, "promotions have no gaps");
        store
            .models()
            .load(&promotion.model_id)
            .expect("a champion is complete");
        contents.promotions.push(promotion.model_id.to_string());
    }
    for step in store.checkpoints().list().expect("a listing") {
        store.checkpoints().load(step).expect("a listed checkpoint is complete");
    }
    contents
}

#[test]
fn a_run_killed_at_ten_moments_resumes_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    // During self-play, publishing, training, checkpoints, models and the gate match, and after it.
    let moments = [
        ("positions so far", 1, 400),
        ("published 1", 1, 0),
        ("published 1", 5, 3),
        ("published model", 1, 0),
        ("gate begins", 1, 0),
        ("gate begins", 1, 15),
        ("checkpoint at", 1, 0),
        ("gate ended", 1, 0),
        ("published model", 2, 1),
        ("checkpoint at", 2, 40),
    ];
    let mut before = Contents::default();
    for (number, (words, nth, pause_ms)) in moments.into_iter().enumerate() {
        let mut child = run_until(&store, words, nth);
        std::thread::sleep(Duration::from_millis(pause_ms));
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
        let now = check(&store);
        assert!(
            now.shards.is_superset(&before.shards),
            "kill {number} ({words}) lost a published shard"
        );
        assert!(
            now.promotions.starts_with(&before.promotions),
            "kill {number} ({words}) changed a promotion"
        );
        before = now;
    }
    let checkpoints = store_at(&store).checkpoints().list().expect("a listing");
    let steps = checkpoints.last().copied().unwrap_or(0);
    let output = finish(&store, &[&format!("budget.steps={}", steps + 50)]);
    let summary = json(&output);
    let after = check(&store);
    assert!(after.shards.is_superset(&before.shards));
    assert_eq!(summary["games"], after.games, "every published game is counted once");
    assert_eq!(summary["champion"], *after.promotions.last().expect("a champion"));
    assert!(summary["steps"].as_u64() >= Some(steps + 50));
    assert!(store.join("report.html").is_file());

    // Running it again does nothing.
    let again = finish(&store, &[&format!("budget.steps={}", steps + 50)]);
    assert!(again.status.success(), "{}", stderr_of(&again));
    assert_eq!(again.stdout, output.stdout);
    assert_eq!(check(&store).shards, after.shards);
}

#[test]
fn ctrl_c_keeps_the_games_in_progress() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let mut child = run_until(&store, "checkpoint at", 1);
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).expect("a signal");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let in_flight = store.join("in_flight.json");
    assert!(in_flight.is_file(), "games in progress are kept");
    let verify = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tengen"));
        command
            .args(["data", "verify"])
            .arg(&store)
            .output()
            .expect("the program starts")
    };
    assert!(
        verify().status.success(),
        "{}",
        String::from_utf8_lossy(&verify().stdout)
    );
    let whole = std::fs::read(&in_flight).expect("readable");
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    std::fs::write(&in_flight, changed).expect("writable");
    assert!(String::from_utf8_lossy(&verify().stdout).contains("WRONG: in_flight.json"));
    std::fs::write(&in_flight, whole).expect("writable");
    let first = check(&store);
    let mut child = run_until(&store, "published 1", 3);
    assert!(!in_flight.is_file(), "games in progress are resumed once");
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    assert!(check(&store).shards.is_superset(&first.shards));
}

#[test]
fn a_second_run_on_the_same_store_is_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let mut first = run_until(&store, "published 1", 1);
    let second = finish(&store, &[]);
    assert_eq!(second.status.code(), Some(1));
    let said = stderr_of(&second);
    assert!(
        said.contains(&first.id().to_string()),
        "names the running process: {said}"
    );
    assert!(first.try_wait().expect("alive").is_none(), "the first run continues");
    first.kill().expect("it can be killed");
    first.wait().expect("it has ended");
    check(&store);
}

#[test]
fn input_errors_name_the_problem() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let unknown = finish(&folder.path().join("a"), &["loop.reuze=3"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr_of(&unknown).contains("did you mean `loop.reuse`?"),
        "{}",
        stderr_of(&unknown)
    );
    let read_only = finish(Path::new("/proc/tengen"), &[]);
    assert_eq!(read_only.status.code(), Some(1));
    assert!(
        stderr_of(&read_only).contains("/proc/tengen"),
        "{}",
        stderr_of(&read_only)
    );
    let missing = Command::new(env!("CARGO_BIN_EXE_tengen"))
        .args(["run", "no.toml"])
        .output()
        .expect("starts");
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr_of(&missing).contains("no.toml"), "{}", stderr_of(&missing));
}

/// To the program, a folder that is moved away and back looks like a network drive that comes and goes.
#[test]
fn games_wait_in_the_spool_while_the_store_is_unreachable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, away) = (folder.path().join("store"), folder.path().join("away"));
    let scratch = folder.path().join("scratch");
    // With a large lead over the trainer, self-play always has games to publish.
    let start = |more: &[&str]| {
        let mut command = command(&store, &[&["loop.lead_positions=1000000"], more].concat());
        command.arg("--scratch").arg(&scratch);
        command
    };
    let mut child = start(&[]).spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
    read_until(&mut log, "published 1");
    std::fs::rename(&store, &away).expect("moved");
    read_until(&mut log, "the store is unreachable");
    std::thread::sleep(Duration::from_millis(300));
    move_back(&away, &store);
    read_until(&mut log, "the store is reachable again");
    read_until(&mut log, "published 1");

    // Away again, and killed: the next start publishes the waiting games.
    std::fs::rename(&store, &away).expect("moved");
    read_until(&mut log, "the store is unreachable");
    let waiting = || {
        let spool = Store::open(scratch.join("spool").to_str().expect("UTF-8"), Create::Always);
        let shards = spool
            .and_then(|spool| spool.games().list_shards(&GamesOf::SelfPlay))
            .expect("a spool");
        shards.into_iter().map(|shard| shard.path).collect::<BTreeSet<_>>()
    };
    while waiting().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    move_back(&away, &store);
    let left = waiting();
    let before = check(&store).shards;
    let output = start(&["budget.steps=20"])
        .arg("--json")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", stderr_of(&output));
    let after = check(&store).shards;
    assert!(after.is_superset(&before) && after.is_superset(&left));
    assert!(waiting().is_empty());
}

/// Puts a store back in its place. A write that had begun before the store was moved may have created its folder
/// again; what was written there was not acknowledged and is written once more.
fn move_back(away: &Path, store: &Path) {
    std::fs::remove_dir_all(store).ok();
    std::fs::rename(away, store).expect("moved back");
}

/// With a small lead, both self-play and the trainer end up waiting, for each other or for the store.
#[test]
fn the_screen_explains_the_wait_while_the_store_is_unreachable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, away) = (folder.path().join("store"), folder.path().join("away"));
    let mut command = command(&store, &["loop.lead_positions=300", "loop.checkpoint_seconds=0.2"]);
    command.arg("--scratch").arg(folder.path().join("scratch"));
    let mut child = command.spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
    read_until(&mut log, "published 1");
    std::fs::rename(&store, &away).expect("moved");
    let all = read_until(&mut log, "waiting    store unreachable for ");
    let said = all.lines().last().expect("a line");
    assert!(said.contains("self-play ") && said.contains("training "), "{said}");
    move_back(&away, &store);
    read_until(&mut log, "waiting    done: the store is reachable again");
    read_until(&mut log, "published 1");
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    check(&store);
}

/// A shell's limit on file sizes looks like a full disk to the program.
#[test]
fn a_full_disk_ends_the_run_without_damage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let run = command(&store, &["loop.shard_seconds=2.0"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh"]);
    shell.arg(run.get_program()).args(run.get_args()).stdin(Stdio::null());
    let output = shell.output().expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{}", stderr_of(&output));
    let said = stderr_of(&output);
    assert!(
        said.contains("error:") && said.to_lowercase().contains("too large"),
        "{said}"
    );
    let before = check(&store);
    let output = finish(&store, &["budget.steps=60"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert!(check(&store).shards.is_superset(&before.shards));
}

#[test]
fn damaged_files_are_reported_and_never_used() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let mut child = run_until(&store, "published 1", 2);
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    let shards = check(&store).shards;
    let shard = store.join(shards.iter().next_back().expect("a shard"));
    let mut bytes = std::fs::read(&shard).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&shard, bytes).expect("writable");
    let output = finish(&store, &["budget.steps=150"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let name = shard.file_stem().expect("a name").to_str().expect("UTF-8");
    assert!(stderr_of(&output).contains(name), "the damaged shard is named");
    assert!(store.join(format!("quarantine/{name}.json")).is_file());

    // The process may have been killed before a model was complete.
    let entries = std::fs::read_dir(store.join("models")).expect("models");
    let mut models: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    models.retain(|model| model.join("model.json").is_file());
    let model = models.pop().expect("a model");
    for other in models {
        rewrite(&other.join("model.json"), "\"format\": 1", "\"format\": 9");
    }
    rewrite(&model.join("model.json"), "\"format\": 1", "\"format\": 9");
    let output = finish(&store, &["budget.steps=200"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr_of(&output).contains("format 9"), "{}", stderr_of(&output));
}
