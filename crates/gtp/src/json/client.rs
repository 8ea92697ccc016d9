//! The client side of KataGo's analysis protocol: an engine as a child process, with many queries open at once.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::time::Duration;

use serde_json::Value;

use crate::command_line::CommandLine;
use crate::failure::{ControllerError, Exit, excerpt};
use crate::pipes::{Incoming, read_lines, write_commands};
use crate::process::EngineProcess;

/// How messages of errors name what the engine was doing.
pub const ANALYSIS_ENGINE: &str = "analysis";

/// A running engine that speaks KataGo's analysis protocol. Dropping it kills the engine and everything it started.
///
/// The client never blocks on a pipe: [`try_send`](Self::try_send) says whether the engine takes another query now, and
/// [`receive`](Self::receive) waits for an answer no longer than it is told.
pub struct AnalysisClient {
    process: EngineProcess,
    queries: SyncSender<String>,
    lines: Receiver<Incoming>,
}

impl AnalysisClient {
    /// Starts the engine.
    ///
    /// # Errors
    /// [`ControllerError::NotFound`] or [`ControllerError::NotStarted`].
    pub fn start(command: &CommandLine) -> Result<AnalysisClient, ControllerError> {
        let program = command.program.clone();
        let (process, stdin, stdout) = EngineProcess::spawn(command).map_err(|reason| match reason.kind() {
            io::ErrorKind::NotFound => ControllerError::NotFound { program },
            _ => ControllerError::NotStarted { program, reason },
        })?;
        Ok(AnalysisClient {
            process,
            queries: write_commands(stdin),
            lines: read_lines(stdout),
        })
    }

    /// Hands over a query; false if the engine has not read the previous ones yet.
    ///
    /// # Errors
    /// [`ControllerError::Exited`] if the engine no longer reads.
    pub fn try_send(&mut self, query: &Value) -> Result<bool, ControllerError> {
        match self.queries.try_send(format!("{query}\n")) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => Ok(false),
            Err(TrySendError::Disconnected(_)) => Err(self.exited()),
        }
    }

    /// The next answer, or `None` if there is none within this time.
    ///
    /// # Errors
    /// [`ControllerError::Exited`] if the engine has ended, and [`ControllerError::Nonsense`] if it writes something
    /// else than one JSON object per line.
    pub fn receive(&mut self, within: Duration) -> Result<Option<Value>, ControllerError> {
        match self.lines.recv_timeout(within) {
            Ok(Incoming::Line(line)) if line.trim().is_empty() => Ok(None),
            Ok(Incoming::Line(line)) => match serde_json::from_str::<Value>(&line) {
                Ok(answer) if answer.is_object() => Ok(Some(answer)),
                _ => Err(self.nonsense(&line)),
            },
            Ok(Incoming::TooLong) => Err(self.nonsense("a line of more than 256 KiB")),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.exited()),
        }
    }

    fn nonsense(&mut self, text: &str) -> ControllerError {
        self.process.kill();
        ControllerError::Nonsense {
            during: ANALYSIS_ENGINE.to_owned(),
            text: excerpt(text),
            stderr: self.process.stderr(),
        }
    }

    fn exited(&mut self) -> ControllerError {
        let ended = self.process.ends_within(Duration::from_secs(1));
        let exit = self.process.kill();
        ControllerError::Exited {
            exit: if ended { exit } else { Exit::OutputClosed },
            during: ANALYSIS_ENGINE.to_owned(),
            stderr: self.process.stderr(),
        }
    }
}
