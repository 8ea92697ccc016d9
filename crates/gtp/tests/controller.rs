//! The controller against misbehaving engines, written as small shell scripts.
#![cfg(unix)]

mod fake;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tengen_gtp::{Answer, CommandLine, Controller, ControllerError, Exit, Timeouts};
use tengen_rules::{Color, Komi, Move};

use fake::{Fake, limits, size};

/// The limit for engines that never answer; all others get limits that are long enough on a busy machine.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_well_behaved_engine_works() {
    let fake = Fake::new("genmove) printf '=%s C3\\n\\n' $id;;\nversion) printf '=%s 1\\n2\\n\\n' $id;;");
    let mut controller = fake.start().expect("a running engine");
    assert_eq!(controller.info().name, "Fake");
    assert_eq!(controller.info().version, "1\n2");
    assert!(controller.knows("play") && !controller.knows("loadsgf"));
    controller
        .new_game(size(), Komi::from_half_points(15))
        .expect("accepted");
    let c3 = Move::parse(size(), "C3").expect("a move");
    assert_eq!(
        controller.genmove(size(), Color::Black).expect("a move"),
        Answer::Move(c3)
    );
    controller.play(size(), Color::White, Move::Pass).expect("accepted");
    controller.quit();
}

#[test]
fn moves_are_accepted_in_other_spellings() {
    for (reply, expected) in [
        ("RESIGN", Answer::Resign),
        ("PASS", Answer::Move(Move::Pass)),
        ("Pass  now", Answer::Move(Move::Pass)),
    ] {
        let fake = Fake::new(&format!("genmove) printf '\\n\\n=%s\\t{reply}\\r\\n\\n' $id;;"));
        let mut controller = fake.start().expect("a running engine");
        assert_eq!(
            controller.genmove(size(), Color::White).expect("an answer"),
            expected,
            "{reply}"
        );
    }
}

#[test]
fn a_missing_program_is_reported() {
    let command: CommandLine = "no-such-engine-here --mode gtp".parse().expect("a command line");
    let error = Controller::start(&command, limits()).err().expect("an error");
    assert!(matches!(error, ControllerError::NotFound { .. }));
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(error.to_string().contains("'no-such-engine-here'"));
}

#[test]
fn a_file_that_is_not_a_program_cannot_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let command = CommandLine {
        program: dir.path().display().to_string(),
        args: Vec::new(),
    };
    assert!(matches!(
        Controller::start(&command, limits()),
        Err(ControllerError::NotStarted { .. })
    ));
}

