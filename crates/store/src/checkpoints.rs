//! Training checkpoints: the files come first and a commit mark last, so a crash never leaves a partial checkpoint.
//!
//! A damaged checkpoint is quarantined like a damaged shard: a note in `quarantine/` says what is wrong, and the files
//! stay in place until enough newer checkpoints are intact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use tengen_model::sha256_hex;
use tengen_records::now_ms;
use tengen_shard::FORMAT;

use crate::files::{Files, check_name};
use crate::games::{QUARANTINE, QuarantineNote};
use crate::json::{check_version, parse_json};
use crate::seal::sealed_json;
use crate::store_error::{StoreError, damaged};

const CHECKPOINTS: &str = "checkpoints";

const COMMIT: &str = "checkpoint.json";

/// The commit mark, a manifest of the checkpoint's files and their hashes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    format_version: String,
    step: u64,
    sha256: BTreeMap<String, String>,
}

/// The files of a checkpoint by name.
pub type CheckpointFiles = BTreeMap<String, Bytes>;

/// The steps of the checkpoints that this process has written or found intact.
#[derive(Debug, Default)]
pub(crate) struct Checked(Mutex<BTreeSet<u64>>);

impl Checked {
    fn steps(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest intact checkpoint, and the damage found on the way to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The newest intact checkpoint, with its step; `None` if there is none.
    pub newest: Option<(u64, CheckpointFiles)>,
    /// The damaged checkpoints that this call quarantined, newest first.
    pub damaged: Vec<QuarantineNote>,
}

/// What [`Checkpoints::prune`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunedCheckpoints {
    /// The steps of the deleted checkpoints, in ascending order.
    pub steps: Vec<u64>,
    /// The damaged checkpoints that this call quarantined, newest first.
    pub damaged: Vec<QuarantineNote>,
}

/// The state of a checkpoint.
enum Found {
    Intact(CheckpointFiles),
    /// What is wrong with it.
    Damaged(String),
    /// Another process has deleted it.
    Gone,
}

/// The checkpoints of a store.
#[derive(Clone, Copy)]
pub struct Checkpoints<'a> {
    pub(crate) files: &'a Files,
    pub(crate) checked: &'a Checked,
}

