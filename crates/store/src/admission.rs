//! Admits games from several concurrent imports into one store, each game once: imports are serialized by numbered
//! notes.
//!
//! An import publishes its games as a shard under the worker name `imported`, which does not count yet, and then writes
//! the next note in `changes/`, which names the shard. Notes are never overwritten, so only one of several imports gets
//! a given number, and it must have read the games named by all earlier notes: what it brings is new. An import that
//! loses the race reads the new games, leaves them out, and tries the next number. No import waits for another.
//!
//! An import killed between shard and note leaves a stray shard. The next import admits it if all its games are still
//! new, or refuses it with a note; if the stray's writer is still alive, it finds that note when its own is rejected.

use std::collections::HashSet;

use tengen_records::{GameRecord, now_ms};

use crate::changes::Change;
use crate::games::Games;
use crate::shard_info::{Collection, GamesOf, IMPORTED, SealedShard, ShardInfo};
use crate::store::Store;
use crate::store_error::{ShardReadError, StoreError};

/// The ids of the imported games in a store, and the way to add to them.
pub struct Admission {
    games: Games,
    /// Number of the newest note whose games are known.
    seen: u32,
    /// Shards whose games are known.
    read: HashSet<String>,
    known: HashSet<String>,
}

impl Admission {
    /// Reads the ids of all games imported earlier.
    pub fn new(store: &Store) -> Result<Admission, StoreError> {
        let mut admission = Admission {
            games: store.games().clone(),
            seen: 0,
            read: HashSet::new(),
            known: HashSet::new(),
        };
        admission.read_new()?;
        Ok(admission)
    }

    /// Whether a game is known to be in the store.
    pub fn knows(&self, game_id: &str) -> bool {
        self.known.contains(game_id)
    }

    /// Publishes games as one shard and has it admitted; games that are already in the store by then are removed from
    /// `games`. Returns `None` if no game remains.
    pub fn admit(
        &mut self,
        collection: &Collection,
        sequence: u64,
        games: &mut Vec<GameRecord>,
    ) -> Result<Option<ShardInfo>, StoreError> {
        let mut outdated = Vec::new();
        let mut admitted = None;
        while admitted.is_none() {
            self.catch_up()?;
            games.retain(|game| !self.knows(&game.game_id));
            if games.is_empty() {
                break;
            }
            let shard = SealedShard::named(collection, now_ms(), IMPORTED, sequence, games)?;
            self.games.publish(&shard)?;
            let ids = games.iter().map(|game| game.game_id.clone()).collect();
            match self.try_admit(&shard.info, ids)? {
                true => admitted = Some(shard.info),
                false => outdated.push(shard.info.path),
            }
        }
        self.refuse(outdated)?;
        Ok(admitted)
    }

    /// Admits or refuses the shards left behind by killed imports.
    pub fn resolve_strays(&mut self) -> Result<(), StoreError> {
        let changes = self.games.changes()?;
        let mut outdated = Vec::new();
        for (path, bytes) in self.games.files.list(&GamesOf::Imported.folder()?)? {
            let shard = ShardInfo::of_file(&path, bytes).filter(|shard| shard.name.worker == IMPORTED);
            let Some(shard) = shard.filter(|shard| !changes.shows(shard)) else {
                continue;
            };
            let ids = match self.games.ids(&shard) {
                Ok(ids) => ids,
                Err(ShardReadError::Store(StoreError::NotFound { .. })) => continue,
                Err(ShardReadError::Store(error)) => return Err(error),
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => continue,
            };
            let is_new = !ids.iter().any(|id| self.knows(id));
            if !(is_new && changes.fate(&path).is_none() && self.try_admit(&shard, ids)?) {
                outdated.push(path);
            }
        }
        self.refuse(outdated)
    }

    /// Reads the ids of the games that others have admitted since the last call. Without new notes, nothing is listed.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        match self.games.changes()?.last == self.seen {
            true => Ok(()),
            false => self.read_new(),
        }
    }

    fn read_new(&mut self) -> Result<(), StoreError> {
        let listing = self.games.list(&GamesOf::Imported)?;
        for shard in listing.shards {
            if self.read.contains(&shard.path) {
                continue;
            }
            match self.games.ids(&shard) {
                Ok(ids) => self.known.extend(ids),
                Err(ShardReadError::Store(error)) => return Err(error),
                // The shard is gone or quarantined and no longer counts, so its games may be imported again.
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => {}
            }
            self.read.insert(shard.path);
        }
        self.seen = listing.changes;
        Ok(())
    }

    /// Writes the note that admits a shard. Returns false if another shard brought one of its games first, or another
    /// import refused it.
    fn try_admit(&mut self, shard: &ShardInfo, ids: Vec<String>) -> Result<bool, StoreError> {
        let change = Change::admitting(&shard.path);
        while !self.games.put_change_after(self.seen, &change)? {
            self.catch_up()?;
            let changes = self.games.changes()?;
            if changes.names(&shard.path) {
                return Ok(true);
            }
            if changes.fate(&shard.path).is_some() || ids.iter().any(|id| self.knows(id)) {
                return Ok(false);
            }
        }
        self.seen += 1;
        self.known.extend(ids);
        self.read.insert(shard.path.clone());
        Ok(true)
    }

    /// Writes the note that refuses shards, so that no import admits them, and deletes them.
    fn refuse(&mut self, mut shards: Vec<String>) -> Result<(), StoreError> {
        loop {
            let changes = self.games.changes()?;
            // Another import may have admitted the shard before its games became duplicates.
            shards.retain(|path| !changes.names(path));
            let open: Vec<String> = shards
                .iter()
                .filter(|path| changes.fate(path).is_none())
                .cloned()
                .collect();
            if open.is_empty() || self.games.put_change_after(changes.last, &Change::refusing(open))? {
                break;
            }
        }
        shards.iter().try_for_each(|path| self.games.files.delete(path))
    }
}
