//! The manifest of a dataset: every file with its size, hash and rows, what was selected, and from where.

use serde::Serialize;
use serde_json::Value;

use super::writer::{DatasetFile, FileFormat};

/// Version of the dataset layout; the folder is named after its major part.
pub(crate) const VERSION: &str = "1.1";

/// The contents of MANIFEST.json. It contains no time and no location, so the same games give the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct DatasetManifest {
    /// Version of the dataset layout.
    pub dataset_version: String,
    /// What a row is: `games`, `positions` or `solved_positions`.
    pub content: String,
    /// The file format.
    pub format: FileFormat,
    /// Number of rows in all files.
    pub rows: u64,
    /// Number of games the rows come from.
    pub games: u64,
    /// Total size of all row files in bytes.
    pub bytes: u64,
    /// The files with the rows, in order.
    pub files: Vec<DatasetFile>,
    /// README.md, which describes every column.
    pub readme: DatasetFile,
    /// The requested selection.
    pub selection: Value,
    /// Counts of what was read and left out.
    pub counts: Value,
    /// Shards the rows come from, by path in the store; each name ends with the start of the shard's SHA-256.
    pub shards: Vec<String>,
    /// Every column: name, type, shape, when it is null, unit, meaning.
    pub columns: Value,
    /// Name and version of the program that wrote the dataset.
    pub made_by: String,
}
