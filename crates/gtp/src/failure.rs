//! What can go wrong with an engine?

use std::fmt;
use std::io;
use std::time::Duration;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It closed its output but ran on, and was killed.
    OutputClosed,
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

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "ended with exit code {code}"),
            Exit::Signal(signal) => write!(f, "ended with signal {signal}"),
            Exit::OutputClosed => f.write_str("closed its output"),
            Exit::Unknown => f.write_str("ended"),
        }
    }
}

/// What went wrong with an engine. After every kind but [`Refused`](ControllerError::Refused) the engine is dead.
///
/// `stderr` is what the engine had written to its standard error, the last 64 KiB; the message shows its last line.
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
    #[error("the engine {exit} during '{during}'{}", last_words(.stderr))]
    Exited {
        /// How it ended.
        exit: Exit,
        /// The command it was asked.
        during: String,
        /// The end of its standard error.
        stderr: String,
    },
    /// The engine did not answer in time.
    #[error("the engine did not answer '{during}' within {:.1} s{}", after.as_secs_f64(), last_words(.stderr))]
    TimedOut {
        /// The command it was asked.
        during: String,
        /// The time it was given.
        after: Duration,
        /// The end of its standard error.
        stderr: String,
    },
    /// The engine has used up its time for the game.
    #[error("the engine has used up its {:.1} s for the game{}", total.as_secs_f64(), last_words(.stderr))]
    OutOfTime {
        /// The time it was given for all its moves.
        total: Duration,
        /// The end of its standard error.
        stderr: String,
    },
    /// The engine's answer is not GTP, or makes no sense for the command.
    #[error("the engine answered '{during}' with nonsense: {text:?}{}", last_words(.stderr))]
    Nonsense {
        /// The command it was asked.
        during: String,
        /// The beginning of what it said.
        text: String,
        /// The end of its standard error.
        stderr: String,
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

fn last_words(stderr: &str) -> String {
    let line = stderr
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .map(|line| excerpt(line.trim()));
    line.map_or(String::new(), |line| format!("; its last words: {line}"))
}

/// The beginning of a text, 200 characters, fit to be shown in one line.
pub(crate) fn excerpt(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    shown.take(200).collect::<String>().trim().to_owned()
}
