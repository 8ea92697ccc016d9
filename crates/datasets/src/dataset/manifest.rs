//! The manifest of a dataset: every file with its size, hash and rows, what was selected, and from where.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::column::Field;
use super::draft::MANIFEST;
use super::error::DatasetError;
use super::readme::{Section, readme};
use super::writer::{DatasetFile, DatasetWriter, FileFormat, file_hash, sync_folders, write_file};

/// Version of the dataset layout; the folder is named after its major part.
const VERSION: &str = "1.1";

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

/// Description of a dataset, apart from its files.
pub(crate) struct About {
    pub(crate) fields: Vec<Field>,
    pub(crate) games: u64,
    pub(crate) rows: u64,
    pub(crate) selection: Value,
    pub(crate) counts: Value,
    pub(crate) shards: Vec<String>,
    /// README sections specific to this dataset.
    pub(crate) sections: Vec<Section>,
}

/// Closes the parts, writes README and manifest, and makes the dataset appear; returns its folder.
pub(crate) fn complete(writer: DatasetWriter, about: About) -> Result<(PathBuf, DatasetManifest), DatasetError> {
    let (root, format, content) = (writer.folder(), writer.format(), writer.content());
    let (draft, files) = writer.finish()?;
    let mut manifest = DatasetManifest {
        dataset_version: VERSION.to_owned(),
        content: content.to_owned(),
        format,
        rows: about.rows,
        games: about.games,
        bytes: files.iter().map(|file| file.bytes).sum(),
        files,
        readme: DatasetFile {
            path: "README.md".to_owned(),
            bytes: 0,
            sha256: String::new(),
            rows: 0,
            split: None,
            size: None,
        },
        selection: about.selection,
        counts: about.counts,
        shards: about.shards,
        columns: serde_json::to_value(&about.fields).expect("column descriptions serialize to JSON"),
        made_by: format!("tengen {}", env!("CARGO_PKG_VERSION")),
    };
    let path = root.join(&manifest.readme.path);
    write_file(&path, readme(&manifest, &about.fields, &about.sections).as_bytes())?;
    (manifest.readme.bytes, manifest.readme.sha256) = file_hash(&path)?;
    let mut text = serde_json::to_vec_pretty(&manifest).expect("strings and numbers serialize to JSON");
    text.push(b'\n');
    write_file(&root.join(MANIFEST), &text)?;
    sync_folders(&root, &manifest.files)?;
    Ok((draft.commit()?, manifest))
}
