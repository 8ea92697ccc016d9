//! The description of a store's run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use tengen_shard::FORMAT;

/// The contents of `run.json`, written once when the run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Format version of the store, such as `1.0`.
    pub format_version: String,
    /// Id of the run: its name, a configuration hash and its start time.
    pub run_id: String,
    /// When the run started, milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// Name of the rule set.
    pub rules: String,
    /// Board sizes, such as `9x9`.
    pub sizes: Vec<String>,
    /// The effective configuration of the run.
    pub config: Value,
}

impl RunInfo {
    /// Describes a new run in the current format version.
    pub fn new(run_id: &str, created_ms: u64, rules: &str, sizes: Vec<String>, config: Value) -> RunInfo {
        RunInfo {
            format_version: FORMAT.to_string(),
            run_id: run_id.to_owned(),
            created_ms,
            rules: rules.to_owned(),
            sizes,
            config,
        }
    }
}
