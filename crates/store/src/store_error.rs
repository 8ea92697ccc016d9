//! Store errors, with messages that say what to do.

use tengen_model::{ModelError, ModelId};
use tengen_shard::{FORMAT, ShardNameError};

use crate::patience::may_pass;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is nothing at the location.
    #[error("expected a store at {location}, found nothing there: check the path, or start a run that creates it")]
    Missing {
        /// Location of the store, a folder or a URL.
        location: String,
    },
    /// There is something at the location that is not a store.
    #[error("expected a store at {location}, found {found}: check the path")]
    NotAStore {
        /// Location of the store, a folder or a URL.
        location: String,
        /// A description of what is there.
        found: String,
    },
    /// The location is a cloud URL, but this build supports only folders.
    #[error(
        "{location}: this tengen was built without the feature `cloud` and supports only stores in folders: \
         build it with \
         `cargo build --release --features cloud`"
    )]
    NoCloud {
        /// Location of the store, a folder or a URL.
        location: String,
    },
    /// The location is neither a folder nor a supported URL.
    #[error("{location}: expected a folder or a URL that starts with file:///, s3://, gs:// or az://")]
    UnsupportedLocation {
        /// The location as given.
        location: String,
    },
    /// The store was written in a format that this version does not read.
    #[error(
        "{path}: expected format version {}.x, found {found}: use the tengen version that wrote it, \
         or a different store",
        FORMAT.major
    )]
    Version {
        /// The file or folder that carries the version.
        path: String,
        /// The version found.
        found: String,
    },
    /// Another process is using the store.
    #[error("{location} is in use by process {holder}: wait for it, stop it, or use a different store")]
    Locked {
        /// Location of the store, a folder or a URL.
        location: String,
        /// Process id of the other process, or `unknown`.
        holder: String,
    },
    /// Another process merged or pruned the store at the same time.
    #[error("another process merged or pruned {location} at the same time; nothing is lost: run the command again")]
    Contended {
        /// Location of the store, a folder or a URL.
        location: String,
    },
    /// Reading failed.
    #[error("cannot read {path}: {reason}{}", advice(reason))]
    Read {
        /// Path in the store.
        path: String,
        /// The error of the underlying system.
        reason: String,
        /// Whether a retry may succeed, for example because the disk is full or the network is down.
        may_pass: bool,
    },
    /// The folder of a new store cannot be created.
    #[error("cannot create the store {location}: {reason}; choose a folder that you may write to")]
    CannotCreate {
        /// The location as the user gave it.
        location: String,
        /// Why the folder cannot be created.
        reason: String,
    },
    /// Writing failed; nothing was partially published.
    #[error(
        "cannot write {path}: {reason}; nothing was partially published: {}, then start again",
        remedy(reason)
    )]
    Write {
        /// Path in the store.
        path: String,
        /// The error of the underlying system.
        reason: String,
        /// Whether a retry may succeed, for example because the disk is full or the network is down.
        may_pass: bool,
    },
    /// A required file is missing.
    #[error("expected {path} in the store at {location}, found nothing{}", way_back(path))]
    NotFound {
        /// Path in the store.
        path: String,
        /// The folder or URL of the store.
        location: String,
    },
    /// The contents of a published file are invalid.
    #[error("{path}: expected {expected}, found {found}{}", way_back(path))]
    Damaged {
        /// Path in the store.
        path: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A published model cannot be used: damaged, or of another version.
    #[error("cannot use the model {id}: {source}")]
    Model {
        /// Id of the model.
        id: ModelId,
        /// What is wrong with it.
        source: ModelError,
    },
    /// A file of that name already exists with different bytes.
    #[error("{path} already exists with different contents; published files never change")]
    Taken {
        /// Path in the store.
        path: String,
    },
    /// A name contains characters that are not allowed.
    #[error("{what} {name:?} may contain only letters, digits, '.', '_' and '-'")]
    BadName {
        /// The kind of thing that is named, such as `match id`.
        what: &'static str,
        /// The rejected name.
        name: String,
    },
    /// No valid shard name can be formed.
    #[error(transparent)]
    ShardName(#[from] ShardNameError),
}

impl StoreError {
    /// Whether a retry may succeed because the store is unavailable or its disk is full.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            StoreError::Read { may_pass: true, .. } | StoreError::Write { may_pass: true, .. }
        )
    }

    /// Whether a file is missing or not what was published. A file of another version is not damaged.
    pub fn is_damage(&self) -> bool {
        matches!(self, StoreError::Damaged { .. } | StoreError::NotFound { .. })
    }

    /// Whether there are no credentials or no such bucket. During a run, either may be a temporary outage, but a
    /// command that starts like this need not wait.
    pub fn is_setup(&self) -> bool {
        match self {
            StoreError::Read { reason, .. } | StoreError::Write { reason, .. } => !advice(reason).is_empty(),
            _ => false,
        }
    }
}

