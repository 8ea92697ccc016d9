//! Completes a dataset: its README and manifest are written after its parts, and then all of it appears at once.

use std::path::PathBuf;

use serde_json::Value;

use super::column::Field;
use super::draft::MANIFEST;
use super::error::DatasetError;
use super::manifest::{DatasetManifest, VERSION};
use super::readme::{Section, readme};
use super::writer::{DatasetFile, DatasetWriter, file_hash, sync_folders, write_file};

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
    let mut text = tengen_store::sealed_json(&manifest);
    text.push(b'\n');
    write_file(&root.join(MANIFEST), &text)?;
    sync_folders(&root, &manifest.files)?;
    Ok((draft.commit()?, manifest))
}
