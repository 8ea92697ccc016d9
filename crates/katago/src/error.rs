//! Why a file is not a network that can be used.

use std::path::PathBuf;

use crate::network::{NEWEST, OLDEST};

/// Why a network of KataGo cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct LoadError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: FileError,
}

/// What is wrong with a file that should be a network of KataGo.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Io(#[from] std::io::Error),
    /// The file is something else.
    #[error("this is {0}, not a network of KataGo; expected a .bin.gz or .txt.gz file")]
    OtherKind(&'static str),
    /// The file ends too early.
    #[error("the file is truncated: it ends within {within}; download it again")]
    Truncated {
        /// The part that is incomplete.
        within: String,
    },
    /// The file is compressed, but the compressed data are wrong.
    #[error("the compressed data are damaged ({0}); download the file again")]
    Damaged(String),
    /// The format is older or newer.
    #[error(
        "this is a network of version {found} of KataGo's format, and versions {OLDEST} to {NEWEST} are supported{}",
        if *found > NEWEST { "; newer ones are transformers" } else { "" }
    )]
    Version {
        /// The version of the file.
        found: i64,
    },
    /// The network uses something that is not supported.
    #[error("{place}: this network has {found}, and only {supported} are supported")]
    Unsupported {
        /// The layer's name in the file.
        place: String,
        /// What it has.
        found: String,
        /// What it may have.
        supported: &'static str,
    },
    /// A value makes no sense.
    #[error("{place}: expected {expected}, found {found}")]
    Invalid {
        /// The layer's name in the file.
        place: String,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
}
