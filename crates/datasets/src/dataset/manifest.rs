//! What is in a dataset? Its manifest: every file with its size, hash and rows, what was taken, and from where.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::column::Field;
use super::draft::MANIFEST;
use super::error::DatasetError;
use super::readme::{Section, readme};
use super::writer::{DatasetFile, DatasetWriter, FileFormat, file_hash, sync_folders, write_file};

/// Version of the layout of datasets; the folder is named after its major part.
const VERSION: &str = "1.0";

/// What MANIFEST.json says. It holds no time and no place, so that the same games give the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct DatasetManifest {
    /// Version of the layout.
    pub dataset_version: String,
    /// What a row is: `games`, `positions` or `solved_positions`.
    pub content: String,
    /// The format of the files.
    pub format: FileFormat,
    /// Rows in all files.
    pub rows: u64,
    /// Games they come from.
    pub games: u64,
    /// Bytes of all files of rows.
    pub bytes: u64,
    /// The files of rows.
    pub files: Vec<DatasetFile>,
    /// README.md: the description of every column.
    pub readme: DatasetFile,
    /// What was asked for.
    pub selection: Value,
    /// What was read and left out.
    pub counts: Value,
    /// Shards that rows come from, by path in the store; each name ends with the shard's SHA-256.
    pub shards: Vec<String>,
    /// Every column: name, type, shape, when it is null, unit, meaning.
    pub columns: Value,
    /// The program that wrote the dataset.
    pub made_by: String,
}

/// What a dataset is about, besides its files.
pub(crate) struct About {
    pub(crate) fields: Vec<Field>,
    pub(crate) games: u64,
    pub(crate) rows: u64,
    pub(crate) selection: Value,
    pub(crate) counts: Value,
    pub(crate) shards: Vec<String>,
    /// Sections of the README that are particular to this dataset.
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
        columns: serde_json::to_value(&about.fields).expect("descriptions are JSON"),
        made_by: format!("tengen {}", env!("CARGO_PKG_VERSION")),
    };
    let path = root.join(&manifest.readme.path);
    write_file(&path, readme(&manifest, &about.fields, &about.sections).as_bytes())?;
    (manifest.readme.bytes, manifest.readme.sha256) = file_hash(&path)?;
    let mut text = serde_json::to_vec_pretty(&manifest).expect("a manifest of texts and numbers is JSON");
    text.push(b'\n');
    write_file(&root.join(MANIFEST), &text)?;
    sync_folders(&root, &manifest.files)?;
    Ok((draft.commit()?, manifest))
}
