//! Runs the real binary and captures its output.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tengen_records::{EndReason, GameKind, GameRecord, PlyRecord};
use tengen_rules::{Komi, Move, Setup, Size};

/// The result of a command.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `tengen` to its end with empty standard input.
pub(crate) fn tengen(args: &[&str]) -> Answer {
    let output = command(args).stdin(Stdio::null()).output().expect("the binary starts");
    answer(output)
}

/// The binary with its arguments, not yet started.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tengen"));
    command.args(args);
    command
}

/// The binary, started with pipes to all its streams.
pub(crate) fn start(args: &[&str]) -> Child {
    command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

/// The result of a finished process.
pub(crate) fn answer(output: Output) -> Answer {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

impl Answer {
    /// The JSON object on stdout of a command that must have succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.object()
    }

    /// The JSON object on stdout, regardless of the exit code.
    #[track_caller]
    pub(crate) fn object(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Requires an exit code and a part of the message on stderr, and no panic.
    #[track_caller]
    pub(crate) fn refuses(&self, code: i32, message: &str) {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(self.stderr.contains(message), "{message:?} is not in: {}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

/// A game on a square board that ends with two passes.
pub(crate) fn finished_game(number: usize, side: usize, komi_half_points: i16, moves: &[&str]) -> GameRecord {
    let size = Size::square(side).unwrap();
    let ply = |text: &&str| PlyRecord::bare(Move::parse(size, text).unwrap());
    let mut game = GameRecord {
        game_id: format!("game-{number}"),
        size,
        rules: "tromp_taylor".to_owned(),
        komi: Komi::from_half_points(komi_half_points),
        score_half_points: None,
        seed: number as i64,
        black_model: "test".to_owned(),
        white_model: "test".to_owned(),
        config_id: "test".to_owned(),
        start_time_ms: 0,
        end_reason: EndReason::PlyLimit,
        kind: GameKind::SelfPlay,
        opening_plies: 0,
        setup: Setup::EVEN,
        plies: moves.iter().map(ply).collect(),
        ownership: Vec::new(),
        origin: None,
    };
    let last = game.replay().unwrap();
    game.set_end(&last, EndReason::TwoPasses);
    game
}

/// Waits for a condition that other processes bring about.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process with this number is running; a zombie that its new parent has not yet collected does not count.
#[cfg(target_os = "linux")]
pub(crate) fn runs(number: impl AsRef<Path>) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(number).join("stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
