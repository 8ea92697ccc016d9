//! The description of a store's run, and the files of its matches.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::models::{check_version, damaged, parse_json};
use crate::schema::FORMAT;
use crate::shards::check_name;
use crate::store::{Put, Store};
use crate::store_error::StoreError;

const RUN: &str = "run.json";

/// The contents of `run.json`, written once when the run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Format version of the store, such as `1.0`.
    pub format_version: String,
    /// Name of the run.
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

/// The files of one match.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MatchFile {
    /// The players, openings and stopping rule: `spec.json`.
    Spec,
    /// The result with all its numbers: `result.json`, written last.
    Result,
    /// All games: `games.sgf`.
    Games,
}

impl MatchFile {
    fn path(self, id: &str) -> Result<String, StoreError> {
        check_name("match id", id)?;
        let file = match self {
            MatchFile::Spec => "spec.json",
            MatchFile::Result => "result.json",
            MatchFile::Games => "games.sgf",
        };
        Ok(format!("matches/{id}/{file}"))
    }
}

impl Store {
    /// Writes `run.json` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn put_run_info(&self, info: &RunInfo) -> Result<Put, StoreError> {
        let text = serde_json::to_vec_pretty(info).expect("a run description serializes to JSON");
        let put = self.put_new(RUN, text)?;
        self.remember_run();
        Ok(put)
    }

    /// The contents of `run.json`; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Version`] for another major version; [`StoreError::Damaged`] if it is not a valid `run.json`.
    pub fn run_info(&self) -> Result<Option<RunInfo>, StoreError> {
        let Some(bytes) = self.get(RUN)? else { return Ok(None) };
        let path = format!("{}/{RUN}", self.location());
        let value: Value = parse_json(&path, &bytes)?;
        match value.get("format_version") {
            Some(Value::String(version)) => check_version(&path, version)?,
            other => {
                let found = other.map_or("nothing".to_owned(), Value::to_string);
                return Err(damaged(path, "a format_version such as \"1.0\"".to_owned(), found));
            }
        }
        parse_json(&path, &bytes).map(Some)
    }

    /// Writes a file of a match if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::BadName`], [`StoreError::Write`].
    pub fn put_match_file(&self, id: &str, file: MatchFile, bytes: impl Into<Bytes>) -> Result<Put, StoreError> {
        self.put_new(&file.path(id)?, bytes)
    }

    /// The contents of a match file; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::BadName`], [`StoreError::Read`].
    pub fn match_file(&self, id: &str, file: MatchFile) -> Result<Option<Bytes>, StoreError> {
        self.get(&file.path(id)?)
    }

    /// Ids of all matches that have at least one file, sorted.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn list_matches(&self) -> Result<Vec<String>, StoreError> {
        self.folders("matches")
    }
}
