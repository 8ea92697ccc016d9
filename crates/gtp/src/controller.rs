//! The controller side: running another engine as a child process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use tengen_rules::{Color, Komi, Move, Size};

use crate::command_line::CommandLine;
use crate::failure::{ControllerError, Exit, excerpt};
use crate::pipes::{Incoming, read_lines, write_commands};
use crate::process::EngineProcess;

/// The longest reply accepted from an engine, in bytes.
const MAX_REPLY: usize = 4 * 1024 * 1024;
/// How often to check whether an engine that has not answered is still running; if it has exited, it gets this much
/// time for output that is still in the pipe.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long an engine that is answering may continue after a stop was requested.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// The most unrequested empty lines skipped between two commands.
const MAX_EMPTY_LINES: usize = 1000;

/// How long an engine may take. An engine that exceeds a limit is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of the process until it has reported its name, version and commands.
    pub startup: Duration,
    /// For each command that does not require search.
    pub command: Duration,
    /// Time limit for each `genmove`.
    pub per_move: Duration,
    /// For all `genmove` commands of one game together; `None` = no limit.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// One minute to start, 30 seconds per command, 2 minutes per move, no limit for the game.
    fn default() -> Timeouts {
        Timeouts {
            startup: Duration::from_secs(60),
            command: Duration::from_secs(30),
            per_move: Duration::from_secs(120),
            total: None,
        }
    }
}

/// What an engine reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The engine's reply to `name`.
    pub name: String,
    /// The engine's reply to `version`.
    pub version: String,
    /// The engine's reply to `list_commands`, one command per entry.
    pub commands: Vec<String>,
}

/// An engine's answer to `genmove`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A move; its legality is not checked here.
    Move(Move),
    /// The engine resigns the game.
    Resign,
}

/// One running engine.
///
/// All methods block until the engine has answered or its time is up. Dropping the controller kills the engine and all
/// members of its process group and reaps them: no process keeps running, and no zombies remain.
pub struct Controller {
    process: EngineProcess,
    commands: Option<SyncSender<String>>,
    lines: Receiver<Incoming>,
    info: EngineInfo,
    timeouts: Timeouts,
    time_used: Duration,
    next_id: u32,
    dead: bool,
    /// Set from outside to stop waiting for the engine.
    stop: Arc<AtomicBool>,
    /// When the request to stop was first seen.
    stop_seen: Option<Instant>,
}

impl Controller {
    /// Starts the engine and asks for its protocol version, name, version and commands.
    ///
    /// # Errors
    /// Any [`ControllerError`]; no process keeps running then.
    pub fn start(command: &CommandLine, timeouts: Timeouts) -> Result<Controller, ControllerError> {
        Controller::start_until(command, timeouts, Arc::default())
    }

