//! Where does a dataset lie that is kept in its own store? At `datasets/<name>`, in a folder as in an object store.

use std::path::{Path, PathBuf};

use super::draft::MANIFEST;
use super::error::{DatasetError, cannot_write};
use super::export::{Dataset, ExportOptions};
use super::scan::ExportProgress;
use crate::shards::check_name;
use crate::store::Store;

impl Store {
    /// Writes a frozen dataset of the store's games or positions into the store, as `datasets/<name>/v1`. Where the
    /// store is no local folder the dataset is made in the folder for temporary files and then published file by file,
    /// its manifest last: a dataset without one is none, and the same export goes on with it.
    ///
    /// # Errors
    /// As [`Store::export`]; [`StoreError::BadName`](crate::StoreError::BadName);
    /// [`StoreError::Taken`](crate::StoreError::Taken) where another export under that name was broken off.
    pub fn export_kept(
        &self,
        name: &str,
        options: &ExportOptions,
        watch: &mut dyn FnMut(ExportProgress) -> bool,
    ) -> Result<Dataset, DatasetError> {
        check_name("dataset", name)?;
        if let Some(folder) = self.local_path() {
            return self.export(&folder.join("datasets").join(name), options, watch);
        }
        let place = format!("datasets/{name}/v1");
        let address = PathBuf::from(format!("{}/{place}", self.location()));
        if self.size_of(&format!("{place}/{MANIFEST}"))?.is_some() {
            return Err(DatasetError::Complete(address));
        }
        let scratch = tempfile::tempdir().map_err(|error| cannot_write(&std::env::temp_dir(), error))?;
        let mut dataset = self.export(scratch.path(), options, watch)?;
        let files = dataset.manifest.files.iter().chain([&dataset.manifest.readme]);
        for path in files.map(|file| file.path.as_str()).chain([MANIFEST]) {
            self.publish_part(&dataset.folder, &place, path)?;
        }
        dataset.folder = address;
        Ok(dataset)
    }

    fn publish_part(&self, folder: &Path, place: &str, path: &str) -> Result<(), DatasetError> {
        let file = folder.join(path);
        let bytes = std::fs::read(&file).map_err(|error| cannot_write(&file, error))?;
        self.put_same(&format!("{place}/{path}"), bytes)?;
        Ok(())
    }
}
