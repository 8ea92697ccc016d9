//! Errors of datasets, worded so that they say what to do.

use std::path::{Path, PathBuf};

use tengen_store::StoreError;

/// Why no dataset was written. Nothing partial is left behind.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// There already is a complete dataset, which must not change.
    #[error("{} already holds a complete dataset, and datasets never change: choose another folder", .0.display())]
    Complete(PathBuf),
    /// The folder holds other files.
    #[error(
        "expected {} to be an empty or missing folder, found {found} in it: choose another folder",
        .folder.display()
    )]
    NotEmpty {
        /// Path of the folder.
        folder: PathBuf,
        /// Name of something in the folder.
        found: String,
    },
    /// Another process is writing a dataset there.
    #[error("another process is writing a dataset to {}: wait for it, or choose another folder", .0.display())]
    InUse(PathBuf),
    /// Writing failed.
    #[error(
        "cannot write {}: {reason}; nothing partial was left behind: free some space or fix the permissions, then try \
         again",
        .path.display()
    )]
    Write {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the underlying system.
        reason: String,
    },
    /// The store has no games of the requested kind.
    #[error("the store at {location} has no {games}")]
    NoGames {
        /// The folder or URL of the store.
        location: String,
        /// The requested games.
        games: String,
    },
    /// The store has self-play games, but none of the requested generations.
    #[error(
        "the store at {location} has no self-play games of generations {} to {}, only of generations {} to {}",
        .requested.0, .requested.1, .held.0, .held.1
    )]
    NoGenerations {
        /// The folder or URL of the store.
        location: String,
        /// First and last requested generation.
        requested: (u32, u32),
        /// First and last generation in the store.
        held: (u32, u32),
    },
    /// No game or position passes the filters.
    #[error("none of the {games} games and {positions} positions read passes the filters{held}; nothing was written")]
    NothingMatches {
        /// Number of games read.
        games: u64,
        /// Number of positions read.
        positions: u64,
        /// Description of these games, as a clause.
        held: String,
    },
    /// The options contradict each other.
    #[error("{0}")]
    Options(String),
    /// A board could not be solved.
    #[error("{0}")]
    Unsolved(String),
    /// The user asked to stop.
    #[error("stopped before the end, so there is no dataset yet")]
    Stopped,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Wraps a failure to write a file or folder.
pub(crate) fn cannot_write(path: &Path, error: impl std::fmt::Display) -> DatasetError {
    DatasetError::Write {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
