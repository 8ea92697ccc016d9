//! How commands end when they fail or are stopped: they keep the work done, report what happened and exit with the
//! right code. The tests damage files and send signals to real processes.

use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use tengen_model::Weights;
use tengen_store::{Create, GamesOf, Promotion, Store};

use crate::common::{self, QUICK_RUN, json, read_until, stderr_of, store_at};

/// The run writes no checkpoint before it ends.
const SETTINGS: &[&str] = &["loop.checkpoint_seconds=100000"];

/// A temporary folder with a store and a spool.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("store").join(name)
    }

    fn store(&self) -> Store {
        store_at(&self.path(""))
    }

    fn spool(&self) -> PathBuf {
        self.0.path().join("scratch/spool")
    }

    /// A command on the store with these settings, and with those of [`SETTINGS`] whose keys they leave out.
    fn command(&self, name: &str, settings: &[&str]) -> Command {
        let mut command = common::command(name, &self.path(""), &[QUICK_RUN, SETTINGS, settings]);
        command.args(["-v", "--json", "--scratch"]);
        command.arg(self.0.path().join("scratch"));
        command
    }

    /// Runs until the given step; the run must succeed.
    fn run_to(&self, steps: u64) -> Value {
        let mut run = self.command("run", &[&format!("budget.steps={steps}")]);
        json(&run.output().expect("starts"))
    }

    /// Atomically swaps a folder for a file; a second call puts the folder back.
    fn swap(&self, folder: &str) {
        let aside = self.0.path().join("aside");
        if !aside.exists() {
            std::fs::write(&aside, "not a folder").expect("writable");
        }
        renameat_with(CWD, &aside, CWD, self.path(folder), RenameFlags::EXCHANGE).expect("both exist");
    }

    fn published(&self) -> u64 {
        games_of(&self.store())
    }

    fn spooled(&self) -> u64 {
        let spool = self.spool();
        match spool.is_dir() {
            true => games_of(&Store::open(spool.to_str().expect("UTF-8"), Create::Always).expect("a spool")),
            false => 0,
        }
    }

    /// The number of games started by the only process that played here, and how many of them are still in progress.
    fn in_flight(&self) -> (u64, u64) {
        let kept = std::fs::read(self.path("in_flight.json")).expect("games in progress are saved");
        let kept: Value = serde_json::from_slice(&kept).expect("JSON");
        let groups = kept["groups"].as_array().expect("groups");
        let begun = groups
            .iter()
            .map(|group| group["next_index"].as_u64().expect("a number"))
            .sum();
        let games = groups
            .iter()
            .map(|group| group["games"].as_array().expect("games").len())
            .sum::<usize>();
        (begun, games as u64)
    }

    /// Asserts that every game started is published, spooled or in progress, and returns the checkpoint's step.
    #[track_caller]
    fn holds_everything(&self) -> u64 {
        let (begun, in_flight) = self.in_flight();
        assert!(in_flight > 0);
        assert_eq!(self.published() + self.spooled() + in_flight, begun);
        self.last_step()
    }

    /// The step of the newest checkpoint.
    #[track_caller]
    fn last_step(&self) -> u64 {
        let latest = self.store().checkpoints().latest().expect("readable");
        latest.expect("a checkpoint").0
    }
}

fn games_of(store: &Store) -> u64 {
    let shards = store.games().list_all(&GamesOf::SelfPlay).expect("a listing");
    shards
        .iter()
        .map(|shard| store.games().read(shard).expect("whole").len() as u64)
        .sum()
}

