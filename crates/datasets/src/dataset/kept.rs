//! Stores a dataset inside its own store, at `datasets/<name>`, in a local folder or an object store.

use std::path::{Path, PathBuf};

use tengen_store::{Store, check_name};

use super::draft::MANIFEST;
use super::error::{DatasetError, cannot_write};
use super::export::{Dataset, export};
use super::options::ExportOptions;
use super::scan::ExportProgress;

/// Writes a frozen dataset of the store's games or positions into the store, as `datasets/<name>/v1`. If the store
/// is not a local folder, the dataset is built in the temporary folder and then published file by file, with the
/// manifest last. A dataset without a manifest does not count, and repeating the same export completes it.
///
/// # Errors
/// As [`export`]; [`StoreError::BadName`](tengen_store::StoreError::BadName);
/// [`StoreError::Taken`](tengen_store::StoreError::Taken) if a different export under that name was interrupted.
pub fn export_kept(
    store: &Store,
    name: &str,
    options: &ExportOptions,
    watch: &mut dyn FnMut(ExportProgress) -> bool,
) -> Result<Dataset, DatasetError> {
    check_name("dataset", name)?;
    if let Some(folder) = store.local_path() {
        return export(store, &folder.join("datasets").join(name), options, watch);
    }
    let place = format!("datasets/{name}/v1");
    let address = PathBuf::from(format!("{}/{place}", store.location()));
    if store.files().size_of(&format!("{place}/{MANIFEST}"))?.is_some() {
        return Err(DatasetError::Complete(address));
    }
    let scratch = tempfile::tempdir().map_err(|error| cannot_write(&std::env::temp_dir(), error))?;
    let mut dataset = export(store, scratch.path(), options, watch)?;
    let files = dataset.manifest.files.iter().chain([&dataset.manifest.readme]);
    for path in files.map(|file| file.path.as_str()).chain([MANIFEST]) {
        publish_part(store, &dataset.folder, &place, path)?;
    }
    dataset.folder = address;
    Ok(dataset)
}

fn publish_part(store: &Store, folder: &Path, place: &str, path: &str) -> Result<(), DatasetError> {
    let file = folder.join(path);
    let bytes = std::fs::read(&file).map_err(|error| cannot_write(&file, error))?;
    store.files().put_same(&format!("{place}/{path}"), bytes)?;
    Ok(())
}
