//! Checks the datasets in a store against their manifests.

use serde_json::Value;

use tengen_model::sha256_hex;

use crate::files::Files;
use crate::store_error::StoreError;

/// Name of the file that every complete dataset has.
pub const DATASET_MANIFEST: &str = "MANIFEST.json";

/// What was found of the datasets of a store.
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
    /// Checks every file of the datasets in the store against the manifests.
    pub(crate) fn of(files: &Files) -> Result<DatasetsChecked, StoreError> {
        let mut checked = DatasetsChecked::default();
        for name in files.folders("datasets")? {
            let folder = format!("datasets/{name}/v1");
            let path = format!("{folder}/{DATASET_MANIFEST}");
            let Some(bytes) = files.get(&path)? else {
                checked.unfinished.push(format!("datasets/{name}"));
                continue;
            };
            let wrong = match listed_files(&bytes) {
                Some(listed) => wrong_files(files, &folder, &listed)?,
                None => vec![(
                    path,
                    "expected a manifest that lists files, found something else".to_owned(),
                )],
            };
            checked.sound += u64::from(wrong.is_empty());
            checked.damaged.extend(wrong);
        }
        Ok(checked)
    }
}

fn wrong_files(files: &Files, folder: &str, listed: &[(String, String)]) -> Result<Vec<(String, String)>, StoreError> {
    let mut wrong = Vec::new();
    for (path, sha256) in listed {
        let path = format!("{folder}/{path}");
        let reason = match files.get(&path)? {
            None => "expected a file of the dataset, found nothing".to_owned(),
            Some(bytes) => match sha256_hex(&bytes) {
                found if found == *sha256 => continue,
                found => format!("expected the SHA-256 {sha256}, found {found}"),
            },
        };
        wrong.push((path, reason));
    }
    Ok(wrong)
}

/// Path and SHA-256 of every file listed in a manifest; `None` if it is not a manifest.
fn listed_files(manifest: &[u8]) -> Option<Vec<(String, String)>> {
    let manifest: Value = serde_json::from_slice(manifest).ok()?;
    let entries = manifest["files"].as_array()?.iter().chain([&manifest["readme"]]);
    let text = |value: &Value| Some(value.as_str()?.to_owned());
    entries
        .map(|entry| Some((text(&entry["path"])?, text(&entry["sha256"])?)))
        .collect()
}
