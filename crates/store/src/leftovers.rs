//! What interrupted writes leave in a local store: files whose names end in `#` and a number.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::store::Store;
use crate::store_error::{StoreError, read_error, write_error};

/// Age at which no process can still be writing a file.
const SAFE_AGE: Duration = Duration::from_hours(24);

impl Store {
    /// Deletes the files that interrupted writes left in a local store at least a day ago; returns how many. Object
    /// stores in the cloud leave none.
    ///
    /// # Errors
    /// [`StoreError::Read`], [`StoreError::Write`].
    pub fn remove_leftovers(&self) -> Result<u64, StoreError> {
        let Some(folder) = self.local_path() else { return Ok(0) };
        let found = leftovers(folder)?;
        for file in &found {
            match fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(write_error(&file.display().to_string(), &error));
                }
                _ => {}
            }
        }
        Ok(found.len() as u64)
    }

    /// Paths in the store of the files that [`Store::remove_leftovers`] would delete.
    pub(crate) fn leftovers(&self) -> Result<Vec<String>, StoreError> {
        let Some(folder) = self.local_path() else {
            return Ok(Vec::new());
        };
        let found = leftovers(folder)?;
        let inside = found.iter().filter_map(|file| file.strip_prefix(folder).ok());
        Ok(inside.map(|path| path.display().to_string()).collect())
    }
}

fn leftovers(root: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let (mut open, mut found) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        let failed = |error: Error| read_error(&folder.display().to_string(), &error);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                open.push(entry.path());
            } else if is_staged(&entry.file_name().to_string_lossy()) && is_old(&entry) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a name is that of a file which is still being written.
fn is_staged(name: &str) -> bool {
    name.rsplit_once('#')
        .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let changed = entry.metadata().and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age >= SAFE_AGE))
}
