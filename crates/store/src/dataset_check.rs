//! Checks the datasets in a store against their manifests.

use serde::Deserialize;
use serde_json::Value;

use tengen_model::sha256_hex;

use crate::files::Files;
use crate::store_error::StoreError;
use crate::verify_documents::unsealed;

/// Name of the file that every complete dataset has.
pub const DATASET_MANIFEST: &str = "MANIFEST.json";

/// The result of checking a store's datasets.
#[derive(Default)]
pub(crate) struct DatasetsChecked {
    /// Number of datasets whose files all match their size and SHA-256.
    pub(crate) sound: u64,
    /// Path and reason of everything that is wrong.
    pub(crate) damaged: Vec<(String, String)>,
    /// Folders of unfinished datasets.
    pub(crate) unfinished: Vec<String>,
}

impl DatasetsChecked {
    /// Checks every file of the store's datasets against the manifests.
    pub(crate) fn of(files: &Files) -> Result<DatasetsChecked, StoreError> {
        let mut checked = DatasetsChecked::default();
        for name in files.folders("datasets")? {
            let folder = format!("datasets/{name}/v1");
            let path = format!("{folder}/{DATASET_MANIFEST}");
            let Some(bytes) = files.get(&path)? else {
                checked.unfinished.push(format!("datasets/{name}"));
                continue;
            };
            let wrong = match Manifest::read(&bytes) {
                Ok(manifest) => wrong_files(files, &folder, &manifest)?,
                Err(reason) => vec![(path, reason)],
            };
            checked.sound += u64::from(wrong.is_empty());
            checked.damaged.extend(wrong);
        }
        Ok(checked)
    }
}

fn wrong_files(files: &Files, folder: &str, manifest: &Manifest) -> Result<Vec<(String, String)>, StoreError> {
    let mut wrong = Vec::new();
    for file in manifest.files.iter().chain([&manifest.readme]) {
        let path = format!("{folder}/{}", file.path);
        let reason = match files.get(&path) {
            Err(StoreError::BadName { .. }) => "expected a path inside the dataset".to_owned(),
            Err(error) => return Err(error),
            Ok(None) => "expected a file of the dataset, found nothing".to_owned(),
            Ok(Some(bytes)) => match (bytes.len() as u64, sha256_hex(&bytes)) {
                found if found == (file.bytes, file.sha256.clone()) => continue,
                (bytes, sha256) => format!(
                    "expected {} bytes with the SHA-256 {}, found {bytes} with {sha256}",
                    file.bytes, file.sha256
                ),
            },
        };
        wrong.push((path, reason));
    }
    Ok(wrong)
}

/// A dataset's manifest with all its keys, of which only some are used.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "a manifest must have all of its keys")]
struct Manifest {
    dataset_version: String,
    content: String,
    format: String,
    rows: u64,
    games: u64,
    bytes: u64,
    files: Vec<Listed>,
    readme: Listed,
    selection: Value,
    counts: Value,
    shards: Vec<String>,
    columns: Value,
    made_by: String,
}

/// A file as a manifest lists it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "an entry must have all of its keys")]
struct Listed {
    path: String,
    bytes: u64,
    sha256: String,
    rows: u64,
    split: Option<String>,
    size: Option<String>,
}

impl Manifest {
    /// Parses a manifest and compares its totals with the files it lists.
    fn read(bytes: &[u8]) -> Result<Manifest, String> {
        let bytes = unsealed(DATASET_MANIFEST, bytes)?;
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| format!("expected the manifest of a dataset, found {error}"))?;
        let total = |of: fn(&Listed) -> u64| manifest.files.iter().map(of).fold(0, u64::saturating_add);
        let found = (total(|file| file.rows), total(|file| file.bytes));
        match found == (manifest.rows, manifest.bytes) {
            true => Ok(manifest),
            false => Err(format!(
                "expected {} rows in {} bytes, found files with {} rows in {} bytes",
                manifest.rows, manifest.bytes, found.0, found.1
            )),
        }
    }
}
