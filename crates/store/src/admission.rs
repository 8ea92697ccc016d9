//! How do several processes bring games into one store at the same moment, each game once? They are let in one after
//! the other, by numbered notes.
//!
//! Whoever brings games publishes them as a shard under the name of the worker `imported`, which counts for nobody yet,
//! and then puts the next note of `changes/`, which names it. That is put-if-absent, so only one of all who bring games
//! gets a number, and it must have read the games that every note before names: what it brings is new. Whoever comes
//! too late reads what came in, leaves those games out, and tries the number after. Nobody waits for anybody.
//!
//! Whoever is killed between shard and note leaves a stray shard. The next import lets it in, if all its games are
//! still new, or refuses it by a note; if its writer is alive after all, it finds that in the note that it lost to.

use std::collections::HashSet;

use crate::changes::{Change, IMPORTED};
use crate::shards::{Collection, GamesOf, SealedShard, ShardInfo};
use crate::store::Store;
use crate::store_error::{ShardReadError, StoreError};
use tengen_records::{GameRecord, now_ms};

/// The imported games of a store, by their ids, and the way to add to them.
pub struct Admission {
    store: Store,
    /// Number of the newest note whose games are known.
    seen: u32,
    /// Shards whose games are known.
    read: HashSet<String>,
    known: HashSet<String>,
}

impl Admission {
    /// Reads the ids of all games that were imported before.
    pub fn new(store: &Store) -> Result<Admission, StoreError> {
        let mut admission = Admission {
            store: store.clone(),
            seen: 0,
            read: HashSet::new(),
            known: HashSet::new(),
        };
        admission.catch_up()?;
        Ok(admission)
    }

    /// Whether a game is known to be in the store.
    pub fn knows(&self, game_id: &str) -> bool {
        self.known.contains(game_id)
    }

    /// Publishes games as one shard and has it let in; those that are in the store by then are taken out of `games`.
    /// None when none is left.
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
            self.store.publish(&shard)?;
            let ids = games.iter().map(|game| game.game_id.clone()).collect();
            match self.let_in(&shard.info, ids)? {
                true => admitted = Some(shard.info),
                false => outdated.push(shard.info.path),
            }
        }
        self.refuse(outdated)?;
        Ok(admitted)
    }

    /// Lets in, or away with, the shards that killed imports left.
    pub fn settle_strays(&mut self) -> Result<(), StoreError> {
        let changes = self.store.changes()?;
        let mut outdated = Vec::new();
        for (path, bytes) in self.store.list(&GamesOf::Imported.folder()?)? {
            let shard = ShardInfo::of_file(&path, bytes).filter(|shard| shard.name.worker == IMPORTED);
            let Some(shard) = shard.filter(|shard| !changes.shows(shard)) else {
                continue;
            };
            let ids = match self.store.game_ids(&shard) {
                Ok(ids) => ids,
                Err(ShardReadError::Store(StoreError::NotFound { .. })) => continue,
                Err(ShardReadError::Store(error)) => return Err(error),
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => continue,
            };
            let is_new = !ids.iter().any(|id| self.knows(id));
            if !(is_new && changes.fate(&path).is_none() && self.let_in(&shard, ids)?) {
                outdated.push(path);
            }
        }
        self.refuse(outdated)
    }

    /// Reads the ids of the games that came in since.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        let listing = self.store.list_games(&GamesOf::Imported)?;
        for shard in listing.shards {
            if self.read.contains(&shard.path) {
                continue;
            }
            match self.store.game_ids(&shard) {
                Ok(ids) => self.known.extend(ids),
                Err(ShardReadError::Store(error)) => return Err(error),
                // It is gone or in quarantine and counts no more, so its games may come again.
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => {}
            }
            self.read.insert(shard.path);
        }
        self.seen = listing.changes;
        Ok(())
    }

    /// Has a note name a shard. False when one of its games came in another way first, or somebody refused it.
    fn let_in(&mut self, shard: &ShardInfo, ids: Vec<String>) -> Result<bool, StoreError> {
        let change = Change::admitting(&shard.path);
        while !self.store.put_change_after(self.seen, &change)? {
            self.catch_up()?;
            let changes = self.store.changes()?;
            if changes.names(&shard.path) {
                return Ok(true);
            }
            if changes.fate(&shard.path).is_some() || ids.iter().any(|id| self.knows(id)) {
                return Ok(false);
            }
        }
        self.known.extend(ids);
        self.read.insert(shard.path.clone());
        Ok(true)
    }

    /// Has a note refuse shards, so that nobody lets them in any more, and deletes them.
    fn refuse(&mut self, mut shards: Vec<String>) -> Result<(), StoreError> {
        loop {
            let changes = self.store.changes()?;
            // Somebody may have let it in before its games were there twice.
            shards.retain(|path| !changes.names(path));
            let open: Vec<String> = shards
                .iter()
                .filter(|path| changes.fate(path).is_none())
                .cloned()
                .collect();
            if open.is_empty() || self.store.put_change_after(changes.last, &Change::refusing(open))? {
                break;
            }
        }
        shards.iter().try_for_each(|path| self.store.delete(path))
    }
}