#[test]
fn a_crash_reports_the_end_of_standard_error() {
    let error = Fake::new("genmove) echo 'out of luck' >&2; kill -SEGV $$;;").genmove_error_within(LONG);
    assert!(
        matches!(
            error,
            ControllerError::Exited {
                exit: Exit::Signal(11),
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("out of luck"), "{error}");
}

#[test]
fn an_early_exit_is_reported() {
    let error = Fake::new("genmove) exit 3;;").genmove_error_within(LONG);
    assert!(
        matches!(
            error,
            ControllerError::Exited {
                exit: Exit::Code(3),
                ..
            }
        ),
        "{error}"
    );
    let start = Fake::new("name) exit 0;;").start().err().expect("an error");
    assert!(
        matches!(
            start,
            ControllerError::Exited {
                exit: Exit::Code(0),
                ..
            }
        ),
        "{start}"
    );
}

#[test]
fn a_hang_times_out() {
    let error = Fake::new("genmove) trap '' TERM; sleep 600;;").genmove_error_within(SHORT);
    assert!(matches!(error, ControllerError::TimedOut { .. }), "{error}");
}

#[test]
fn the_time_for_the_whole_game_is_limited() {
    let fake = Fake::new("genmove) sleep 0.15; printf '=%s pass\\n\\n' $id;;");
    let timeouts = Timeouts {
        per_move: Duration::from_secs(20),
        total: Some(Duration::from_millis(400)),
        ..limits()
    };
    let mut controller = Controller::start(&fake.command(), timeouts).expect("a running engine");
    let error = loop {
        if let Err(error) = controller.genmove(size(), Color::Black) {
            break error;
        }
    };
    assert!(matches!(error, ControllerError::OutOfTime { .. }), "{error}");
    assert!(error.to_string().contains("0.4 s for the game"), "{error}");
    assert!(!controller.is_alive());
}

#[test]
fn startup_has_its_own_limit() {
    let fake = Fake::new("name) echo 'loading weights' >&2; sleep 3; printf '=%s Slow\\n\\n' $id;;");
    let start = |startup| Controller::start(&fake.command(), Timeouts { startup, ..limits() });
    let error = start(Duration::from_millis(1500)).err().expect("an error");
    assert!(
        matches!(&error, ControllerError::TimedOut { during, .. } if during == "name"),
        "{error}"
    );
    assert!(error.to_string().contains("loading weights"), "{error}");
    assert_eq!(start(limits().startup).expect("a running engine").info().name, "Slow");
}

#[test]
fn invalid_answers_are_reported() {
    for answer in ["hello there", "=%s banana", "=999 C3", "=%s Z9", "=%s", "=%s I5"] {
        let error = Fake::new(&format!("genmove) printf '{answer}\\n\\n' $id;;")).genmove_error_within(LONG);
        assert!(matches!(error, ControllerError::Nonsense { .. }), "{answer}: {error}");
    }
}

#[test]
fn a_stop_does_not_wait_for_the_engine() {
    let fake = Fake::new("genmove) echo $$ > thinks; sleep 600;;");
    let stop = Arc::new(AtomicBool::new(false));
    let timeouts = Timeouts {
        per_move: Duration::from_secs(600),
        ..limits()
    };
    let mut controller = Controller::start_until(&fake.command(), timeouts, Arc::clone(&stop)).expect("an engine");
    let error = std::thread::scope(|scope| {
        let answer = scope.spawn(|| controller.genmove(size(), Color::Black));
        while !fake.file("thinks").exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        stop.store(true, Ordering::SeqCst);
        answer.join().expect("no panic").expect_err("an error")
    });
    assert!(matches!(error, ControllerError::Stopped { .. }), "{error}");
    assert!(!controller.is_alive());
    // An engine that is starting is stopped as well.
    let silent = Fake::new("protocol_version) sleep 600;;");
    let error = Controller::start_until(&silent.command(), timeouts, stop)
        .err()
        .expect("an error");
    assert!(matches!(error, ControllerError::Stopped { .. }), "{error}");
}

#[test]
fn floods_of_output_are_stopped() {
    let lines = Fake::new("genmove) printf '=%s\\n' $id; while :; do echo C3 C3 C3 C3 C3 C3; done;;")
        .genmove_error_within(LONG);
    assert!(
        matches!(
            lines,
            ControllerError::Nonsense { .. } | ControllerError::TimedOut { .. }
        ),
        "{lines}"
    );
    let blank = Fake::new("genmove) while :; do echo; done;;").genmove_error_within(SHORT);
    assert!(matches!(blank, ControllerError::TimedOut { .. }), "{blank}");
    let endless = Fake::new("genmove) while :; do printf '%01000d' 0; done;;").genmove_error_within(LONG);
    assert!(
        matches!(
            endless,
            ControllerError::Nonsense { .. } | ControllerError::TimedOut { .. }
        ),
        "{endless}"
    );
}

#[test]
fn a_flood_on_standard_error_neither_blocks_nor_uses_much_memory() {
    let fake = Fake::new(
        "genmove) i=0; while [ $i -lt 300 ]; do printf '%01000d\\n' $i >&2; i=$((i+1)); done; \
         printf '=%s pass\\n\\n' $id;;",
    );
    let timeouts = limits();
    let mut controller = Controller::start(&fake.command(), timeouts).expect("a running engine");
    assert_eq!(
        controller.genmove(size(), Color::Black).expect("an answer"),
        Answer::Move(Move::Pass)
    );
    assert!(controller.stderr().len() <= 64 * 1024);
    controller.quit();
}

#[test]
fn a_rejected_command_leaves_the_engine_running() {
    let fake = Fake::new("play) printf '?%s illegal move\\n\\n' $id;;");
    let mut controller = fake.start().expect("a running engine");
    let error = controller.play(size(), Color::Black, Move::Pass).expect_err("an error");
    assert!(matches!(error, ControllerError::Refused { .. }), "{error}");
    assert_eq!(controller.ask("name").expect("alive"), "Fake");
}

#[test]
fn multiline_answers_end_at_an_empty_line_with_any_line_ending() {
    let fake = Fake::new("showboard) printf '=%s\\r\\na b\\r\\n c\\td \\r\\n\\r\\n' $id;;");
    let mut controller = fake.start().expect("a running engine");
    assert_eq!(controller.ask("showboard").expect("a board"), "\na b\n c d ");
    assert_eq!(controller.ask("name").expect("alive"), "Fake");
}

#[test]
fn unrequested_output_is_an_error() {
    let fake = Fake::new("komi) printf '=%s\\n\\n\\n\\n= D4\\n\\n' $id; touch said;;");
    let mut controller = fake.start().expect("a running engine");
    controller.ask("komi 7").expect("accepted");
    while !fake.file("said").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(500));
    let error = controller.genmove(size(), Color::Black).expect_err("an error");
    assert!(matches!(error, ControllerError::Nonsense { .. }), "{error}");
    assert!(error.to_string().contains("D4"), "{error}");
}

/// The input pipe of an engine that answers without reading eventually fills up; the controller must not block on it.
#[test]
fn an_engine_that_never_reads_does_not_block_the_controller() {
    let command: CommandLine = "sh -c 'while :; do printf \"= 2\\n\\n\"; sleep 0.002; done'"
        .parse()
        .expect("a command");
    let timeouts = Timeouts {
        startup: SHORT,
        command: SHORT,
        ..limits()
    };
    let long = "x".repeat(100_000);
    let outcome = Controller::start(&command, timeouts).and_then(|mut controller| {
        for _ in 0..100 {
            controller.ask(&long)?;
        }
        Ok(())
    });
    let error = outcome.expect_err("an error");
    assert!(
        matches!(
            error,
            ControllerError::Nonsense { .. } | ControllerError::TimedOut { .. }
        ),
        "{error}"
    );
}

#[test]
fn closing_standard_output_is_reported() {
    let error = Fake::new("genmove) exec >&-; sleep 600;;").genmove_error_within(LONG);
    assert!(
        matches!(
            error,
            ControllerError::Exited {
                exit: Exit::OutputClosed,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("the engine closed its standard output during 'genmove b'"),
        "{error}"
    );
}