impl Checkpoints<'_> {
    /// Writes the checkpoint of a training step; it exists once the call returns. An intact checkpoint of the same step
    /// is left alone; a damaged one and the files of an unfinished one are replaced.
    ///
    /// # Errors
    /// [`StoreError::BadName`] for an invalid file name; [`StoreError::Write`], after which the checkpoint does not
    /// exist; [`StoreError::Version`] if that of the same step has another major version.
    pub fn put(self, step: u64, files: &CheckpointFiles) -> Result<(), StoreError> {
        self.put_if(step, files, || Ok(()))
    }

    /// [`Checkpoints::put`] with a final check: unless `allowed` succeeds, the files are written but the checkpoint is
    /// not committed.
    ///
    /// # Errors
    /// Same as [`Checkpoints::put`], and what `allowed` returns.
    pub fn put_if<E: From<StoreError>>(
        self,
        step: u64,
        files: &CheckpointFiles,
        allowed: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        files.keys().try_for_each(|name| check_name("checkpoint file", name))?;
        if self.stands(step)? {
            return Ok(());
        }
        self.delete(step)?;
        for (name, bytes) in files {
            self.files
                .put_same(&format!("{}/{name}", folder(step)), bytes.clone())?;
        }
        let sha256 = files
            .iter()
            .map(|(name, bytes)| (name.clone(), sha256_hex(bytes)))
            .collect();
        let manifest = Manifest {
            format_version: FORMAT.to_string(),
            step,
            sha256,
        };
        allowed()?;
        self.files.put_same(&commit(step), sealed_json(&manifest))?;
        self.checked.steps().insert(step);
        Ok(())
    }

    /// Whether the checkpoint of a step is finished, intact, and not quarantined.
    fn stands(self, step: u64) -> Result<bool, StoreError> {
        if self.files.size_of(&commit(step))?.is_none() || self.files.size_of(&note(step))?.is_some() {
            return Ok(false);
        }
        Ok(self.checked.steps().contains(&step) || matches!(self.examine(step)?, Found::Intact(_)))
    }

    /// The steps of all finished checkpoints that are not quarantined, in ascending order.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn list(self) -> Result<Vec<u64>, StoreError> {
        let mut steps = self.finished()?;
        let aside = self.steps_in(QUARANTINE, "/checkpoint-", ".json")?;
        steps.retain(|step| !aside.contains(step));
        Ok(steps)
    }

    /// The steps of all finished checkpoints, including quarantined ones, in ascending order.
    pub(crate) fn finished(self) -> Result<Vec<u64>, StoreError> {
        let steps = self.steps_in(CHECKPOINTS, "/", &format!("/{COMMIT}"))?;
        Ok(steps.into_iter().collect())
    }

    /// The steps that appear between these two strings in the names of a folder's files.
    fn steps_in(self, folder: &str, before: &str, after: &str) -> Result<BTreeSet<u64>, StoreError> {
        let step = |path: &str| {
            let rest = path.strip_prefix(folder)?.strip_prefix(before)?;
            rest.strip_suffix(after)?.parse().ok()
        };
        let files = self.files.list(folder)?;
        Ok(files.iter().filter_map(|(path, _)| step(path)).collect())
    }

    /// The files of a checkpoint, each checked against its hash.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such checkpoint; [`StoreError::Damaged`] if a file differs from what was
    /// written; [`StoreError::Version`] for another major version.
    pub fn load(self, step: u64) -> Result<CheckpointFiles, StoreError> {
        let (folder, commit) = (folder(step), commit(step));
        let manifest: Manifest = parse_json(&commit, &self.files.require(&commit)?)?;
        check_version(&commit, &manifest.format_version)?;
        let mut files = CheckpointFiles::new();
        for (name, expected) in manifest.sha256 {
            let path = format!("{folder}/{name}");
            let bytes = self.files.require(&path)?;
            let found = sha256_hex(&bytes);
            if found != expected {
                return Err(damaged(path, format!("SHA-256 {expected}"), found));
            }
            files.insert(name, bytes);
        }
        self.checked.steps().insert(step);
        Ok(files)
    }

    /// The newest intact checkpoint, with its step; damaged ones are skipped. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Read`]; [`StoreError::Version`] if the newest one has another major version.
    pub fn latest(self) -> Result<Option<(u64, CheckpointFiles)>, StoreError> {
        for step in self.list()?.into_iter().rev() {
            if let Found::Intact(files) = self.examine(step)? {
                return Ok(Some((step, files)));
            }
        }
        Ok(None)
    }

    /// Like [`Checkpoints::latest`], but quarantines the damaged checkpoints on the way, so that later calls skip them.
    ///
    /// # Errors
    /// Same as [`Checkpoints::latest`]. A note that cannot be written is not an error; the damage's reason then says
    /// so.
    pub fn recover(self) -> Result<Recovered, StoreError> {
        let mut damaged = Vec::new();
        for step in self.list()?.into_iter().rev() {
            match self.examine(step)? {
                Found::Intact(files) => {
                    let newest = Some((step, files));
                    return Ok(Recovered { newest, damaged });
                }
                Found::Damaged(reason) => damaged.push(self.set_aside(step, reason)),
                Found::Gone => {}
            }
        }
        Ok(Recovered { newest: None, damaged })
    }

    /// Deletes all checkpoints older than the newest `keep` (at least one) intact ones, each starting with its commit
    /// mark, and the files of unfinished checkpoints older than the newest intact one. Quarantines the damaged ones
    /// that it finds. Only one process at a time may write checkpoints, so an older unfinished one is a leftover.
    ///
    /// # Errors
    /// [`StoreError::Read`], [`StoreError::Write`].
    pub fn prune(self, keep: usize) -> Result<PrunedCheckpoints, StoreError> {
        let mut pruned = PrunedCheckpoints::default();
        let intact = self.newest_intact(keep.max(1), &mut pruned.damaged)?;
        let Some(newest) = intact.first() else {
            return Ok(pruned);
        };
        let finished = self.finished()?;
        if let Some(oldest) = intact.get(keep.max(1) - 1) {
            pruned.steps = finished.iter().copied().filter(|step| step < oldest).collect();
        }
        pruned.steps.iter().try_for_each(|&step| self.delete(step))?;
        let names = self.files.folders(CHECKPOINTS)?;
        let unfinished = names.iter().filter_map(|name| name.parse().ok());
        let mut leftovers = unfinished.filter(|step| step < newest && !finished.contains(step));
        leftovers.try_for_each(|step| self.delete(step))?;
        Ok(pruned)
    }

    /// The steps of the newest intact checkpoints, newest first, at most `most`; quarantines the damaged ones before
    /// them. Does not reread those that this process has written or read.
    fn newest_intact(self, most: usize, damaged: &mut Vec<QuarantineNote>) -> Result<Vec<u64>, StoreError> {
        let mut intact = Vec::new();
        for step in self.list()?.into_iter().rev() {
            if intact.len() == most {
                break;
            }
            let is_checked = self.checked.steps().contains(&step);
            let found = if is_checked {
                Ok(None)
            } else {
                self.examine(step).map(Some)
            };
            match found {
                Ok(None | Some(Found::Intact(_))) => intact.push(step),
                Ok(Some(Found::Damaged(reason))) => damaged.push(self.set_aside(step, reason)),
                // This version cannot resume from another version's checkpoint, so it stays but does not count.
                Ok(Some(Found::Gone)) | Err(StoreError::Version { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(intact)
    }

    /// Reads a checkpoint, and again if something is wrong: a transfer error may disappear, and another process may be
    /// deleting it.
    fn examine(self, step: u64) -> Result<Found, StoreError> {
        match self.load(step) {
            Err(error) if error.is_damage() && self.files.size_of(&commit(step))?.is_none() => return Ok(Found::Gone),
            Err(error) if error.is_damage() => {}
            files => return files.map(Found::Intact),
        }
        match self.load(step) {
            Err(error) if error.is_damage() => Ok(Found::Damaged(error.to_string())),
            files => files.map(Found::Intact),
        }
    }

    /// What is wrong with a finished checkpoint, if anything; `None` if another process has deleted it.
    pub(crate) fn inspect(self, step: u64) -> Result<Option<Result<(), String>>, StoreError> {
        match self.examine(step) {
            Ok(Found::Intact(_)) => Ok(Some(Ok(()))),
            Ok(Found::Damaged(reason)) => Ok(Some(Err(reason))),
            Ok(Found::Gone) => Ok(None),
            Err(error @ StoreError::Version { .. }) => Ok(Some(Err(error.to_string()))),
            Err(error) => Err(error),
        }
    }

    /// Quarantines a damaged checkpoint with a note.
    fn set_aside(self, step: u64, reason: String) -> QuarantineNote {
        let mut found = QuarantineNote {
            shard: folder(step),
            reason,
            found_ms: now_ms(),
        };
        if let Err(error) = self.files.put_new(&note(step), sealed_json(&found)) {
            found.reason = format!("{} (could not write the quarantine note: {error})", found.reason);
        }
        found
    }

    /// Deletes a checkpoint: first its commit mark, last its quarantine note.
    fn delete(self, step: u64) -> Result<(), StoreError> {
        self.checked.steps().remove(&step);
        self.files.delete(&commit(step))?;
        let files = self.files.list(&folder(step))?;
        files.iter().try_for_each(|(path, _)| self.files.delete(path))?;
        self.files.delete(&note(step))
    }
}

fn folder(step: u64) -> String {
    format!("{CHECKPOINTS}/{step:09}")
}

fn commit(step: u64) -> String {
    format!("{}/{COMMIT}", folder(step))
}

/// The path of a checkpoint's quarantine note.
fn note(step: u64) -> String {
    format!("{QUARANTINE}/checkpoint-{step:09}.json")
}
