//! `tengen train` in several processes, which learn what one process learns with the whole batch, and end together. The
//! tests start the processes with the variables that torchrun sets, stop them, and kill them.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use tengen_model::Weights;

use crate::common::{self, json, stderr_of, store_at};

/// A network on 5x5 in fp32. The reuse ratio never ends training.
const SETTINGS: &[&str] = &[
    "selfplay.boards=[{size=\"5x5\"}]",
    "network.blocks=2",
    "network.channels=16",
    "network.nested_blocks=false",
    "training.precision=\"fp32\"",
    "training.batch=64",
    "loop.start_positions=100",
    "loop.reuse=1000000",
    "loop.checkpoint_seconds=100000",
];

fn command(name: &str, store: &Path, more: &[&str]) -> Command {
    let mut command = common::command(name, store, &[SETTINGS, more]);
    command.args(["--json", "-v"]);
    command
}

/// A store with the same games for every test.
fn store() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let mut play = command("selfplay", &store, &[]);
    play.args(["--games", "40", "--session", "7", "--fixed-time", "0"]);
    json(&play.output().expect("the program starts"));
    (folder, store)
}

/// The environment of a rank, at a port of this machine.
fn as_rank(command: &mut Command, rank: usize, ranks: usize, port: u16) {
    let values = [
        ("RANK", rank),
        ("WORLD_SIZE", ranks),
        ("LOCAL_RANK", rank),
        ("MASTER_PORT", port.into()),
    ];
    command.envs(values.map(|(name, value)| (name, value.to_string())));
    command.env("MASTER_ADDR", "127.0.0.1");
}

/// Starts `tengen train` in several processes; `more` makes each one's arguments.
fn start(store: &Path, ranks: usize, settings: &[&str], arguments: &[&str]) -> Vec<Child> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let rank = |rank| {
        let mut train = command("train", store, settings);
        train.args(arguments);
        as_rank(&mut train, rank, ranks, port);
        train.spawn().expect("the program starts")
    };
    (0..ranks).map(rank).collect()
}

