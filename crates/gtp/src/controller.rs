//! The controller side: how is another engine driven, and what can go wrong?

use std::io::{self, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tengen_rules::{Color, Komi, Move, Size};

use crate::process::EngineProcess;
use crate::words::CommandLine;

/// Longest line taken from an engine, in bytes.
const MAX_LINE: usize = 256 * 1024;
/// Longest reply taken from an engine, in bytes.
const MAX_REPLY: usize = 4 * 1024 * 1024;
/// Lines that wait to be read before the engine is made to wait.
const WAITING_LINES: usize = 64;

/// How long an engine may take. When a limit is passed, the engine is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of the process until it has told its name, version and commands.
    pub startup: Duration,
    /// For every command that needs no thought.
    pub command: Duration,
    /// For one `genmove`.
    pub per_move: Duration,
    /// For all `genmove`s of one game together; `None` = no limit.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// One minute to start, 30 seconds a command, 2 minutes a move, no limit for the game.
    fn default() -> Timeouts {
        Timeouts {
            startup: Duration::from_secs(60),
            command: Duration::from_secs(30),
            per_move: Duration::from_secs(120),
            total: None,
        }
    }
}

/// What an engine has said about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// Answer to `name`.
    pub name: String,
    /// Answer to `version`.
    pub version: String,
    /// Answer to `list_commands`.
    pub commands: Vec<String>,
}

/// An engine's answer to `genmove`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A move; its legality is not checked here.
    Move(Move),
    /// The engine resigns.
    Resign,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The system did not tell.
    Unknown,
}

impl Exit {
    pub(crate) fn of(code: Option<i32>, signal: Option<i32>) -> Exit {
        match (code, signal) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Unknown,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::Unknown => f.write_str("an unknown end"),
        }
    }
}

/// What went wrong with an engine. After every kind but [`Refused`](ControllerError::Refused) the engine is dead.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// There is no such program.
    #[error(
        "cannot start the engine '{program}': no such program (check the path, or that it is installed and on PATH)"
    )]
    NotFound {
        /// The program as given.
        program: String,
    },
    /// The program exists but cannot be started.
    #[error("cannot start the engine '{program}': {reason}")]
    NotStarted {
        /// The program as given.
        program: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// The engine ended by itself: a crash, or an early exit.
    #[error("the engine ended with {exit} during '{during}'{}", last_line(.stderr))]
    Exited {
        /// How it ended.
        exit: Exit,
        /// The command it was asked.
        during: String,
        /// What it had written to standard error, the last 64 KiB.
        stderr: String,
    },
    /// The engine did not answer in time.
    #[error("the engine did not answer '{during}' within {:.1} s", after.as_secs_f64())]
    TimedOut {
        /// The command it was asked.
        during: String,
        /// The time it was given.
        after: Duration,
    },
    /// The engine's answer is not GTP, or makes no sense for the command.
    #[error("the engine answered '{during}' with nonsense: {text:?}")]
    Nonsense {
        /// The command it was asked.
        during: String,
        /// The beginning of what it said.
        text: String,
    },
    /// The engine answered with a failure (`?`). It is alive and may be asked on.
    #[error("the engine refused '{command}': {message}")]
    Refused {
        /// The command it was asked.
        command: String,
        /// Its message.
        message: String,
    },
    /// The engine was killed after an earlier error.
    #[error("the engine is no longer running")]
    Gone,
}

fn last_line(stderr: &str) -> String {
    let line = stderr
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .map(|line| excerpt(line.trim()));
    line.map_or(String::new(), |line| format!("; its last words: {line}"))
}

fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}

/// One running engine.
///
/// All methods block until the engine has answered or its time is over. Dropping the controller kills the engine and all members
/// of its process group, and collects them: nothing is left running, no zombie is left.
pub struct Controller {
    process: EngineProcess,
    stdin: Option<ChildStdin>,
    lines: Receiver<Incoming>,
    info: EngineInfo,
    timeouts: Timeouts,
    thinking: Duration,
    next_id: u32,
    dead: bool,
}

enum Incoming {
    Line(String),
    TooLong,
}

impl Controller {
    /// Starts the engine and asks for its protocol version, name, version and commands.
    ///
    /// # Errors
    /// Every [`ControllerError`]; nothing is left running then.
    pub fn start(command: &CommandLine, timeouts: Timeouts) -> Result<Controller, ControllerError> {
        let program = command.program.clone();
        let (process, stdin, stdout) = EngineProcess::spawn(command).map_err(|reason| match reason.kind() {
            io::ErrorKind::NotFound => ControllerError::NotFound { program },
            _ => ControllerError::NotStarted { program, reason },
        })?;
        let info = EngineInfo {
            name: String::new(),
            version: String::new(),
            commands: Vec::new(),
        };
        let mut controller = Controller {
            process,
            stdin: Some(stdin),
            lines: read_lines(stdout),
            info,
            timeouts,
            thinking: Duration::ZERO,
            next_id: 1,
            dead: false,
        };
        controller.introduce()?;
        Ok(controller)
    }

