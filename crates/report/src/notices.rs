//! The notices by which the processes of a run tell each other, through its store, what they are doing.
//!
//! ```text
//! fleet/trainer.json         the trainer: how far it is, the newest weights, how far self-play may go
//! fleet/gate.json            the gate
//! fleet/terms/<task>-<n>.json who began the n-th term as trainer or gate; the last term is the current one
//! fleet/workers/<name>.json  one self-play process
//! fleet/weights/<file>       weights that self-play follows, apart from published models; old ones are deleted
//! ```
//!
//! Unlike everything else in a store, notices are replaced again and again. No game, model, or verdict depends on them:
//! without them, workers play with the champion and the trainer resumes from its checkpoint.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use tengen_store::{Operations, Store, StoreError, seal, unseal};

/// The trainer's notice.
pub const TRAINER: &str = "fleet/trainer.json";
/// The gate's notice.
pub const GATE: &str = "fleet/gate.json";
/// The folder of the workers' notices.
pub const WORKERS: &str = "fleet/workers";
/// The folder of the weights that self-play follows.
pub const WEIGHTS: &str = "fleet/weights";

/// The format version of all notices; readers refuse other major versions.
const FORMAT: &str = "1.0";

/// Who writes a notice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// A name that no other process has: host, process id, and 64 random bits.
    pub name: String,
    /// The machine's name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The program's version.
    pub version: String,
}

/// A notice: who wrote it, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice<T> {
    format_version: String,
    /// Who wrote it.
    pub author: Author,
    /// The number of the term in which a trainer or a gate works; 0 for workers.
    #[serde(default)]
    pub term: u32,
    /// Counts the author's notices. If this number does not change for a long time, the author is gone.
    pub beat: u64,
    /// Whether the author ended cleanly, so that this is its last notice.
    pub ended: bool,
    /// When it was written, in milliseconds since 1970-01-01 UTC by the author's clock. Clocks may differ by hours.
    pub written_ms: u64,
    /// What it says.
    pub says: T,
}

impl<T: Serialize + DeserializeOwned> Notice<T> {
    /// A notice to be written.
    pub fn new(author: &Author, beat: u64, ended: bool, says: T) -> Notice<T> {
        Notice {
            format_version: FORMAT.to_owned(),
            author: author.clone(),
            term: 0,
            beat,
            ended,
            written_ms: tengen_records::now_ms(),
            says,
        }
    }

    /// Reads the notice at `path`; `None` if there is none. A damaged notice counts as none, because its author soon
    /// writes the next.
    ///
    /// # Errors
    /// If the store fails, or if a version of Tengen with another format wrote the notice.
    pub fn read(store: &Store, path: &str) -> Result<Option<Notice<T>>, StoreError> {
        let Some(bytes) = store.files().get(path)? else {
            return Ok(None);
        };
        let Ok(json) = unseal(path, &bytes) else {
            return Ok(None);
        };
        if let Ok(Head { format_version }) = serde_json::from_slice(&json)
            && major(&format_version) != major(FORMAT)
        {
            return Err(StoreError::Version {
                path: format!("{}/{path}", store.location()),
                found: format_version,
            });
        }
        let notice = serde_json::from_slice(&json);
        if let Err(error) = &notice {
            tracing::warn!("{path} cannot be read: {error}");
        }
        Ok(notice.ok())
    }

    /// Writes the notice, replacing an earlier one.
    ///
    /// # Errors
    /// If the store fails.
    pub fn write(&self, store: &Store, path: &str) -> Result<(), StoreError> {
        let json = serde_json::to_string(self).expect("strings and numbers serialize to JSON");
        store.files().replace(path, seal(&json))
    }
}

#[derive(Deserialize)]
struct Head {
    format_version: String,
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

/// The path of a worker's notice.
pub fn worker_path(name: &str) -> String {
    format!("{WORKERS}/{name}.json")
}

/// What processes have spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Finished self-play games.
    pub games: u64,
    /// Network evaluations of self-play.
    pub evaluations: u64,
    /// CPU seconds of all threads.
    pub cpu_seconds: f64,
}

