//! Keeps two runs off the same store with a file lock, which the system releases when the process ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::files::Files;
use crate::store_error::{StoreError, read_error, write_error};

const RUN: &str = "run.lock";
const UPKEEP: &str = "upkeep.lock";
const GATE: &str = "gate.lock";

/// Exclusive use of a store; released when dropped or when the process ends for any reason.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct RunLock {
    file: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A child process that another thread is starting holds the file open, too, until it executes its program. If
        // unlocking fails, closing the file releases the lock.
        self.file.unlock().ok();
    }
}

impl RunLock {
    /// See [`Store::lock_run`](crate::Store::lock_run).
    pub(crate) fn of_run(files: &Files) -> Result<RunLock, StoreError> {
        let unsupported = || StoreError::UnsupportedLocation {
            location: files.location().to_owned(),
        };
        let folder = files.local_path().ok_or_else(unsupported)?;
        lock(files, folder, RUN)
    }

    /// See [`Store::lock_gate`](crate::Store::lock_gate).
    pub(crate) fn of_gate(files: &Files) -> Result<Option<RunLock>, StoreError> {
        files.local_path().map(|folder| lock(files, folder, GATE)).transpose()
    }

    /// Locks the store for merging or pruning. A store that is not a local folder needs no lock: the numbered change
    /// notes alone prevent concurrent changes.
    pub(crate) fn of_upkeep(files: &Files) -> Result<Option<RunLock>, StoreError> {
        files.local_path().map(|folder| lock(files, folder, UPKEEP)).transpose()
    }
}

fn lock(files: &Files, folder: &Path, name: &str) -> Result<RunLock, StoreError> {
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
        Err(TryLockError::WouldBlock) => return Err(locked(files, &path)),
        Err(TryLockError::Error(error)) => return Err(read_error(name, &error)),
    }
    write_holder(&mut file).map_err(|error| write_error(name, &error))?;
    Ok(RunLock { file })
}

fn locked(files: &Files, path: &Path) -> StoreError {
    let text = fs::read_to_string(path).unwrap_or_default();
    let holder = text.split_whitespace().next().unwrap_or("unknown").to_owned();
    StoreError::Locked {
        location: files.location().to_owned(),
        holder,
    }
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())?;
    file.flush()
}
