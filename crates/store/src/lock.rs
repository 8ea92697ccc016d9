//! Keeps two runs off the same store with a file lock, which the system releases when the process ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::store::{Store, read_error, write_error};
use crate::store_error::StoreError;

const RUN: &str = "run.lock";
const UPKEEP: &str = "upkeep.lock";

/// Exclusive use of a store; released when dropped or when the process ends for any reason.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct RunLock {
    _file: File,
}

impl Store {
    /// Locks the store for one run. A network drive may not support file locks; there, the only protection against two
    /// runs is that every published file is created atomically and never overwritten.
    ///
    /// # Errors
    /// [`StoreError::Locked`] naming the process that holds the lock; [`StoreError::Write`] if the lock file cannot be
    /// created; [`StoreError::UnsupportedLocation`] for a store that is not a local folder.
    pub fn lock_run(&self) -> Result<RunLock, StoreError> {
        let unsupported = || StoreError::UnsupportedLocation {
            location: self.location().to_owned(),
        };
        let folder = self.local_path().ok_or_else(unsupported)?;
        self.lock(folder, RUN)
    }

    /// Locks the store for merging or pruning. A store that is not a local folder needs no lock: the numbered change
    /// notes alone prevent concurrent changes.
    pub(crate) fn lock_upkeep(&self) -> Result<Option<RunLock>, StoreError> {
        self.local_path().map(|folder| self.lock(folder, UPKEEP)).transpose()
    }

    fn lock(&self, folder: &Path, name: &str) -> Result<RunLock, StoreError> {
        let path = folder.join(name);
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = opened.map_err(|error| write_error(name, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(self.locked(&path)),
            Err(TryLockError::Error(error)) => return Err(read_error(name, &error)),
        }
        write_holder(&mut file).map_err(|error| write_error(name, &error))?;
        Ok(RunLock { _file: file })
    }

    fn locked(&self, path: &Path) -> StoreError {
        let text = fs::read_to_string(path).unwrap_or_default();
        let holder = text.split_whitespace().next().unwrap_or("unknown").to_owned();
        StoreError::Locked {
            location: self.location().to_owned(),
            holder,
        }
    }
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())?;
    file.flush()
}
