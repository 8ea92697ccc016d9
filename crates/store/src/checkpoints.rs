//! Training checkpoints: the files come first and a commit mark last, so a crash never leaves a partial checkpoint.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use tengen_model::sha256_hex;
use tengen_shard::FORMAT;

use crate::files::{Files, check_name};
use crate::json::{check_version, parse_json};
use crate::seal::sealed_json;
use crate::store_error::{StoreError, damaged};

const COMMIT: &str = "checkpoint.json";

/// The commit mark: the files that belong to the checkpoint and their hashes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    format_version: String,
    step: u64,
    sha256: BTreeMap<String, String>,
}

/// The files of a checkpoint by name.
pub type CheckpointFiles = BTreeMap<String, Bytes>;

/// The checkpoints of a store.
#[derive(Clone, Copy)]
pub struct Checkpoints<'a>(pub(crate) &'a Files);

impl Checkpoints<'_> {
    /// Writes the checkpoint of a training step; it exists once the call returns. An existing checkpoint of the same
    /// step is left alone; the files of an unfinished one are replaced.
    ///
    /// # Errors
    /// [`StoreError::BadName`] for an invalid file name; [`StoreError::Write`], after which the checkpoint does not
    /// exist.
    pub fn put(self, step: u64, files: &CheckpointFiles) -> Result<(), StoreError> {
        let folder = folder(step);
        let commit = format!("{folder}/{COMMIT}");
        if self.0.size_of(&commit)?.is_some() {
            return Ok(());
        }
        for (name, bytes) in files {
            check_name("checkpoint file", name)?;
            let path = format!("{folder}/{name}");
            self.0.delete(&path)?;
            self.0.put_same(&path, bytes.clone())?;
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
        self.0.put_same(&commit, sealed_json(&manifest)).map(|_| ())
    }

    /// The steps of all finished checkpoints, in ascending order.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn list(self) -> Result<Vec<u64>, StoreError> {
        let step = |path: &str| {
            path.strip_prefix("checkpoints/")?
                .strip_suffix(COMMIT)?
                .strip_suffix('/')?
                .parse::<u64>()
                .ok()
        };
        let mut steps: Vec<_> = self
            .0
            .list("checkpoints")?
            .iter()
            .filter_map(|(path, _)| step(path))
            .collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// The files of a checkpoint, each checked against its hash.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such checkpoint; [`StoreError::Damaged`] if a file differs from what was
    /// written; [`StoreError::Version`] for another major version.
    pub fn load(self, step: u64) -> Result<CheckpointFiles, StoreError> {
        let folder = folder(step);
        let commit = format!("{folder}/{COMMIT}");
        let manifest: Manifest = parse_json(&commit, &self.0.require(&commit)?)?;
        check_version(&commit, &manifest.format_version)?;
        let mut files = CheckpointFiles::new();
        for (name, expected) in manifest.sha256 {
            let path = format!("{folder}/{name}");
            let bytes = self.0.require(&path)?;
            let found = sha256_hex(&bytes);
            if found != expected {
                return Err(damaged(path, format!("SHA-256 {expected}"), found));
            }
            files.insert(name, bytes);
        }
        Ok(files)
    }

    /// The newest checkpoint that is intact, with its step; damaged ones are skipped.
    ///
    /// # Errors
    /// [`StoreError::Read`]; [`StoreError::Version`] if the newest one has another major version.
    pub fn latest(self) -> Result<Option<(u64, CheckpointFiles)>, StoreError> {
        for step in self.list()?.into_iter().rev() {
            match self.load(step) {
                Ok(files) => return Ok(Some((step, files))),
                Err(StoreError::Damaged { .. } | StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Deletes all but the newest `keep` checkpoints, each starting with its commit mark, and the files of unfinished
    /// checkpoints older than the newest one; returns the steps of the deleted checkpoints. Only one process at a time
    /// may write checkpoints, so an unfinished one that is older is a leftover.
    ///
    /// # Errors
    /// [`StoreError::Read`], [`StoreError::Write`].
    pub fn prune(self, keep: usize) -> Result<Vec<u64>, StoreError> {
        let finished = self.list()?;
        let old = finished[..finished.len().saturating_sub(keep)].to_vec();
        for &step in &old {
            self.0.delete(&format!("{}/{COMMIT}", folder(step)))?;
            self.delete_files(step)?;
        }
        for name in self.0.folders("checkpoints")? {
            let unfinished = name.parse().ok().filter(|step| !finished.contains(step));
            if let Some(step) = unfinished.filter(|step| finished.last().is_some_and(|newest| step < newest)) {
                self.delete_files(step)?;
            }
        }
        Ok(old)
    }

    fn delete_files(self, step: u64) -> Result<(), StoreError> {
        let files = self.0.list(&folder(step))?;
        files.iter().try_for_each(|(path, _)| self.0.delete(path))
    }
}

fn folder(step: u64) -> String {
    format!("checkpoints/{step:09}")
}