/// A process and what it has printed so far.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    fn start(mut command: Command) -> Running {
        let mut child = command.spawn().expect("the program starts");
        let log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let said = String::new();
        Running { child, log, said }
    }

    /// Reads its log until a line contains `words`.
    #[track_caller]
    fn until(mut self, words: &str) -> Running {
        self.said += &read_until(&mut self.log, words);
        self
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal");
    }

    /// Waits for the process to end.
    fn end(mut self) -> Output {
        self.log.read_to_string(&mut self.said).expect("the log is text");
        let mut output = self.child.wait_with_output().expect("it ends");
        output.stderr = self.said.into_bytes();
        output
    }

    /// Waits for the process to end with an error, which it must print last.
    #[track_caller]
    fn fails(self, error: &str) -> String {
        let output = self.end();
        let said = stderr_of(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let last = said.rfind("\nerror: ").unwrap_or_else(|| panic!("no error in {said}"));
        assert!(said[last..].starts_with(&format!("\nerror: {error}")), "{said}");
        said
    }
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 120 s: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_run_goes_on_and_warns_while_no_game_has_a_result() {
    let place = Place::new();
    let settings = [
        "selfplay.ply_limit_areas=1",
        "selfplay.full_noise=0",
        "selfplay.opening.random_share=0",
        "budget.games=400",
    ];
    let ended = place.command("run", &settings).output().expect("starts");
    assert!(json(&ended)["games"].as_u64() >= Some(400), "{ended:?}");
    let warnings = |output| stderr_of(output).matches("newest positions can be trained on").count();
    assert_eq!(warnings(&ended), 1, "{ended:?}");
    let trained = place.command("train", &settings).output().expect("starts");
    assert_eq!(warnings(&trained), 1, "{trained:?}");
}

#[test]
fn a_failing_gate_loses_nothing_else() {
    let place = Place::new();
    let run = Running::start(place.command("run", &["gate.always_promote=true"]));
    wait_until("a promotion", || place.path("promotions/000001.json").exists());
    let first = std::fs::read(place.path("promotions/000000.json")).expect("the first promotion");
    std::fs::write(place.path("promotions/000000.json"), "nonsense").expect("writable");
    let said = run.fails("the gate failed");
    assert!(said.contains("promotions/000000.json"), "{said}");
    let step = place.holds_everything();
    assert!(step >= 40, "{step}");

    std::fs::write(place.path("promotions/000000.json"), first).expect("writable");
    assert!(place.run_to(step + 10)["steps"].as_u64() >= Some(step + 10));
    assert!(!place.path("in_flight.json").exists() || place.in_flight().1 > 0);
}

#[test]
fn later_failures_are_reported_and_hide_neither_the_first_error_nor_the_other_steps() {
    let place = Place::new();
    let run = Running::start(place.command("run", &["gate.always_promote=true"]));
    wait_until("a promotion", || place.path("promotions/000001.json").exists());
    std::fs::write(place.path("checkpoints"), "not a folder").expect("there is no checkpoint yet");
    std::fs::write(place.path("promotions/000000.json"), "nonsense").expect("writable");
    let said = run.fails("the gate failed");
    assert!(said.contains("\nalso: writing the last checkpoint failed: "), "{said}");
    let (begun, in_flight) = place.in_flight();
    assert_eq!(place.published() + in_flight, begun);
}

#[test]
fn games_that_the_store_rejects_go_into_the_spool() {
    let place = Place::new();
    let run = Running::start(place.command("run", &["loop.candidate_every_steps=200"])).until("published 1");
    // Where the folder of the next generation belongs.
    let blocked = place.path("games/v1/kind=selfplay/gen=g000001");
    std::fs::write(&blocked, "not a folder").expect("it is not there yet");
    let said = run.fails("the publisher failed");
    assert!(said.contains("cannot publish games to"), "{said}");
    std::fs::remove_file(&blocked).expect("removable");
    assert!(place.holds_everything() >= 200);
    let (published, spooled) = (place.published(), place.spooled());
    assert!(spooled > 0);

    place.run_to(400);
    assert!(place.published() > published + spooled);
    assert_eq!(place.spooled(), 0);
}

#[test]
fn games_that_neither_store_nor_spool_accepts_are_counted() {
    let place = Place::new();
    let settings = ["loop.candidate_every_steps=200", "loop.spool_mib=0"];
    let run = Running::start(place.command("run", &settings)).until("published 1");
    let blocked = place.path("games/v1/kind=selfplay/gen=g000001");
    std::fs::write(&blocked, "not a folder").expect("it is not there yet");
    let said = run.fails("the publisher failed");
    std::fs::remove_file(&blocked).expect("removable");
    let (_, lost) = said
        .split_once("\nalso: publishing the last games failed: ")
        .expect("a sentence");
    let lost = lost.strip_prefix("lost ").expect("what is lost");
    let (lost, _) = lost.split_once(" game").expect("a number");
    let lost: u64 = lost.replace(',', "").parse().expect("a number");
    let (begun, in_flight) = place.in_flight();
    assert!(lost > 0);
    assert_eq!(place.published() + lost + in_flight, begun);
}

#[test]
fn a_failing_trainer_leaves_a_checkpoint_of_its_last_step() {
    let place = Place::new();
    let settings = ["loop.candidate_every_steps=400"];
    let run = Running::start(place.command("run", &settings)).until("published 1");
    place.swap("models");
    run.fails("the trainer failed");
    place.swap("models");
    assert_eq!(
        place.holds_everything(),
        400,
        "the step of the model that could not be published"
    );
    place.run_to(420);
}

/// The champion's weights are so large that the first call of the network fails.
#[test]
fn a_failing_worker_loses_nothing() {
    let place = Place::new();
    place.run_to(20);
    let (begun, _) = place.in_flight();
    let store = place.store();
    let (number, champion) = store.models().champion().expect("readable").expect("a champion");
    let mut model = store.models().load(&champion.model_id).expect("readable");
    let mut weights = model.weights.to_safetensors();
    let header = u64::from_le_bytes(weights[..8].try_into().expect("eight bytes")) as usize;
    for value in weights[8 + header..].chunks_exact_mut(4) {
        value.copy_from_slice(&1e30_f32.to_le_bytes());
    }
    let generation = champion.generation + 100;
    model.weights = Weights::from_safetensors(&weights).expect("the same tensors");
    let id = store.models().publish(generation, &model).expect("writable");
    let promotion = Promotion::now(&id, None, champion.verdict);
    store.models().promote(number + 1, &promotion).expect("writable");

    // No gate may begin: it would fail on the same champion, and on a busy machine before self-play does.
    let settings = ["loop.champions_only=true", "loop.candidate_every_steps=100000"];
    let run = Running::start(place.command("run", &settings));
    let said = run.fails("self-play failed");
    assert!(
        said.contains("self-play worker") && said.contains("not finite"),
        "{said}"
    );
    let (begun_now, in_flight) = place.in_flight();
    assert_eq!(place.published() + in_flight, begun + begun_now);
    let step = place.last_step();
    assert!(step >= 20, "{step}");
}

#[test]
fn the_selfplay_command_spools_what_the_store_rejects() {
    let place = Place::new();
    let games = place.path("games");
    let play = |games: &str| {
        let mut command = place.command("selfplay", &[]);
        command.args(["--games", games, "--threads", "2"]);
        command
    };
    let run = Running::start(play("20000"));
    wait_until("a shard", || games.is_dir() && place.published() > 0);
    place.swap("games");
    let said = run.fails("publishing failed");
    assert!(said.contains("cannot publish games to"), "{said}");
    place.swap("games");
    let (published, spooled) = (place.published(), place.spooled());
    assert!(spooled > 0);
    let output = play("8").output().expect("starts");
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert_eq!((place.published(), place.spooled()), (published + spooled + 8, 0));
}

#[test]
fn the_train_command_leaves_a_checkpoint_of_its_last_step() {
    let place = Place::new();
    let output = place
        .command("selfplay", &[])
        .args(["--games", "200"])
        .output()
        .expect("starts");
    assert!(output.status.success(), "{}", stderr_of(&output));
    let settings = [
        "loop.reuse=1000000",
        "loop.candidate_every_steps=300",
        "loop.checkpoint_seconds=0.01",
    ];
    let mut train = place.command("train", &settings);
    train.arg("--follow");
    let run = Running::start(train).until("checkpoint at step");
    place.swap("models");
    run.fails("training failed");
    place.swap("models");
    let step = place.last_step();
    assert!(step > 0 && step.is_multiple_of(300), "{step}");
}

#[test]
fn a_run_continues_when_its_stderr_is_closed() {
    let place = Place::new();
    let run = Running::start(place.command("run", &["budget.steps=60"])).until("published 1");
    drop(run.log);
    let output = run.child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{:?}", output.status);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert!(summary["steps"].as_u64() >= Some(60));
}

#[test]
fn a_signal_stops_a_run_cleanly_and_the_printed_command_resumes_it() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        let run = Running::start(place.command("run", &[])).until("gate begins");
        run.signal(signal);
        // GNU `timeout` signals the process and then its group.
        run.signal(signal);
        let output = run.end();
        let said = stderr_of(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let step = place.holds_everything();
        assert!(step > 0);
        let again = said
            .lines()
            .find_map(|line| line.strip_prefix("Stopped. To resume: "))
            .expect("a line");
        let pasted = format!("{again} --set budget.steps={}", step + 5);
        let output = Command::new("sh").args(["-c", &pasted]).output().expect("a shell");
        assert!(json(&output)["steps"].as_u64() >= Some(step + 5));
    }
}