impl Work {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Work) -> Work {
        Work {
            games: self.games + other.games,
            evaluations: self.evaluations + other.evaluations,
            cpu_seconds: self.cpu_seconds + other.cpu_seconds,
        }
    }
}

/// What the trainer says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainerSays {
    /// What it computes on, such as `cuda:0 NVIDIA H100 80GB HBM3 · bf16`.
    pub device: String,
    /// The share of the time since its previous notice in which its GPU was busy, 0 to 1; `None` without one.
    pub gpu_busy: Option<f64>,
    /// Seconds of training since the run began.
    pub elapsed_seconds: f64,
    /// Training steps since the run began.
    pub step: u64,
    /// Samples trained on since the run began.
    pub samples: u64,
    /// Games that the trainer has taken in since the run began.
    pub games: u64,
    /// Positions of those games.
    pub positions: u64,
    /// The share of the run's budget that is spent, 0 to 1.
    pub spent: f64,
    /// Number of the newest generation.
    pub generation: u32,
    /// Candidates that the gate has rejected.
    pub rejected: u32,
    /// Positions that all workers together may play beyond those that the trainer has taken in.
    pub room: u64,
    /// Whether the run's budget is spent. If so, workers end, and the gate ends after the last candidate.
    pub finished: bool,
    /// The newest weights, which self-play uses unless it follows champions.
    pub weights: Option<WeightsPlace>,
    /// The champion's promotion number and model id.
    pub champion: Option<(u32, String)>,
    /// The newest model.
    pub newest_model: Option<String>,
    /// Fair komi of each board, in points.
    pub fair_komi: BTreeMap<String, f64>,
    /// The workers that are alive, by name.
    pub workers: BTreeMap<String, Taken>,
    /// What workers that are long gone have spent.
    pub retired: Work,
    /// Workers whose costs are part of `retired` but whose notices may not be deleted yet.
    pub retiring: Vec<String>,
    /// The trainer's operations on the store since it started.
    pub operations: Operations,
}

/// What the trainer knows of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Taken {
    /// Number of the last shard that the trainer has seen.
    pub sequence: Option<u64>,
    /// Seconds since its last notice, by the trainer's clock.
    pub silent_seconds: f64,
}

/// Weights that self-play follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WeightsPlace {
    /// Their file, in safetensors form.
    pub path: String,
    /// The SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// The training step they are from.
    pub step: u64,
}

/// What a self-play worker says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerSays {
    /// What it computes on, such as `cuda:0 NVIDIA H100 80GB HBM3 · bf16`.
    pub device: String,
    /// Seconds between its notices.
    pub notice_seconds: f64,
    /// Self-play threads.
    pub threads: u64,
    /// Seconds since it started.
    pub seconds: f64,
    /// Positions of its finished games.
    pub positions: u64,
    /// What it has spent.
    pub work: Work,
    /// Games per second since its previous notice.
    pub games_per_second: f64,
    /// Network evaluations per second since its previous notice.
    pub evaluations_per_second: f64,
    /// The share of the time since its previous notice in which its GPUs were busy, 0 to 1; `None` without one.
    pub gpu_busy: Option<f64>,
    /// The share of the time since its previous notice in which it waited for the trainer, 0 to 1.
    pub idle: f64,
    /// The network it plays with.
    pub model: String,
    /// Why it waits; empty if it plays.
    pub waits: String,
    /// Its operations on the store since it started.
    pub operations: Operations,
}

/// What the gate says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateSays {
    /// What it computes on.
    pub device: String,
    /// The share of the time since its previous notice in which its GPU was busy, 0 to 1; `None` without one.
    pub gpu_busy: Option<f64>,
    /// The match in progress, as text; empty between matches.
    pub playing: String,
    /// Candidates rejected since the run began.
    pub rejected: u32,
    /// What it has spent.
    pub work: Work,
    /// Its operations on the store since it started.
    pub operations: Operations,
}
