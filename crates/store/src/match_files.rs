//! The files of a store's matches.

use bytes::Bytes;

use crate::files::{Files, Put, check_name};
use crate::seal::unseal;
use crate::store_error::StoreError;

/// The files of one match.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MatchFile {
    /// The players, openings and stopping rule: `spec.json`.
    Spec,
    /// The result with all its numbers: `result.json`, written last.
    Result,
    /// All games: `games.sgf`.
    Games,
    /// The SHA-256 of `games.sgf`, as `sha256sum` prints and checks it: `SHA256SUMS`. Matches of 0.1.0 lack it.
    Sums,
}

impl MatchFile {
    fn path(self, id: &str) -> Result<String, StoreError> {
        check_name("match id", id)?;
        let file = match self {
            MatchFile::Spec => "spec.json",
            MatchFile::Result => "result.json",
            MatchFile::Games => "games.sgf",
            MatchFile::Sums => "SHA256SUMS",
        };
        Ok(format!("matches/{id}/{file}"))
    }
}

/// The matches of a store.
#[derive(Clone, Copy)]
pub struct Matches<'a>(pub(crate) &'a Files);

impl Matches<'_> {
    /// Writes a file of a match if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::BadName`], [`StoreError::Write`].
    pub fn put(self, id: &str, file: MatchFile, bytes: impl Into<Bytes>) -> Result<Put, StoreError> {
        self.0.put_new(&file.path(id)?, bytes)
    }

    /// The contents of a match file, without the hash at the end of its JSON; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::BadName`], [`StoreError::Read`]; [`StoreError::Damaged`] if that hash does not match.
    pub fn get(self, id: &str, file: MatchFile) -> Result<Option<Bytes>, StoreError> {
        let path = file.path(id)?;
        let Some(bytes) = self.0.get(&path)? else {
            return Ok(None);
        };
        match file {
            MatchFile::Games | MatchFile::Sums => Ok(Some(bytes)),
            MatchFile::Spec | MatchFile::Result => Ok(Some(unseal(&path, &bytes)?.into_owned().into())),
        }
    }

    /// Ids of all matches that have at least one file, sorted.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn list(self) -> Result<Vec<String>, StoreError> {
        self.0.folders("matches")
    }
}
