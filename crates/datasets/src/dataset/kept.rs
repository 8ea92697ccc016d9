//! Where does a dataset lie that is kept in its own store? At `datasets/<name>`, in a folder as in an object store.

use std::path::{Path, PathBuf};

use super::draft::MANIFEST;
use super::error::{DatasetError, cannot_write};
use super::export::{Dataset, ExportOptions, export};
use super::scan::ExportProgress;
use tengen_store::{Store, check_name};

/// Writes a frozen dataset of the store's games or positions into the store, as `datasets/<name>/v1`. Where the
/// store is no local folder the dataset is made in the folder for temporary files and then published file by file,
/// its manifest last: a dataset without one is none, and the same export goes on with it.
///
/// # Errors
/// As [`export`]; [`StoreError::BadName`](tengen_store::StoreError::BadName);
/// [`StoreError::Taken`](tengen_store::StoreError::Taken) where another export under that name was broken off.
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
    if store.size_of(&format!("{place}/{MANIFEST}"))?.is_some() {
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
    store.put_same(&format!("{place}/{path}"), bytes)?;
    Ok(())
}
