//! Makes a dataset appear completely or not at all: it is written to a temporary folder that is renamed at the end.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::{DatasetError, cannot_write};

/// Folder of datasets of this major version, inside the dataset's own folder.
const VERSION: &str = "v1";
/// Name of the folder while the dataset is being written.
const UNFINISHED: &str = "v1.unfinished";
pub(crate) use tengen_store::DATASET_MANIFEST as MANIFEST;

/// A dataset being written. If dropped before [`Draft::commit`], it leaves nothing behind, unless it is to be kept.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: PathBuf,
    /// Whether the dataset's own folder was created for it.
    is_new: bool,
    /// Whether the remains of an interrupted dataset were removed.
    pub(crate) cleaned: bool,
    committed: bool,
    /// Whether the unfinished dataset stays if this is dropped.
    pub(crate) keep: bool,
    /// Locked until the end, so that two processes never write the same dataset.
    _lock: File,
}

impl Draft {
    /// Starts a dataset at `folder`/v1. The folder may exist if it is empty or holds only the remains of an interrupted
    /// dataset, which are removed unless `goes_on` says of their folder that this dataset goes on with them.
    ///
    /// # Errors
    /// [`DatasetError::Complete`], [`DatasetError::NotEmpty`], [`DatasetError::InUse`], [`DatasetError::Write`].
    pub(crate) fn begin(folder: &Path, goes_on: impl Fn(&Path) -> bool) -> Result<Draft, DatasetError> {
        let is_new = !folder.exists();
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
        let lock = File::open(folder).map_err(|error| cannot_write(folder, error))?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(DatasetError::InUse(folder.to_owned()));
        }
        if folder.join(VERSION).join(MANIFEST).exists() {
            return Err(DatasetError::Complete(folder.join(VERSION)));
        }
        check_empty(folder)?;
        let mut draft = Draft {
            folder: folder.to_owned(),
            is_new,
            cleaned: false,
            committed: false,
            keep: false,
            _lock: lock,
        };
        if !goes_on(&draft.path()) {
            draft.cleaned = draft.remove_unfinished()?;
            fs::create_dir(draft.path()).map_err(|error| cannot_write(&draft.path(), error))?;
        }
        Ok(draft)
    }

    /// The folder for files until the dataset is complete.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(UNFINISHED)
    }

    /// The folder of the complete dataset.
    pub(crate) fn place(&self) -> PathBuf {
        self.folder.join(VERSION)
    }

    /// Makes the dataset appear. Its files must already be synced.
    pub(crate) fn commit(mut self) -> Result<PathBuf, DatasetError> {
        let place = self.place();
        sync_folder(&self.path())?;
        fs::rename(self.path(), &place).map_err(|error| cannot_write(&place, error))?;
        self.committed = true;
        sync_folder(&self.folder)?;
        Ok(place)
    }

    fn remove_unfinished(&self) -> Result<bool, DatasetError> {
        match fs::remove_dir_all(self.path()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(cannot_write(&self.path(), error)),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.committed && !self.keep {
            // If removal fails here, the next attempt removes the rest.
            let _ = self.remove_unfinished();
            if self.is_new {
                let _ = fs::remove_dir(&self.folder);
            }
        }
    }
}

/// Requires that the folder holds nothing except an unfinished dataset.
fn check_empty(folder: &Path) -> Result<(), DatasetError> {
    let entries = fs::read_dir(folder).map_err(|error| cannot_write(folder, error))?;
    for entry in entries {
        let name = entry.map_err(|error| cannot_write(folder, error))?.file_name();
        if name != UNFINISHED {
            return Err(DatasetError::NotEmpty {
                folder: folder.to_owned(),
                found: name.to_string_lossy().into_owned(),
            });
        }
    }
    Ok(())
}

/// Syncs a folder, so that the names in it are durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), DatasetError> {
    let sync = File::open(folder).and_then(|file| file.sync_all());
    sync.map_err(|error| cannot_write(folder, error))
}
