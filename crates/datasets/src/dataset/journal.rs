//! Which parts of an unfinished dataset are complete, so that the same export can go on after a stop.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{DatasetError, cannot_write};
use super::filter::Split;
use super::writer::{DatasetFile, file_hash};

/// The file with what is being exported; only the same export goes on with it.
const PLAN: &str = "PLAN.json";
/// The file with one line for each complete part.
const PARTS: &str = "PARTS.jsonl";

/// The name of that file until it is whole again after a stop.
const NEW_PARTS: &str = "PARTS.jsonl.new";

/// Where a game is: the number of its shard among those of the export, and its number in the shard.
pub(crate) type Place = (usize, usize);

/// A complete part: its file, and the last game in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CompletePart {
    pub(crate) split: Option<Split>,
    pub(crate) size: Option<String>,
    pub(crate) last: Place,
    pub(crate) file: DatasetFile,
}

/// The list of complete parts in the folder of an unfinished dataset.
pub(crate) struct Journal {
    folder: PathBuf,
    file: File,
    /// Whether it has any part.
    pub(crate) has_parts: bool,
}

impl Journal {
    /// Whether a folder holds an unfinished dataset of this plan.
    pub(crate) fn matches(folder: &Path, plan: &str) -> bool {
        fs::read_to_string(folder.join(PLAN)).is_ok_and(|found| found == plan)
    }

    /// Opens the journal of a folder, which is new or holds an unfinished dataset of the same plan. Also returns the
    /// parts that are still complete: of each split and size those before the first that is missing or altered.
    pub(crate) fn open(folder: &Path, plan: &str) -> Result<(Journal, Vec<CompletePart>), DatasetError> {
        let mut parts: Vec<CompletePart> = Vec::new();
        if Journal::matches(folder, plan) {
            let mut broken = Vec::new();
            for part in read(&folder.join(PARTS))? {
                let slot = (part.split, part.size.clone());
                let found = file_hash(&folder.join(&part.file.path)).ok();
                if broken.contains(&slot) || found != Some((part.file.bytes, part.file.sha256.clone())) {
                    broken.push(slot);
                } else {
                    parts.push(part);
                }
            }
        }
        // The old list stays in place until the new one is whole.
        let (path, new_path) = (folder.join(PARTS), folder.join(NEW_PARTS));
        let mut journal = Journal {
            folder: folder.to_owned(),
            file: File::create(&new_path).map_err(|error| cannot_write(&new_path, error))?,
            has_parts: false,
        };
        parts.iter().try_for_each(|part| journal.add(part))?;
        fs::rename(&new_path, &path).map_err(|error| cannot_write(&path, error))?;
        let plan_path = folder.join(PLAN);
        fs::write(&plan_path, plan).map_err(|error| cannot_write(&plan_path, error))?;
        Ok((journal, parts))
    }

    /// Adds a part, whose file is already durable.
    pub(crate) fn add(&mut self, part: &CompletePart) -> Result<(), DatasetError> {
        let mut line = serde_json::to_vec(part).expect("a part is plain JSON");
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(|error| cannot_write(&self.folder.join(PARTS), error))?;
        self.has_parts = true;
        Ok(())
    }

    /// Removes the journal's files, which are no part of the dataset.
    pub(crate) fn remove(self) -> Result<(), DatasetError> {
        drop(self.file);
        [PARTS, PLAN].iter().try_for_each(|name| {
            let path = self.folder.join(name);
            fs::remove_file(&path).map_err(|error| cannot_write(&path, error))
        })
    }
}

/// The parts in a file, up to the first line that is not whole.
fn read(path: &Path) -> Result<Vec<CompletePart>, DatasetError> {
    let text = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot_write(path, error)),
    };
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let whole = lines.map_while(|line| serde_json::from_slice(line.strip_suffix(b"\n")?).ok());
    Ok(whole.collect())
}