/// Why a shard could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ShardReadError {
    /// The shard is damaged or inconsistent; it was quarantined and is skipped from now on.
    #[error("shard {shard} is quarantined: {reason}")]
    Quarantined {
        /// Path in the store.
        shard: String,
        /// What was expected and found.
        reason: String,
    },
    /// The shard was pruned after it was listed; nothing is wrong.
    #[error("shard {shard} has been pruned in the meantime")]
    Gone {
        /// Path in the store.
        shard: String,
    },
    /// The store failed; the shard itself may be fine.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(crate) fn read_error(path: &str, error: &(dyn std::error::Error + 'static)) -> StoreError {
    StoreError::Read {
        path: path.to_owned(),
        reason: reason(error),
        may_pass: may_pass(error),
    }
}

pub(crate) fn write_error(path: &str, error: &(dyn std::error::Error + 'static)) -> StoreError {
    StoreError::Write {
        path: path.to_owned(),
        reason: reason(error),
        may_pass: may_pass(error),
    }
}

/// The error and its causes on one line.
fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    without_xml(&text)
}

/// A server's reply, with an XML document at its end reduced to its message.
fn without_xml(text: &str) -> String {
    let between = |from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0.trim());
    match (text.split_once("<?xml"), between("<Message>", "</Message>")) {
        (Some((before, _)), Some(message)) => format!("{before}{message}"),
        _ => text.to_owned(),
    }
}

/// The metadata server, where a library without credentials asks for those of the machine, which only cloud machines
/// have.
const METADATA_SERVER: &str = "169.254.169.254";

/// The messages of S3, Google Cloud Storage, and Azure for a missing bucket.
const NO_BUCKET: [&str; 2] = [
    "The specified bucket does not exist",
    "The specified container does not exist",
];

/// What to do if there are no credentials or no bucket, as the end of a sentence; empty for other reasons.
fn advice(reason: &str) -> &'static str {
    match () {
        () if reason.contains(METADATA_SERVER) => {
            "; no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of your cloud as \
             docs/operations.md describes them"
        }
        () if NO_BUCKET.iter().any(|words| reason.contains(words)) => {
            "; create the bucket, or check its name and region"
        }
        () => "",
    }
}

/// How to fix a failed write.
fn remedy(reason: &str) -> &'static str {
    let of_network = ["error sending request", "HTTP", "connect", "timed out"];
    match of_network.iter().any(|words| reason.contains(words)) {
        true => "check the network, the server, and the credentials",
        false => "free some space or fix the permissions",
    }
}

/// How to recover from a damaged file, as the end of a sentence; empty where the message says it all.
fn way_back(path: &str) -> &'static str {
    let parts: Vec<&str> = path.rsplit('/').collect();
    match parts.as_slice() {
        ["run.json", ..] => {
            "; restore the file from a copy of the store, or delete it and start `tengen run` with the run's \
             configuration from configs/ in the store and --store, which writes it again"
        }
        [_, "promotions", ..] => {
            "; restore the file from a copy of the store, or delete it: the champion is then the model of the \
             promotion with the highest remaining number"
        }
        [_, "changes", ..] => {
            "; restore the file from a copy of the store; without a copy, put \
             {\"format_version\":\"1.1\",\"changed_ms\":0,\"merged\":[],\"pruned\":[]} in its place and run \
             `tengen data merge STORE --yes`, which counts the shards again that only this note counted"
        }
        _ => "",
    }
}

pub(crate) fn damaged(path: String, expected: String, found: String) -> StoreError {
    StoreError::Damaged { path, expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_servers_are_one_sentence_that_says_what_to_do() {
        let bucket = "404 Not Found: <?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>The specified \
                      bucket does not exist</Message></Error>";
        assert_eq!(
            without_xml(bucket),
            "404 Not Found: The specified bucket does not exist"
        );
        assert_eq!(without_xml("disk full"), "disk full");
        let read = |reason: &str| StoreError::Read {
            path: "run.json".to_owned(),
            reason: reason.to_owned(),
            may_pass: false,
        };
        let nobody = read("PUT http://169.254.169.254/latest/api/token: timed out").to_string();
        assert!(nobody.contains("set AWS_ACCESS_KEY_ID"), "{nobody}");
        let nowhere = read(&without_xml(bucket));
        assert!(
            nowhere
                .to_string()
                .ends_with("create the bucket, or check its name and region")
        );
        assert!(nowhere.is_setup() && !read("disk full").is_setup());
        assert!(!read("disk full").to_string().contains("AWS"));
        assert_eq!(
            remedy("HTTP error: error sending request"),
            remedy("operation timed out")
        );
        assert_ne!(remedy("No space left on device"), remedy("operation timed out"));
    }
}
