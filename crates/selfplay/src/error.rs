//! Errors of self-play.

use thiserror::Error;

use tengen_rules::SettingError;
use tengen_search::PredictError;

use crate::snapshot::SnapshotError;

/// Why self-play cannot start or continue.
#[derive(Debug, Error)]
pub enum GeneratorError {
    /// A setting is invalid.
    #[error(transparent)]
    Config(#[from] SettingError),
    /// The games in flight from the last stop cannot be resumed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The network failed in a worker.
    #[error("self-play worker {worker} stopped: {error}")]
    Predict {
        /// Number of the worker, from 0.
        worker: usize,
        /// The error of the predictor.
        error: PredictError,
    },
    /// A worker panicked, which is a bug.
    #[error("self-play worker {worker} panicked: {message}")]
    Panicked {
        /// Number of the worker, from 0.
        worker: usize,
        /// The message of the panic.
        message: String,
    },
    /// A thread could not be started.
    #[error("cannot start self-play worker {worker}: {error}")]
    Spawn {
        /// Number of the worker, from 0.
        worker: usize,
        /// The error of the operating system.
        error: std::io::Error,
    },
}