    fn introduce(&mut self) -> Result<(), ControllerError> {
        let deadline = Instant::now() + self.timeouts.startup;
        let limit = |timeouts: &Timeouts| (deadline, timeouts.startup);
        let version = self.ask_until("protocol_version", limit(&self.timeouts))?;
        if version.trim() != "2" {
            return Err(self.nonsense("protocol_version", &version));
        }
        self.info.name = self.ask_until("name", limit(&self.timeouts))?;
        self.info.version = self.ask_until("version", limit(&self.timeouts))?;
        let commands = self.ask_until("list_commands", limit(&self.timeouts))?;
        self.info.commands = commands.split_whitespace().map(str::to_owned).collect();
        Ok(())
    }

    /// What the engine has said about itself.
    pub fn info(&self) -> &EngineInfo {
        &self.info
    }

    /// True when the engine lists this command.
    pub fn knows(&self, command: &str) -> bool {
        self.info.commands.iter().any(|known| known == command)
    }

    /// What the engine has written to its standard error, the last 64 KiB.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Time spent in `genmove` since the game began.
    pub fn thinking(&self) -> Duration {
        self.thinking
    }

    /// False once the engine has failed and was killed.
    pub fn is_alive(&self) -> bool {
        !self.dead
    }

    /// Sends any command that needs no thought and returns the text of the reply, without its `=`.
    ///
    /// # Errors
    /// See [`ControllerError`].
    pub fn ask(&mut self, command: &str) -> Result<String, ControllerError> {
        let limit = self.timeouts.command;
        self.ask_until(command, (Instant::now() + limit, limit))
    }

    /// Begins a new game: size, empty board, komi.
    ///
    /// # Errors
    /// [`ControllerError::Refused`] when the engine cannot play on this board or with this komi; others as usual.
    pub fn new_game(&mut self, size: Size, komi: Komi) -> Result<(), ControllerError> {
        let (width, height) = (size.width(), size.height());
        match width == height {
            true => self.ask(&format!("boardsize {width}"))?,
            false => self.ask(&format!("rectangular_boardsize {width} {height}"))?,
        };
        self.ask("clear_board")?;
        self.ask(&format!("komi {komi}"))?;
        self.thinking = Duration::ZERO;
        Ok(())
    }

    /// Tells the engine a move.
    ///
    /// # Errors
    /// [`ControllerError::Refused`] when the engine holds it for illegal; others as usual.
    pub fn play(&mut self, size: Size, color: Color, mv: Move) -> Result<(), ControllerError> {
        self.ask(&format!("play {} {}", letter(color), mv.format(size)))
            .map(drop)
    }

    /// Asks the engine for a move, under the limits for one move and for the game.
    ///
    /// # Errors
    /// [`ControllerError::Nonsense`] when the answer is no move of this board; others as usual.
    pub fn genmove(&mut self, size: Size, color: Color) -> Result<Answer, ControllerError> {
        let command = format!("genmove {}", letter(color));
        let left = self.timeouts.total.map(|total| total.saturating_sub(self.thinking));
        let limit = left.map_or(self.timeouts.per_move, |left| left.min(self.timeouts.per_move));
        let start = Instant::now();
        let reply = self.ask_until(&command, (start + limit, limit));
        self.thinking += start.elapsed();
        let reply = reply?;
        let word = reply.split_whitespace().next().unwrap_or_default();
        if word.eq_ignore_ascii_case("resign") {
            return Ok(Answer::Resign);
        }
        Move::parse(size, word)
            .map(Answer::Move)
            .map_err(|_| self.nonsense(&command, &reply))
    }

    /// Asks the engine to quit, gives it a second to do so, and ends it in any case.
    pub fn quit(mut self) {
        let second = Duration::from_secs(1);
        if self.ask_until("quit", (Instant::now() + second, second)).is_ok() {
            self.stdin = None;
            self.process.ends_within(second);
        }
    }

    fn ask_until(&mut self, command: &str, (deadline, limit): (Instant, Duration)) -> Result<String, ControllerError> {
        if self.dead {
            return Err(ControllerError::Gone);
        }
        let id = self.next_id;
        self.next_id = self.next_id % 1_000_000 + 1;
        let outcome = match self.send(&format!("{id} {command}\n")) {
            Ok(()) => self.read_reply(command, id, deadline, limit),
            Err(_) => Err(self.exited(command)),
        };
        if !matches!(outcome, Ok(_) | Err(ControllerError::Refused { .. })) {
            self.end();
        }
        outcome
    }

    fn send(&mut self, line: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(line.as_bytes())?;
        stdin.flush()
    }

