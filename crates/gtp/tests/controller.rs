//! The controller against engines that misbehave in every way, written as small shell scripts.
#![cfg(unix)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tengen_gtp::{Answer, CommandLine, Controller, ControllerError, Exit, Timeouts};
use tengen_rules::{Color, Komi, Move, Size};

/// A fake engine: answers everything with `=`, except what the given cases say.
struct Fake {
    _dir: TempDir,
    path: PathBuf,
}

impl Fake {
    fn new(cases: &str) -> Fake {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("engine.sh");
        let script = format!(
            "while read id command rest; do case \"$command\" in\n{cases}\n\
             protocol_version) printf '=%s 2\\n\\n' $id;;\n\
             name) printf '=%s Fake\\n\\n' $id;;\n\
             list_commands) printf '=%s genmove\\nplay\\n\\n' $id;;\n\
             quit) printf '=%s\\n\\n' $id; exit 0;;\n\
             *) printf '=%s\\n\\n' $id;;\n\
             esac; done\n"
        );
        std::fs::write(&path, script).expect("a script");
        Fake { _dir: dir, path }
    }

    fn command(&self) -> CommandLine {
        CommandLine {
            program: "sh".to_owned(),
            args: vec![self.path.display().to_string()],
        }
    }

    fn start(&self) -> Result<Controller, ControllerError> {
        Controller::start(&self.command(), limits())
    }

    fn genmove_error(&self) -> ControllerError {
        self.genmove_error_within(limits().per_move)
    }

    fn genmove_error_within(&self, per_move: Duration) -> ControllerError {
        let timeouts = Timeouts { per_move, ..limits() };
        let mut controller = Controller::start(&self.command(), timeouts).expect("a running engine");
        let error = controller.genmove(size(), Color::Black).expect_err("an error");
        if !matches!(error, ControllerError::Refused { .. }) {
            assert!(!controller.is_alive());
            assert!(matches!(controller.ask("name"), Err(ControllerError::Gone)));
        }
        error
    }
}

/// For engines that never answer; all others get limits that a busy machine keeps.
const SHORT: Duration = Duration::from_millis(300);

fn limits() -> Timeouts {
    Timeouts {
        startup: Duration::from_secs(20),
        command: Duration::from_secs(20),
        per_move: Duration::from_secs(20),
        total: None,
    }
}

fn size() -> Size {
    Size::square(5).expect("a size")
}

#[test]
fn a_well_behaved_engine() {
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
fn answers_in_other_spellings() {
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
fn a_missing_program_is_one_sentence() {
    let command: CommandLine = "no-such-engine-here --mode gtp".parse().expect("a command line");
    let error = Controller::start(&command, limits()).err().expect("an error");
    assert!(matches!(error, ControllerError::NotFound { .. }));
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(error.to_string().contains("'no-such-engine-here'"));
}

#[test]
fn a_file_that_is_no_program_cannot_start() {
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
fn a_crash_keeps_the_last_words() {
    let error = Fake::new("genmove) echo 'out of luck' >&2; kill -SEGV $$;;").genmove_error();
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
fn an_early_exit_is_told_apart() {
    let error = Fake::new("genmove) exit 3;;").genmove_error();
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
fn a_hang_is_ended_in_time() {
    let error = Fake::new("genmove) trap '' TERM; sleep 600;;").genmove_error_within(SHORT);
    assert!(matches!(error, ControllerError::TimedOut { .. }), "{error}");
}

#[test]
fn thinking_time_of_the_game_is_limited() {
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
    assert!(matches!(error, ControllerError::TimedOut { .. }), "{error}");
}

#[test]
fn nonsense_is_named() {
    for answer in ["hello there", "=%s banana", "=999 C3", "=%s Z9", "=%s", "=%s I5"] {
        let error = Fake::new(&format!("genmove) printf '{answer}\\n\\n' $id;;")).genmove_error();
        assert!(matches!(error, ControllerError::Nonsense { .. }), "{answer}: {error}");
    }
}

#[test]
fn floods_end() {
    let lines = Fake::new("genmove) printf '=%s\\n' $id; while :; do echo C3 C3 C3 C3 C3 C3; done;;").genmove_error();
    assert!(
        matches!(
            lines,
            ControllerError::Nonsense { .. } | ControllerError::TimedOut { .. }
        ),
        "{lines}"
    );
    let blank = Fake::new("genmove) while :; do echo; done;;").genmove_error_within(SHORT);
    assert!(matches!(blank, ControllerError::TimedOut { .. }), "{blank}");
    let endless = Fake::new("genmove) while :; do printf '%01000d' 0; done;;").genmove_error();
    assert!(
        matches!(
            endless,
            ControllerError::Nonsense { .. } | ControllerError::TimedOut { .. }
        ),
        "{endless}"
    );
}

#[test]
fn a_flood_on_standard_error_neither_blocks_nor_grows() {
    let fake = Fake::new(
        "genmove) i=0; while [ $i -lt 300 ]; do printf '%01000d\\n' $i >&2; i=$((i+1)); done; printf '=%s pass\\n\\n' $id;;",
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
fn a_refusal_leaves_the_engine_alive() {
    let fake = Fake::new("play) printf '?%s illegal move\\n\\n' $id;;");
    let mut controller = fake.start().expect("a running engine");
    let error = controller.play(size(), Color::Black, Move::Pass).expect_err("an error");
    assert!(matches!(error, ControllerError::Refused { .. }), "{error}");
    assert_eq!(controller.ask("name").expect("alive"), "Fake");
}

/// The engine and its own children are gone, collected, soon after the controller is dropped.
#[test]
#[cfg(target_os = "linux")]
fn nothing_is_left_of_the_process_group() {
    let fake = Fake::new("name) sleep 600 & sleep 600 & printf '=%s %s %s\\n\\n' $id $$ $!;;");
    let controller = fake.start().expect("a running engine");
    let pids: Vec<String> = controller.info().name.split_whitespace().map(str::to_owned).collect();
    assert_eq!(pids.len(), 2);
    let exists = |pid: &String| PathBuf::from(format!("/proc/{pid}")).exists();
    assert!(pids.iter().all(exists));
    drop(controller);
    let deadline = Instant::now() + Duration::from_secs(20);
    while pids.iter().any(exists) {
        assert!(Instant::now() < deadline, "{pids:?} are still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}
