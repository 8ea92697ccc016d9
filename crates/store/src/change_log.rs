//! The log of change notes in a store: reading it, appending to it, and deleting the files that it hides.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::changes::{CHANGES, Change, Changes, path_of};
use crate::files::Put;
use crate::games::Games;
use crate::store_error::StoreError;

impl Games {
    /// The current state of the change notes. The first call lists them; later calls only ask for the note that would
    /// follow the last known one, since a note is written only after all earlier ones.
    pub(crate) fn changes(&self) -> Result<Arc<Changes>, StoreError> {
        // Taken, so that new notes are added in place if nobody else holds the state.
        let known = self.memory.changes().take();
        let changes = match known {
            Some(known) => self.changes_after(known)?,
            None => Arc::new(self.listed_changes()?),
        };
        *self.memory.changes() = Some(Arc::clone(&changes));
        Ok(changes)
    }

    fn changes_after(&self, known: Arc<Changes>) -> Result<Arc<Changes>, StoreError> {
        let next = |last: u32| self.files.get(&path_of(last + 1));
        let Some(mut bytes) = next(known.last)? else {
            return Ok(known);
        };
        let mut changes = Arc::unwrap_or_clone(known);
        loop {
            let number = changes.last + 1;
            changes.apply(number, Change::read(&path_of(number), &bytes)?)?;
            match next(number)? {
                Some(more) => bytes = more,
                None => return Ok(Arc::new(changes)),
            }
        }
    }

    fn listed_changes(&self) -> Result<Changes, StoreError> {
        let number = |path: &str| {
            path.strip_prefix("changes/")?
                .strip_suffix(".json")?
                .parse::<u32>()
                .ok()
        };
        let listed = self.files.list(CHANGES)?;
        let newest = listed.iter().filter_map(|(path, _)| number(path)).max().unwrap_or(0);
        let mut changes = Changes::default();
        for number in 1..=newest {
            let path = path_of(number);
            changes.apply(number, Change::read(&path, &self.files.require(&path)?)?)?;
        }
        Ok(changes)
    }

    /// Writes the note that follows `seen`, and returns its number. Imports admitted since `seen` do not conflict with
    /// it.
    ///
    /// # Errors
    /// [`StoreError::Contended`] if another process has merged or pruned since; [`StoreError::Write`],
    /// [`StoreError::Read`].
    pub(crate) fn put_change(&self, seen: &Changes, change: &Change) -> Result<u32, StoreError> {
        let mut last = seen.last;
        while !self.put_change_after(last, change)? {
            let now = self.changes()?;
            if now.upkeep != seen.upkeep {
                let location = self.files.location().to_owned();
                return Err(StoreError::Contended { location });
            }
            last = now.last;
        }
        Ok(last + 1)
    }

    /// Writes the note numbered `last + 1`; returns false if another process wrote it first.
    pub(crate) fn put_change_after(&self, last: u32, change: &Change) -> Result<bool, StoreError> {
        match self.files.put_same(&path_of(last + 1), change.to_bytes()) {
            Ok(Put::Created | Put::Exists) => Ok(true),
            Err(StoreError::Taken { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes the files of shards that no longer count, each only if the shard that now holds its games exists.
    /// Returns the number of deleted files.
    pub(crate) fn sweep(&self) -> Result<u64, StoreError> {
        let changes = self.changes()?;
        let files: BTreeSet<String> = self.files.list("games")?.into_iter().map(|(path, _)| path).collect();
        let mut deleted = 0;
        for path in files.iter().filter(|path| changes.fate(path).is_some()) {
            if changes
                .current_shard(path)
                .is_none_or(|current_shard| files.contains(current_shard))
            {
                self.files.delete(path)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}