    fn read_reply(
        &mut self,
        command: &str,
        id: u32,
        deadline: Instant,
        limit: Duration,
    ) -> Result<String, ControllerError> {
        let first = loop {
            let line = self.next_line(command, deadline, limit)?;
            if !line.trim().is_empty() {
                break line;
            }
        };
        let Some((success, text)) = parse_status(&first, id) else {
            return Err(nonsense(command, &first));
        };
        let mut reply = text.to_owned();
        loop {
            let line = self.next_line(command, deadline, limit)?;
            if line.trim().is_empty() {
                break;
            }
            reply.push('\n');
            reply.push_str(&line);
            if reply.len() > MAX_REPLY {
                return Err(nonsense(command, &reply));
            }
        }
        match success {
            true => Ok(reply),
            false => Err(ControllerError::Refused {
                command: command.to_owned(),
                message: excerpt(&reply),
            }),
        }
    }

    fn next_line(&mut self, command: &str, deadline: Instant, limit: Duration) -> Result<String, ControllerError> {
        // A flood of lines must not outlive the deadline.
        let left = deadline.saturating_duration_since(Instant::now());
        let timed_out = || ControllerError::TimedOut {
            during: command.to_owned(),
            after: limit,
        };
        if left.is_zero() {
            return Err(timed_out());
        }
        match self.lines.recv_timeout(left) {
            Ok(Incoming::Line(line)) => Ok(line),
            Ok(Incoming::TooLong) => Err(nonsense(command, "a line without end")),
            Err(RecvTimeoutError::Timeout) => Err(timed_out()),
            Err(RecvTimeoutError::Disconnected) => Err(self.exited(command)),
        }
    }

    /// The engine's output has ended: it is ending or has closed the pipe.
    fn exited(&mut self, command: &str) -> ControllerError {
        self.process.ends_within(Duration::from_millis(500));
        let exit = self.process.kill();
        self.dead = true;
        ControllerError::Exited {
            exit,
            during: command.to_owned(),
            stderr: self.process.stderr(),
        }
    }

    fn nonsense(&mut self, command: &str, text: &str) -> ControllerError {
        self.end();
        nonsense(command, text)
    }

    fn end(&mut self) {
        self.dead = true;
        self.stdin = None;
        self.process.kill();
    }
}

fn nonsense(command: &str, text: &str) -> ControllerError {
    ControllerError::Nonsense {
        during: command.to_owned(),
        text: excerpt(text),
    }
}

fn letter(color: Color) -> char {
    match color {
        Color::Black => 'b',
        Color::White => 'w',
    }
}

/// Splits `=7 text` into success and text. The number may be missing (some small engines leave it out) but not be another one.
fn parse_status(line: &str, id: u32) -> Option<(bool, &str)> {
    let (success, rest) = match line.strip_prefix('=') {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix('?')?),
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && rest[..digits] != id.to_string() {
        return None;
    }
    Some((success, rest[digits..].trim()))
}

fn read_lines(stdout: ChildStdout) -> Receiver<Incoming> {
    let (sender, receiver) = sync_channel(WAITING_LINES);
    std::thread::spawn(move || send_lines(stdout, &sender));
    receiver
}

/// Ends when the stream ends or nobody listens any more.
fn send_lines(mut stream: impl Read, sender: &SyncSender<Incoming>) {
    let (mut line, mut buffer) = (Vec::new(), [0; 8192]);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        for &byte in &buffer[..read] {
            match byte {
                b'\n' => {
                    let text = String::from_utf8_lossy(&line)
                        .replace('\t', " ")
                        .replace(|c: char| c.is_control(), "");
                    line.clear();
                    if sender.send(Incoming::Line(text)).is_err() {
                        return;
                    }
                }
                _ if line.len() >= MAX_LINE => {
                    let _ = sender.send(Incoming::TooLong);
                    return;
                }
                byte => line.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_split() {
        assert_eq!(parse_status("=", 1), Some((true, "")));
        assert_eq!(parse_status("= D4", 1), Some((true, "D4")));
        assert_eq!(parse_status("=12 D4 ", 12), Some((true, "D4")));
        assert_eq!(
            parse_status("?12 unknown command", 12),
            Some((false, "unknown command"))
        );
        assert_eq!(parse_status("=3 D4", 12), None);
        assert_eq!(parse_status("hello", 12), None);
    }

    #[test]
    fn lines_without_end_are_cut() {
        let (sender, receiver) = sync_channel(8);
        let text = [b"one\r\ntwo\n".as_slice(), &vec![b'x'; MAX_LINE + 1]].concat();
        send_lines(text.as_slice(), &sender);
        drop(sender);
        let lines: Vec<String> = receiver
            .iter()
            .map(|incoming| match incoming {
                Incoming::Line(line) => line,
                Incoming::TooLong => "too long".to_owned(),
            })
            .collect();
        assert_eq!(lines, ["one", "two", "too long"]);
    }
}
