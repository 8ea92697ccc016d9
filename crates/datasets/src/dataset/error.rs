//! What can go wrong with a dataset, in sentences that say what to do.

use std::path::{Path, PathBuf};

use tengen_store::StoreError;

/// Why no dataset was written. Nothing half-written is left.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// There is a complete dataset, which never changes.
    #[error("{} holds a complete dataset already, and datasets never change: give another folder", .0.display())]
    Complete(PathBuf),
    /// There is something else.
    #[error(
        "expected an empty folder at {}, or none; found {found} in it: give another folder",
        .folder.display()
    )]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
        /// A name inside.
        found: String,
    },
    /// Another process writes there.
    #[error("another process is writing a dataset to {}: wait for it, or give another folder", .0.display())]
    InUse(PathBuf),
    /// Writing failed.
    #[error(
        "cannot write {}: {reason}; nothing half-written is left: free some space or mend the permissions, then start \
         again",
        .path.display()
    )]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The store has no games of the kind asked for.
    #[error("the store at {location} has no {games} to take")]
    NoGames {
        /// The store.
        location: String,
        /// The games asked for.
        games: String,
    },
    /// The store has self-play of other generations only.
    #[error(
        "the store at {location} has no self-play of generations {} to {}; it has some of {} to {}",
        .asked.0, .asked.1, .held.0, .held.1
    )]
    NoGenerations {
        /// The store.
        location: String,
        /// First and last generation asked for.
        asked: (u32, u32),
        /// First and last generation there is.
        held: (u32, u32),
    },
    /// Nothing passes the filters.
    #[error("none of the {games} games and {positions} positions read passes the filters{held}; nothing was written")]
    NothingMatches {
        /// Games read.
        games: u64,
        /// Their positions.
        positions: u64,
        /// What these games are, as a clause.
        held: String,
    },
    /// The options contradict each other.
    #[error("{0}")]
    Options(String),
    /// A board that cannot be solved.
    #[error("{0}")]
    Unsolved(String),
    /// Somebody asked to stop.
    #[error("stopped before the end; nothing was written")]
    Stopped,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A failure to write a file or folder.
pub(crate) fn cannot_write(path: &Path, error: impl std::fmt::Display) -> DatasetError {
    DatasetError::Write {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