#[test]
fn stopped_stages_print_what_they_have_done() {
    let place = Place::new();
    let mut play = place.command("selfplay", &[]);
    play.args(["--games", "1000000"]);
    let run = Running::start(play);
    wait_until("a shard", || place.path("games").is_dir() && place.published() > 0);
    run.signal(Signal::INT);
    let output = run.end();
    assert_eq!(output.status.code(), Some(130), "{}", stderr_of(&output));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(done["games"], place.published());

    let mut train = place.command("train", &["loop.checkpoint_seconds=0.01"]);
    train.arg("--follow");
    let run = Running::start(train).until("checkpoint at step");
    run.signal(Signal::TERM);
    let output = run.end();
    assert!(output.status.success(), "{}", stderr_of(&output));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(done["steps"], place.last_step());

    let mut gate = place.command("gate", &[]);
    gate.arg("--follow");
    let run = Running::start(gate);
    wait_until("it listens", || listens(&run.child));
    run.signal(Signal::HUP);
    let output = run.end();
    assert!(output.status.success(), "{}", stderr_of(&output));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(done["champion"].is_string());
}

/// Whether a process has installed its handlers for SIGHUP, SIGINT, and SIGTERM.
fn listens(child: &Child) -> bool {
    let all = [Signal::HUP, Signal::INT, Signal::TERM]
        .map(|signal| 1 << (signal.as_raw() - 1))
        .iter()
        .sum::<u64>();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & all == all))
}