/// Waits for all processes, which must end soon.
fn end(children: Vec<Child>) -> Vec<Output> {
    let deadline = Instant::now() + Duration::from_secs(600);
    let wait = |mut child: Child| {
        while child.try_wait().expect("a child").is_none() {
            if Instant::now() > deadline {
                child.kill().expect("a child");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.wait_with_output().expect("it ends")
    };
    children.into_iter().map(wait).collect()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

/// Reads the log of a process until it has written a checkpoint, and goes on reading it.
fn until_checkpoint(child: &mut Child) -> std::thread::JoinHandle<String> {
    let mut log = BufReader::new(child.stderr.take().expect("captured"));
    let mut before = common::read_until(&mut log, "checkpoint at step");
    std::thread::spawn(move || {
        while log.read_line(&mut before).is_ok_and(|read| read > 0) {}
        before
    })
}

/// The trained weights and their average in the newest checkpoint, and its step.
fn learned(store: &Path) -> (u64, Vec<f32>) {
    let (step, files) = store_at(store)
        .checkpoints()
        .latest()
        .expect("readable")
        .expect("a checkpoint");
    let values = ["weights.safetensors", "average.safetensors"].map(|name| {
        let weights = Weights::from_safetensors(&files[name]).expect("whole");
        weights.values().concat()
    });
    (step, values.concat())
}

/// The largest difference of two lists of numbers.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// With SGD, because other optimizers divide tiny gradients by their own size, so that they enlarge what rounding does.
#[test]
fn ranks_learn_what_one_process_learns_with_the_whole_batch() {
    const SGD: &[&str] = &["training.optimizer=\"sgd\"", "training.learning_rate=0.003"];
    let (folder, one) = store();
    let two = folder.path().join("two");
    let copied = Command::new("cp").arg("-a").args([&one, &two]).status();
    assert!(copied.expect("cp").success());
    let mut alone = command("train", &one, SGD);
    let alone = json(&alone.args(["--steps", "50"]).output().expect("the program starts"));
    let outputs = end(start(&two, 2, SGD, &["--steps", "50"]));
    assert!(outputs[1].status.success(), "{}", stderr_of(&outputs[1]));
    assert!(outputs[1].stdout.is_empty(), "rank 0 alone reports");
    let together = json(&outputs[0]);
    let (expected, found) = (learned(&one), learned(&two));
    assert_eq!((expected.0, found.0), (50, 50));
    let difference = difference(&expected.1, &found.1);
    // Sums over halves of a batch are rounded differently.
    assert!(difference < 5e-5, "{difference}");
    for loss in [
        "total_loss",
        "policy_loss",
        "value_loss",
        "margin_loss",
        "ownership_loss",
    ] {
        let [expected, found] = [&alone, &together].map(|done| done[loss].as_f64().expect("a loss"));
        assert!((expected - found).abs() < 1e-5, "{loss}: {expected} {found}");
    }
    let models = store_at(&two).models().list().expect("readable");
    assert_eq!(models.len(), 2, "rank 0 alone publishes");
}

#[test]
fn a_killed_rank_ends_all_others_with_a_checkpoint() {
    let (_folder, store) = store();
    let mut children = start(
        &store,
        3,
        &["training.batch=66", "loop.checkpoint_seconds=0.2"],
        &["--follow"],
    );
    let log = until_checkpoint(&mut children[0]);
    signal(&children[1], Signal::KILL);
    let outputs = end(children);
    let said = [log.join().expect("text"), stderr_of(&outputs[2])];
    assert_eq!(
        outputs.iter().map(|output| output.status.code()).collect::<Vec<_>>(),
        [Some(1), None, Some(1)]
    );
    for (said, checkpoint) in said.iter().zip([
        "a checkpoint keeps what was learned",
        "the newest checkpoint is in the store",
    ]) {
        assert!(
            said.contains("training failed\n  because: rank 1 is gone after step "),
            "{said}"
        );
        let ending = format!("{checkpoint}: start all 3 processes again with the same command to resume");
        assert!(said.contains(&ending) && !said.contains("panicked"), "{said}");
    }
    // The checkpoint is that of the last step.
    let step = said[0]
        .split("after step ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .map(str::to_owned);
    assert_eq!(step, Some(learned(&store).0.to_string()), "{}", said[0]);
    resumes(&store);
}

#[test]
fn the_last_checkpoint_is_whole_if_rank_0_is_killed() {
    let (_folder, store) = store();
    let mut children = start(&store, 2, &["loop.checkpoint_seconds=0.01"], &["--follow"]);
    let log = until_checkpoint(&mut children[0]);
    signal(&children[0], Signal::KILL);
    let outputs = end(children);
    log.join().expect("text");
    let said = stderr_of(&outputs[1]);
    assert_eq!(outputs[1].status.code(), Some(1), "{said}");
    assert!(
        said.contains("training failed\n  because: rank 0 is gone after step "),
        "{said}"
    );
    resumes(&store);
}

/// Asserts that the store is whole, and that two processes go on where its newest checkpoint is.
#[track_caller]
fn resumes(store: &Path) {
    let mut verify = Command::new(env!("CARGO_BIN_EXE_tengen"));
    json(
        &verify
            .args(["data", "verify", "--json"])
            .arg(store)
            .output()
            .expect("starts"),
    );
    let before = learned(store).0;
    let outputs = end(start(store, 2, &[], &["--steps", "2"]));
    assert_eq!(json(&outputs[0])["steps"], before + 2);
}

#[test]
fn a_signal_to_one_rank_stops_all_after_the_same_step() {
    let (_folder, store) = store();
    // With a low reuse ratio, the ranks soon wait for games.
    for (reuse, signaled) in [("1000000", 1), ("1", 0), ("1", 1)] {
        let settings = [&format!("loop.reuse={reuse}"), "loop.checkpoint_seconds=0.01"];
        let mut children = start(&store, 2, &settings, &["--follow"]);
        match reuse {
            "1" => std::thread::sleep(Duration::from_secs(4)),
            _ => drop(until_checkpoint(&mut children[0])),
        }
        signal(&children[signaled], Signal::TERM);
        let outputs = end(children);
        for output in &outputs {
            assert!(output.status.success(), "{}", stderr_of(output));
        }
        let done: Value = serde_json::from_slice(&outputs[0].stdout).expect("JSON");
        if done["steps_made"] != 0 {
            assert_eq!(done["steps"], learned(&store).0);
        }
    }
}

#[test]
fn ranks_that_do_not_fit_together_are_refused_in_a_sentence() {
    let (_folder, store) = store();
    let outputs = end(start(&store, 2, &["training.batch=33"], &["--steps", "1"]));
    for output in &outputs {
        let said = stderr_of(output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let expected = "training.batch is 33, which 2 processes cannot share equally: set it to a multiple of 2";
        assert!(said.contains(expected), "{said}");
    }
    let mut lost = command("train", &store, &[]);
    lost.env("RANK", "0").env("WORLD_SIZE", "2").args(["--steps", "1"]);
    let said = stderr_of(&lost.output().expect("starts"));
    assert!(said.contains("WORLD_SIZE is 2, but MASTER_ADDR is not set"), "{said}");
}

#[test]
fn a_whole_run_refuses_to_be_a_rank() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().join("store");
    let mut run = command("run", &store, &[]);
    as_rank(&mut run, 1, 2, 29_500);
    let output = run.output().expect("starts");
    let said = stderr_of(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("number 2 of 2") && said.contains("tengen train --follow"),
        "{said}"
    );
    assert!(!store.exists(), "nothing is founded");
}
