//! Whatever an engine does and starts, no process and no zombie is left behind.
#![cfg(target_os = "linux")]

mod fake;

use std::path::Path;
use std::time::{Duration, Instant};

use fake::Fake;

/// The PIDs of the engine and its children, which the engine writes to a file.
fn numbers(fake: &Fake, count: usize) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let text = std::fs::read_to_string(fake.file("pids")).unwrap_or_default();
        let numbers: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if numbers.len() == count {
            return numbers;
        }
        assert!(Instant::now() < deadline, "only {numbers:?} were started");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process exists; zombies are in `/proc` too.
fn exists(number: &String) -> bool {
    Path::new("/proc").join(number).exists()
}

#[track_caller]
fn expect_gone(numbers: &[String]) {
    let left: Vec<&String> = numbers.iter().filter(|number| exists(number)).collect();
    assert!(left.is_empty(), "{left:?} of {numbers:?} are still there");
}

/// A shell command that starts a child that ends only when killed.
const CHILD: &str = "(trap '' TERM HUP INT; sleep 600) & echo $$ $! > pids";

/// An engine that runs `command`, which writes the numbers of so many processes to a file, leaves none of them when its
/// controller is dropped.
#[track_caller]
fn expect_nothing_left_of(command: &str, processes: usize) {
    let fake = Fake::new(&format!("komi) {command}; printf '=%s\\n\\n' $id;;"));
    let mut controller = fake.start().expect("a running engine");
    controller.ask("komi 7").expect("accepted");
    let numbers = numbers(&fake, processes);
    // A shell that only starts others may have ended by now.
    assert!(numbers.iter().any(exists));
    drop(controller);
    expect_gone(&numbers);
}

#[test]
fn nothing_is_left_when_the_controller_is_dropped() {
    expect_nothing_left_of(CHILD, 2);
}

#[test]
fn nothing_is_left_when_the_engine_quits() {
    for answer in ["printf '=%s\\n\\n' $id; exit 0", "exit 1", ":", "sleep 600"] {
        let fake = Fake::new(&format!("quit) {answer};;\nkomi) {CHILD}; printf '=%s\\n\\n' $id;;"));
        let mut controller = fake.start().expect("a running engine");
        controller.ask("komi 7").expect("accepted");
        controller.quit();
        expect_gone(&numbers(&fake, 2));
    }
}

#[test]
fn nothing_is_left_after_any_failure() {
    for failure in [
        "exit 3",
        "kill -SEGV $$",
        "sleep 600",
        "trap '' TERM INT HUP; while :; do sleep 600; done",
        "exec >&-; sleep 600",
        "echo nonsense; echo",
        "while :; do echo flood; done",
        "while :; do echo flood >&2; done",
    ] {
        let fake = Fake::new(&format!("genmove) {CHILD}; {failure};;"));
        fake.genmove_error_within(Duration::from_millis(1500));
        expect_gone(&numbers(&fake, 2));
    }
}

#[test]
fn nothing_is_left_of_an_engine_that_fails_to_start() {
    let fake = Fake::new(&format!("name) {CHILD}; exit 1;;"));
    assert!(fake.start().is_err());
    expect_gone(&numbers(&fake, 2));
}

#[test]
fn processes_that_left_the_process_group_are_killed() {
    let command = "setsid sh -c 'echo $$ >> pids; sleep 600' & \
         (setsid sh -c 'echo $$ >> pids; setsid sleep 600 & echo $! >> pids' &)";
    expect_nothing_left_of(command, 3);
}

/// Shell commands that start processes with sessions of their own and without the environment of the engine: a child,
/// and an orphan whose parent has ended.
const STRANGERS: &str = "env -i setsid sleep 600 & echo $! >> pids; (env -i setsid sleep 600 & echo $! >> pids)";

#[test]
fn processes_that_left_the_session_and_the_environment_are_killed() {
    expect_nothing_left_of(STRANGERS, 2);
}

#[test]
fn processes_that_left_everything_are_killed_after_the_engine_died() {
    for death in ["exit 3", "kill -KILL $$"] {
        let fake = Fake::new(&format!("genmove) {STRANGERS}; {death};;"));
        fake.genmove_error_within(Duration::from_secs(20));
        expect_gone(&numbers(&fake, 2));
    }
}

#[test]
fn one_engine_s_end_leaves_the_processes_of_another_running() {
    let fake = || Fake::new(&format!("komi) {STRANGERS}; printf '=%s\\n\\n' $id;;"));
    let (first, second) = (fake(), fake());
    let [mut one, mut two] = [&first, &second].map(|fake| fake.start().expect("a running engine"));
    one.ask("komi 7").expect("accepted");
    two.ask("komi 7").expect("accepted");
    let (ended, left) = (numbers(&first, 2), numbers(&second, 2));
    drop(one);
    expect_gone(&ended);
    assert!(left.iter().all(exists) && two.ask("name").is_ok());
    drop(two);
    expect_gone(&left);
}

#[test]
fn nothing_is_left_after_a_panic() {
    let fake = Fake::new(&format!("komi) {CHILD}; printf '=%s\\n\\n' $id;;"));
    let mut controller = fake.start().expect("a running engine");
    let worker = std::thread::spawn(move || {
        controller.ask("komi 7").expect("accepted");
        std::panic::resume_unwind(Box::new("as if by a bug"));
    });
    worker.join().expect_err("a panic");
    expect_gone(&numbers(&fake, 2));
}