/// The second signal arrives while libtorch is computing in several threads.
#[test]
fn two_signals_in_the_closing_matches_end_the_run_without_a_crash() {
    let place = Place::new();
    let settings = ["selfplay.boards=[{size=\"5x5\"}]", "budget.steps=5"];
    let command = || {
        let mut command = place.command("run", &settings);
        command.args(["--closing-games", "100"]);
        command
    };
    // After the budget is spent, the gate runs, then the closing matches.
    let run = Running::start(command()).until("gate ended");
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    for number in 0..6 {
        let run = Running::start(command());
        wait_until("it listens", || listens(&run.child));
        std::thread::sleep(Duration::from_millis(500 + 100 * number));
        run.signal(Signal::INT);
        // Every other time late enough to count as a second signal.
        std::thread::sleep(Duration::from_millis(if number % 2 == 0 { 30 } else { 320 }));
        let _ = kill_process(Pid::from_child(&run.child), Signal::INT);
        let output = run.end();
        let said = stderr_of(&output);
        assert_eq!(
            output.status.code(),
            Some(130),
            "try {number}: {:?}\n{said}",
            output.status
        );
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_copied_store_prints_where_it_is_now_and_what_changed() {
    let place = Place::new();
    let command = |more: &[&str], settings: &[&str]| {
        let mut command = place.command("run", settings);
        let output = command.args(more).output().expect("starts");
        assert!(output.status.success(), "{}", stderr_of(&output));
        output
    };
    let output = command(&["--closing-games", "0"], &["budget.steps=40"]);
    assert!(!stderr_of(&output).contains("closing matches"), "none are played");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(summary["results"], serde_json::json!([]));

    let output = command(&["--closing-games", "2"], &["budget.steps=40"]);
    let said = stderr_of(&output);
    assert!(said.contains("Measuring the champion in 8 games"), "{said}");
    assert!(
        said.contains("closing matches: "),
        "the lines are printed without a terminal: {said}"
    );
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let opponents: Vec<&str> = (0..4)
        .map(|number| summary["results"][number]["opponent"].as_str().expect("an opponent"))
        .collect();
    assert_eq!(
        opponents,
        ["random", "random", "mcts,playouts=1000", "mcts,playouts=1000"]
    );

    let birthplace = place.0.path().display().to_string();
    for entry in std::fs::read_dir(place.path("summaries")).expect("summaries") {
        let summary = std::fs::read_to_string(entry.expect("a file").path()).expect("text");
        assert!(!summary.contains(&birthplace), "{summary}");
    }
    let report = std::fs::read_to_string(place.path("report.html")).expect("a report");
    let (before, command) = report.split_once("command</th>").expect("the command");
    let (command, after) = command.split_once("</td>").expect("a cell");
    assert!(command.contains("--store"), "{command}");
    assert!(
        !before.contains(&birthplace) && !after.contains(&birthplace),
        "only the command names the birthplace"
    );
    let other = Place::new();
    std::fs::rename(place.0.path().join("store"), other.0.path().join("store")).expect("moves");
    let output = other.command("run", &["budget.steps=40"]).output().expect("starts");
    assert!(output.status.success(), "{}", stderr_of(&output));
    let again: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(again["store"], other.path("").display().to_string());
    assert_eq!(again["results"], summary["results"]);
}

#[test]
fn a_start_with_other_settings_names_them() {
    let place = Place::new();
    place.run_to(20);
    let settings = ["budget.steps=150", "training.learning_rate=0.001"];
    let first = place.command("run", &settings).output().expect("starts");
    let said = stderr_of(&first);
    assert!(
        said.contains(
            "settings changed since the last start: budget.steps 20 -> 150, training.learning_rate 0.012 -> 0.001"
        ),
        "{said}"
    );
    // Without the setting, the run returns to the value of the file, and says that as well.
    let second = place.command("run", &["budget.steps=400"]).output().expect("starts");
    let said = stderr_of(&second);
    assert!(said.contains("training.learning_rate 0.001 -> 0.012"), "{said}");
    let third = place.command("run", &["budget.steps=400"]).output().expect("starts");
    assert!(!stderr_of(&third).contains("changed since"), "{}", stderr_of(&third));
}

/// What a command writes to a terminal with 80 columns; `None` without the program `script`.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn on_a_terminal(command: &Command, variables: &[(&str, &str)]) -> Option<String> {
    let words: Vec<&str> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_str().expect("UTF-8"))
        .collect();
    let line = format!("stty cols 80; {}", shlex::try_join(words).expect("no NUL"));
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
    terminal.env_remove("NO_COLOR").envs(variables.iter().copied());
    match terminal.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("skipped: there is no terminal without the program script: {error}");
            None
        }
    }
}

