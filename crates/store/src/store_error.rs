//! What can go wrong with a store, in sentences that say what to do.

use crate::schema::FORMAT;
use crate::shard::ShardNameError;

/// Why a store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is nothing at the location.
    #[error("expected a store at {location}, found nothing there: check the path, or start a run that creates it")]
    Missing {
        /// Where.
        location: String,
    },
    /// There is something else at the location.
    #[error("expected a store at {location}, found {found}: check the path")]
    NotAStore {
        /// Where.
        location: String,
        /// What is there.
        found: String,
    },
    /// The location is in the cloud, and this build knows folders only.
    #[error(
        "{location}: this tengen was built without the feature `cloud` and knows stores in folders only: build it with \
         `cargo build --release --features cloud`"
    )]
    NoCloud {
        /// Where.
        location: String,
    },
    /// The location is written in a way that nobody understands.
    #[error("{location}: expected a folder or an address that begins with file:///, s3://, gs:// or az://")]
    UnsupportedLocation {
        /// Where.
        location: String,
    },
    /// The store was written in a format this version does not read.
    #[error(
        "{path}: expected format version {}.x, found {found}: use the tengen that wrote it, or another store",
        FORMAT.major
    )]
    Version {
        /// The file or folder that tells.
        path: String,
        /// The version found.
        found: String,
    },
    /// Another process works on the store.
    #[error("{location} is in use by process {holder}: wait for it, stop it, or use another store")]
    Locked {
        /// Where.
        location: String,
        /// Its process id, or `unknown`.
        holder: String,
    },
    /// Somebody else merged or pruned the store at the same time.
    #[error("{location} was merged or pruned by somebody else at the same moment; nothing is lost: start again")]
    Contended {
        /// Where.
        location: String,
    },
    /// Reading failed.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// Path in the store.
        path: String,
        /// What the system says.
        reason: String,
        /// Whether it may work later: the disk is full, the network is away.
        may_pass: bool,
    },
    /// Writing failed; nothing is published half.
    #[error(
        "cannot write {path}: {reason}; nothing half-written was published: free some space or mend the permissions, then start again"
    )]
    Write {
        /// Path in the store.
        path: String,
        /// What the system says.
        reason: String,
        /// Whether it may work later: the disk is full, the network is away.
        may_pass: bool,
    },
    /// A file that must exist does not.
    #[error("expected {path} in the store at {location}, found nothing")]
    NotFound {
        /// Path in the store.
        path: String,
        /// Where the store is.
        location: String,
    },
    /// A published file does not hold what it must.
    #[error("{path}: expected {expected}, found {found}")]
    Damaged {
        /// Path in the store.
        path: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A name that must be new is taken by other bytes.
    #[error("{path} exists already with other contents; published files never change")]
    Taken {
        /// Path in the store.
        path: String,
    },
    /// A name has characters that are not allowed.
    #[error("{what} {name:?} must have letters, digits, '.', '_' and '-' only")]
    BadName {
        /// What is named.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A shard's name cannot be made.
    #[error(transparent)]
    ShardName(#[from] ShardNameError),
}

impl StoreError {
    /// Whether the same call may work later, because the store is away or its disk full.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            StoreError::Read { may_pass: true, .. } | StoreError::Write { may_pass: true, .. }
        )
    }
}

/// Why a shard could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ShardReadError {
    /// The shard is damaged or lies; it was put into quarantine and is skipped from now on.
    #[error("shard {shard} is quarantined: {reason}")]
    Quarantined {
        /// Path in the store.
        shard: String,
        /// What was expected and found.
        reason: String,
    },
    /// The shard was pruned since it was listed; there is nothing to read and nothing wrong.
    #[error("shard {shard} was pruned meanwhile")]
    Gone {
        /// Path in the store.
        shard: String,
    },
    /// The store failed; the shard may be good.
    #[error(transparent)]
    Store(#[from] StoreError),
}