    /// Like [`Controller::start`] for an engine that can be stopped: once `stop` is set, an answer that takes more than
    /// another second or so fails with [`ControllerError::Stopped`], whatever the limits, and the engine is killed.
    ///
    /// # Errors
    /// As [`Controller::start`].
    pub fn start_until(
        command: &CommandLine,
        timeouts: Timeouts,
        stop: Arc<AtomicBool>,
    ) -> Result<Controller, ControllerError> {
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
            commands: Some(write_commands(stdin)),
            lines: read_lines(stdout),
            info,
            timeouts,
            time_used: Duration::ZERO,
            next_id: 1,
            dead: false,
            stop,
            stop_seen: None,
        };
        controller.introduce()?;
        Ok(controller)
    }

    fn introduce(&mut self) -> Result<(), ControllerError> {
        let deadline = Instant::now() + self.timeouts.startup;
        let limit = |timeouts: &Timeouts| (deadline, timeouts.startup);
        let version = self.ask_until("protocol_version", limit(&self.timeouts))?;
        if version.trim() != "2" {
            return Err(self.kill_for_nonsense("protocol_version", &version));
        }
        self.info.name = self.ask_until("name", limit(&self.timeouts))?;
        self.info.version = self.ask_until("version", limit(&self.timeouts))?;
        let commands = self.ask_until("list_commands", limit(&self.timeouts))?;
        self.info.commands = commands.split_whitespace().map(str::to_owned).collect();
        Ok(())
    }

    /// What the engine reported about itself when it started.
    pub fn info(&self) -> &EngineInfo {
        &self.info
    }

    /// Whether the engine lists this command.
    pub fn knows(&self, command: &str) -> bool {
        self.info.commands.iter().any(|known| known == command)
    }

    /// The last 64 KiB that the engine has written to its standard error.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// The time spent in `genmove` since the start of the game.
    pub fn time_used(&self) -> Duration {
        self.time_used
    }

    /// Whether the engine is running; false once it has failed and been killed.
    pub fn is_alive(&self) -> bool {
        !self.dead
    }

    /// Sends any command that does not require search and returns the text of the reply, without its `=`.
    ///
    /// # Errors
    /// See [`ControllerError`].
    pub fn ask(&mut self, command: &str) -> Result<String, ControllerError> {
        let limit = self.timeouts.command;
        self.ask_until(command, (Instant::now() + limit, limit))
    }

    /// Starts a new game: size, empty board, komi.
    ///
    /// # Errors
    /// [`ControllerError::Refused`] if the engine cannot play on this board or with this komi; or any other error.
    pub fn new_game(&mut self, size: Size, komi: Komi) -> Result<(), ControllerError> {
        let (width, height) = (size.width(), size.height());
        match width == height {
            true => self.ask(&format!("boardsize {width}"))?,
            false => self.ask(&format!("rectangular_boardsize {width} {height}"))?,
        };
        self.ask("clear_board")?;
        self.ask(&format!("komi {komi}"))?;
        self.time_used = Duration::ZERO;
        Ok(())
    }

    /// Sends a move to the engine.
    ///
    /// # Errors
    /// [`ControllerError::Refused`] if the engine considers the move illegal; or any other error.
    pub fn play(&mut self, size: Size, color: Color, mv: Move) -> Result<(), ControllerError> {
        self.ask(&format!("play {} {}", letter(color), mv.format(size)))
            .map(drop)
    }

    /// Asks the engine for a move, within the time limits for one move and for the game.
    ///
    /// # Errors
    /// [`ControllerError::Nonsense`] if the answer is not a move on this board; or any other error.
    pub fn genmove(&mut self, size: Size, color: Color) -> Result<Answer, ControllerError> {
        let command = format!("genmove {}", letter(color));
        let left = self.timeouts.total.map(|total| total.saturating_sub(self.time_used));
        let limit = left.map_or(self.timeouts.per_move, |left| left.min(self.timeouts.per_move));
        let start = Instant::now();
        let reply = self.ask_until(&command, (start + limit, limit));
        self.time_used += start.elapsed();
        let reply = reply.map_err(|error| self.with_game_limit(error))?;
        let word = reply.split_whitespace().next().unwrap_or_default();
        if word.eq_ignore_ascii_case("resign") {
            return Ok(Answer::Resign);
        }
        let mv = Move::parse(size, word).map(Answer::Move);
        mv.map_err(|_| self.kill_for_nonsense(&command, &reply))
    }

    /// Turns a timeout into [`ControllerError::OutOfTime`] if the limit for the whole game was reached.
    fn with_game_limit(&self, error: ControllerError) -> ControllerError {
        match (error, self.timeouts.total) {
            (ControllerError::TimedOut { stderr, .. }, Some(total)) if self.time_used >= total => {
                ControllerError::OutOfTime { total, stderr }
            }
            (error, _) => error,
        }
    }

    /// Kills the engine because its answer was well-formed but makes no sense for this command.
    fn kill_for_nonsense(&mut self, command: &str, text: &str) -> ControllerError {
        let error = self.nonsense(command, text);
        self.kill();
        error
    }

    /// Asks the engine to quit, gives it a second to do so, and kills it if it has not.
    pub fn quit(mut self) {
        let second = Duration::from_secs(1);
        // The time limit is short enough, and an engine that is idle can end in its own way.
        self.stop = Arc::default();
        if self.ask_until("quit", (Instant::now() + second, second)).is_ok() {
            self.commands = None;
            self.process.ends_within(second);
        }
    }

    fn ask_until(&mut self, command: &str, (deadline, limit): (Instant, Duration)) -> Result<String, ControllerError> {
        if self.dead {
            return Err(ControllerError::Gone);
        }
        let outcome = self.exchange(command, deadline, limit);
        if !matches!(outcome, Ok(_) | Err(ControllerError::Refused { .. })) {
            self.kill();
        }
        outcome
    }

    fn exchange(&mut self, command: &str, deadline: Instant, limit: Duration) -> Result<String, ControllerError> {
        self.expect_silence(command)?;
        let id = self.next_id;
        self.next_id = self.next_id % 1_000_000 + 1;
        let commands = self.commands.as_ref().ok_or(ControllerError::Gone)?;
        match commands.try_send(format!("{id} {command}\n")) {
            Ok(()) => self.read_reply(command, id, deadline, limit),
            Err(TrySendError::Full(_)) => Err(self.timed_out(command, limit)),
            Err(TrySendError::Disconnected(_)) => Err(self.exited(command)),
        }
    }

    /// Rejects unrequested output, which would otherwise be taken for the answer to the next command.
    fn expect_silence(&self, command: &str) -> Result<(), ControllerError> {
        for incoming in self.lines.try_iter().take(MAX_EMPTY_LINES) {
            match incoming {
                Incoming::Line(line) if line.trim().is_empty() => {}
                Incoming::Line(line) => return Err(self.nonsense(command, &line)),
                Incoming::TooLong => return Err(self.nonsense(command, "an endless line")),
            }
        }
        Ok(())
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
            return Err(self.nonsense(command, &first));
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
                return Err(self.nonsense(command, &reply));
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
        // Check the deadline for each line, so that a flood of lines cannot extend it.
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.timed_out(command, limit));
            }
            if self.is_stopped() {
                return Err(ControllerError::Stopped {
                    during: command.to_owned(),
                });
            }
            let ended = self.process.ends_within(Duration::ZERO);
            match self.lines.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(Incoming::Line(line)) => return Ok(line),
                Ok(Incoming::TooLong) => return Err(self.nonsense(command, "an endless line")),
                // A process that the engine started keeps its output open.
                Err(RecvTimeoutError::Timeout) if ended => return Err(self.exited(command)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.exited(command)),
            }
        }
    }

    /// Whether a stop was requested and the grace period is over.
    fn is_stopped(&mut self) -> bool {
        self.stop.load(Ordering::SeqCst) && self.stop_seen.get_or_insert_with(Instant::now).elapsed() >= STOP_GRACE
    }

    /// The error when the engine's output has ended: it is exiting or has closed the pipe.
    fn exited(&mut self, command: &str) -> ControllerError {
        let ended = self.process.ends_within(Duration::from_millis(500));
        let exit = self.process.kill();
        ControllerError::Exited {
            exit: if ended { exit } else { Exit::OutputClosed },
            during: command.to_owned(),
            stderr: self.process.stderr(),
        }
    }

    fn timed_out(&self, command: &str, after: Duration) -> ControllerError {
        ControllerError::TimedOut {
            during: command.to_owned(),
            after,
            stderr: self.process.stderr(),
        }
    }

    fn nonsense(&self, command: &str, text: &str) -> ControllerError {
        ControllerError::Nonsense {
            during: command.to_owned(),
            text: excerpt(text),
            stderr: self.process.stderr(),
        }
    }

    fn kill(&mut self) {
        self.dead = true;
        self.commands = None;
        self.process.kill();
    }
}

fn letter(color: Color) -> char {
    match color {
        Color::Black => 'b',
        Color::White => 'w',
    }
}

/// Splits `=7 text` into success and text. The number may be missing (some small engines omit it), but a different
/// number is an error.
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
}