#[test]
fn a_narrow_terminal_a_dumb_one_and_one_without_colors_are_respected() {
    let place = Place::new();
    let colors = |said: &str| said.contains("\u{1b}[32m");
    let run = |steps: u64, variables: &[(&str, &str)]| {
        let mut command = place.command("run", &[&format!("budget.steps={steps}")]);
        command.args(["--closing-games", "0"]);
        on_a_terminal(&command, variables)
    };
    let Some(said) = run(40, &[("TERM", "xterm")]) else {
        return;
    };
    assert!(colors(&said), "the log has colors: {said:?}");
    // All lines are drawn in one go, each filled up to the width: one for each of the six parts and the budget.
    for drawn in said
        .split(['\u{1b}', '\r', '\n'])
        .filter(|drawn| drawn.contains("losses"))
    {
        assert!(drawn.chars().count() <= 7 * 80 + "[2K".len(), "{drawn:?}");
    }
    assert!(said.contains("losses    policy"), "{said}");
    let said = run(80, &[("TERM", "xterm"), ("NO_COLOR", "1")]).expect("a terminal");
    assert!(!colors(&said), "{said:?}");
    let said = run(120, &[("TERM", "dumb")]).expect("a terminal");
    assert!(said.contains("self-play  ") && !said.contains('\u{1b}'), "{said:?}");
}
