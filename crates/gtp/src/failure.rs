//! The ways in which an engine process can fail.

use std::fmt;
use std::io;
use std::time::Duration;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal with this number killed it.
    Signal(i32),
    /// It closed its standard output but kept running, and was killed.
    OutputClosed,
    /// The operating system did not report how it ended.
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

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exited with code {code}"),
            Exit::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Exit::OutputClosed => f.write_str("closed its standard output"),
            Exit::Unknown => f.write_str("exited"),
        }
    }
}

/// An error of an engine. After any error except [`Refused`](ControllerError::Refused), the engine is dead.
///
/// `stderr` holds the last 64 KiB that the engine wrote to its standard error; the message shows the last line.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The program does not exist.
    #[error(
        "cannot start the engine '{program}': no such program (check the path, or that it is installed and on PATH)"
    )]
    NotFound {
        /// The program's path or name, as given by the caller.
        program: String,
    },
    /// The program exists but cannot be started.
    #[error("cannot start the engine '{program}': {reason}")]
    NotStarted {
        /// The program's path or name, as given by the caller.
        program: String,
        /// The error of the operating system.
        reason: io::Error,
    },
    /// The engine crashed or exited early.
    #[error("the engine {exit} during '{during}'{}", last_stderr_line(.stderr))]
    Exited {
        /// How the engine ended.
        exit: Exit,
        /// The GTP command that was waiting for a reply.
        during: String,
        /// The end of the engine's standard error.
        stderr: String,
    },
    /// The engine did not answer in time.
    #[error("the engine did not answer '{during}' within {:.1} s{}", after.as_secs_f64(), last_stderr_line(.stderr))]
    TimedOut {
        /// The GTP command that was waiting for a reply.
        during: String,
        /// The time limit that passed without a reply.
        after: Duration,
        /// The end of the engine's standard error.
        stderr: String,
    },
    /// The engine has used up its time for the game.
    #[error("the engine has used up its {:.1} s for the game{}", total.as_secs_f64(), last_stderr_line(.stderr))]
    OutOfTime {
        /// The time limit for all its moves.
        total: Duration,
        /// The end of the engine's standard error.
        stderr: String,
    },
    /// The engine's answer is not GTP, or makes no sense for the command.
    #[error("the engine gave an invalid answer to '{during}': {text:?}{}", last_stderr_line(.stderr))]
    Nonsense {
        /// The GTP command that was waiting for a reply.
        during: String,
        /// The beginning of the invalid answer.
        text: String,
        /// The end of the engine's standard error.
        stderr: String,
    },
    /// The engine answered with a failure (`?`). It is still running and accepts further commands.
    #[error("the engine rejected '{command}': {message}")]
    Refused {
        /// The GTP command that the engine rejected.
        command: String,
        /// The engine's error message.
        message: String,
    },
    /// The caller requested a stop while the engine was answering, and the engine was killed.
    #[error("stopped while the engine was answering '{during}'")]
    Stopped {
        /// The GTP command that was waiting for a reply.
        during: String,
    },
    /// The engine was killed after an earlier error.
    #[error("the engine is no longer running")]
    Gone,
}

fn last_stderr_line(stderr: &str) -> String {
    let line = stderr
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .map(|line| excerpt(line.trim()));
    line.map_or(String::new(), |line| {
        format!("; last line of its standard error: {line}")
    })
}

/// The first 200 characters of a text, as a single line.
pub(crate) fn excerpt(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    shown.take(200).collect::<String>().trim().to_owned()
}
