//! A trainer, a gate and workers as separate processes around one store: what they have to keep, however many there are
//! and however they end.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use tengen_store::{GamesOf, Store};

use crate::common::{self, json, read_until, stderr_of, store_at};

/// A tiny network on 5x5 that looks for news often. A notice counts as silent after 3 seconds.
const SETTINGS: &[&str] = &[
    "selfplay.boards=[{size=\"5x5\"}]",
    "selfplay.games_per_group=16",
    "selfplay.search.visits=4",
    "network.blocks=1",
    "network.channels=8",
    "network.nested_blocks=false",
    "network.head_channels=4",
    "training.batch=64",
    "training.threads=1",
    "loop.start_positions=1000",
    "loop.reuse=2",
    "loop.lead_positions=1000",
    "loop.look_seconds=0.2",
    "loop.shard_seconds=0.2",
    "loop.candidate_every_steps=200",
    "loop.checkpoint_seconds=1",
    "gate.games=4",
    "gate.visits=2",
    "budget.minutes=0",
];

/// A run's store, and the settings that its processes share.
struct Fleet {
    folder: TempDir,
    budget: String,
}

impl Fleet {
    /// A run with a budget such as `steps=100`.
    fn new(budget: &str) -> Fleet {
        Fleet {
            folder: tempfile::tempdir().expect("a temporary folder"),
            budget: format!("budget.{budget}"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("store").join(name)
    }

    fn store(&self) -> Store {
        store_at(&self.path(""))
    }

    fn command(&self, name: &str) -> Command {
        let mut command = common::command(name, &self.path(""), &[SETTINGS, &[&self.budget]]);
        command.args(["--follow", "--json", "--scratch"]);
        command.arg(self.folder.path().join("scratch"));
        command
    }

    fn start(&self, name: &str) -> Child {
        self.command(name).spawn().expect("the program starts")
    }

    fn start_worker(&self) -> Child {
        let mut worker = self.command("selfplay");
        worker.args(["--threads", "1"]).spawn().expect("the program starts")
    }

    /// The ids of all published games, which must be whole.
    fn games(&self) -> Vec<String> {
        let store = self.store();
        let shards = store.games().list_all(&GamesOf::SelfPlay).expect("a listing");
        let read = |shard| store.games().read(shard).expect("whole");
        let games = shards.iter().flat_map(read);
        games.map(|game| game.game_id).collect()
    }

    /// Paths of the published shards; none before the first.
    fn shards(&self) -> BTreeSet<String> {
        match self.path("games").is_dir() {
            true => {
                let shards = self.store().games().list_all(&GamesOf::SelfPlay).expect("a listing");
                shards.into_iter().map(|shard| shard.path).collect()
            }
            false => BTreeSet::new(),
        }
    }

    /// The trainer's notice; null before the first.
    fn trainer(&self) -> Value {
        let notice = std::fs::read(self.path("fleet/trainer.json")).unwrap_or_default();
        serde_json::from_slice(&notice).unwrap_or_default()
    }

    /// What processes have said about their starts.
    fn starts(&self) -> Vec<Value> {
        let files = std::fs::read_dir(self.path("metrics")).expect("metrics");
        let paths = files.map(|file| file.expect("an entry").path());
        let lines = paths
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .map(|path| std::fs::read_to_string(path).expect("text"))
            .collect::<String>();
        let events = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        events.filter(|event| event["event"] == "start").collect()
    }

    fn step(&self) -> u64 {
        self.trainer()["says"]["step"].as_u64().unwrap_or(0)
    }

    /// Snapshots of games in progress that no worker has taken over.
    fn saved(&self) -> usize {
        std::fs::read_dir(self.path("in_flight")).map_or(0, Iterator::count)
    }
}

#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(600);
    while !condition() {
        assert!(Instant::now() < deadline, "no {what} after ten minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

/// Waits for a process, which must end soon.
#[track_caller]
fn end(mut child: Child) -> Output {
    let deadline = Instant::now() + Duration::from_secs(600);
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("a child");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn assert_distinct(games: &[String]) {
    let distinct: BTreeSet<&String> = games.iter().collect();
    assert_eq!(distinct.len(), games.len(), "a game is there twice");
}

/// The reuse ratio is `loop.reuse`, 2, within 5%, and all end by themselves when the budget is spent.
fn hold_the_reuse_ratio(workers: usize) {
    let fleet = Fleet::new("steps=1600");
    let trainer = fleet.start("train");
    let gate = fleet.start("gate");
    let workers: Vec<Child> = (0..workers).map(|_| fleet.start_worker()).collect();
    let trained = json(&end(trainer));
    assert_eq!((&trained["finished"], &trained["steps"]), (&true.into(), &1600.into()));
    let played: Vec<Value> = workers.into_iter().map(|worker| json(&end(worker))).collect();
    assert!(played.iter().all(|played| played["end"] == "finished"));
    let decided = json(&end(gate));
    let models = fleet.store().models().list().expect("readable");
    let newest = models.last().expect("models").to_string();
    let verdicts = decided["verdicts"].as_array().expect("verdicts");
    assert_eq!(verdicts.last().expect("a verdict")["candidate"], newest);

    let games = fleet.games();
    assert_distinct(&games);
    let sum = |key: &str| {
        played
            .iter()
            .map(|played| played[key].as_u64().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!(games.len() as u64, sum("games") + sum("unfinished"));
    let shards = fleet.store().games().list_all(&GamesOf::SelfPlay).expect("a listing");
    let positions: u64 = shards.iter().map(|shard| shard.positions()).sum();
    let ratio = (1600 * 64) as f64 / positions as f64;
    assert!((ratio / 2.0 - 1.0).abs() < 0.05, "{ratio}");

    let starts = fleet.starts();
    assert_eq!(starts.len(), 1, "the trainer says once what it began with");
    let command = starts[0]["command"].as_str().expect("a command");
    assert!(command.contains("train"), "{command}");
    assert_eq!(
        (&starts[0]["workers"], &starts[0]["network"]),
        (&0.into(), &"b1c8".into())
    );
}

#[test]
fn one_worker_holds_the_reuse_ratio() {
    hold_the_reuse_ratio(1);
}

#[test]
fn sixteen_workers_hold_the_reuse_ratio() {
    hold_the_reuse_ratio(16);
}

#[test]
fn workers_come_and_go_and_nothing_is_lost() {
    let fleet = Fleet::new("steps=1000000");
    let trainer = fleet.start("train");
    let mut killed = fleet.start_worker();
    let stopped = fleet.start_worker();
    wait_until("training", || fleet.step() > 50);
    let before = fleet.shards();
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    send(&stopped, Signal::TERM);
    let stopped = json(&end(stopped));
    assert_eq!(stopped["end"], "stopped");
    assert_eq!(stopped["games_saved"], 16);
    assert_eq!(fleet.saved(), 1);
    let again = fleet.start_worker();
    wait_until("worker that takes over the games", || fleet.saved() == 0);
    let step = fleet.step();
    wait_until("training after that", || fleet.step() > step + 50);
    send(&again, Signal::INT);
    assert_eq!(json(&end(again))["end"], "stopped");
    send(&trainer, Signal::TERM);
    assert!(json(&end(trainer))["finished"] == false);
    assert!(before.is_subset(&fleet.shards()));
    assert_distinct(&fleet.games());
}

/// A trainer that waits for its first game costs time, which the run remembers.
#[test]
fn a_trainer_without_games_keeps_its_costs() {
    let fleet = Fleet::new("steps=100");
    let elapsed = || {
        let costs = std::fs::read(fleet.path("costs.json")).unwrap_or_default();
        let costs: Value = serde_json::from_slice(&costs).unwrap_or_default();
        costs["ledger"]["elapsed_seconds"].as_f64().unwrap_or(0.0)
    };
    let trainer = fleet.start("train");
    wait_until("the trainer writes costs twice", || elapsed() > 2.0);
    send(&trainer, Signal::TERM);
    end(trainer);
    let before = elapsed();
    let trainer = fleet.start("train");
    wait_until("the next one goes on from them", || elapsed() > before + 1.0);
    send(&trainer, Signal::TERM);
    end(trainer);
}

#[test]
fn a_second_trainer_stands_by_and_takes_over() {
    let fleet = Fleet::new("steps=1000000");
    let mut first = fleet.start("train");
    let worker = fleet.start_worker();
    wait_until("training", || fleet.step() > 50);
    let mut second = fleet.start("train");
    let mut log = BufReader::new(second.stderr.take().expect("captured"));
    let mut said = read_until(&mut log, "standing by until it ends");
    let log = std::thread::spawn(move || {
        log.read_to_string(&mut said).expect("UTF-8");
        said
    });
    let author = |fleet: &Fleet| fleet.trainer()["author"]["name"].as_str().unwrap_or("").to_owned();
    let name = author(&fleet);
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    wait_until("takeover", || author(&fleet) != name);
    let step = fleet.step();
    wait_until("training after that", || fleet.step() > step + 50);
    send(&second, Signal::TERM);
    let output = end(second);
    let said = log.join().expect("no panic");
    assert!(said.contains("has been silent for 3 s: taking over"), "{said}");
    let trained = json(&output);
    // The worker waits for the next trainer, then for a signal.
    send(&worker, Signal::TERM);
    assert_eq!(json(&end(worker))["end"], "stopped");
    let checkpoint = fleet.store().checkpoints().latest().expect("readable");
    assert_eq!(
        checkpoint.expect("a checkpoint").0,
        trained["steps"].as_u64().expect("steps")
    );
}

#[test]
fn a_second_gate_stands_by() {
    let fleet = Fleet::new("steps=600");
    let gates = [fleet.start("gate"), fleet.start("gate")];
    let trainer = fleet.start("train");
    let worker = fleet.start_worker();
    json(&end(trainer));
    json(&end(worker));
    let outputs = gates.map(end);
    let waited = |output: &Output| stderr_of(output).contains("another gate works for this run");
    assert_eq!(outputs.iter().filter(|output| waited(output)).count(), 1);
    let candidates: Vec<String> = outputs
        .iter()
        .flat_map(|output| json(output)["verdicts"].as_array().expect("verdicts").clone())
        .map(|verdict| verdict["candidate"].as_str().expect("a name").to_owned())
        .collect();
    assert!(!candidates.is_empty());
    assert_distinct(&candidates);
}

#[test]
fn notices_of_another_format_are_refused_in_a_sentence() {
    let fleet = Fleet::new("steps=100");
    let mut worker = fleet.command("selfplay");
    worker.args(["--games", "1", "--threads", "1"]);
    assert_eq!(json(&worker.output().expect("starts"))["end"], "quota");
    let newer = r#"{"format_version": "2.0", "says": {}}"#;
    std::fs::write(fleet.path("fleet/trainer.json"), newer).expect("writable");
    for name in ["selfplay", "train", "gate"] {
        let output = end(fleet.start(name));
        assert_eq!(output.status.code(), Some(1));
        let said = stderr_of(&output);
        assert!(
            said.contains("fleet/trainer.json: expected format version 1.x, found 2.0"),
            "{said}"
        );
    }
}
