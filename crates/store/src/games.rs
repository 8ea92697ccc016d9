//! Gets games in and out of a store: in shards that are published atomically, checked once, and trusted afterwards.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use tengen_records::{GameRecord, now_ms};
use tengen_shard::decode_ids;

use crate::changes::{Changes, Fate, GameTotals};
use crate::files::Files;
use crate::json::parse_json;
use crate::seal::sealed_json;
use crate::shard_check::{check_bytes, check_shard};
use crate::shard_info::{Collection, GamesOf, SealedShard, ShardInfo};
use crate::store_error::{ShardReadError, StoreError};

/// The folder of the notes about damaged shards and checkpoints.
pub(crate) const QUARANTINE: &str = "quarantine";

/// A snapshot of the games in a store, each listed exactly once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GamesListing {
    /// Shards to read, oldest first (by generation, then name).
    pub shards: Vec<ShardInfo>,
    /// Quarantined shards, in the same order.
    pub damaged: Vec<ShardInfo>,
    /// Totals of the pruned self-play games, for counts that must not shrink.
    pub pruned: GameTotals,
    /// Number of the newest change note.
    pub(crate) changes: u32,
    /// Number of the newest change note that merged or pruned shards.
    pub(crate) upkeep: u32,
}

impl GamesListing {
    /// Totals of the shards to read plus everything pruned: everything ever published that was not damaged.
    pub fn published(&self) -> GameTotals {
        GameTotals::of(&self.shards).plus(self.pruned)
    }

    /// The listing in a form that another process can read, so that both use the same games.
    pub fn to_bytes(&self) -> Vec<u8> {
        let files = |shards: &[ShardInfo]| shards.iter().map(|shard| (shard.path.clone(), shard.bytes)).collect();
        let passed = PassedOn {
            shards: files(&self.shards),
            damaged: files(&self.damaged),
            pruned: self.pruned,
            changes: self.changes,
            upkeep: self.upkeep,
        };
        serde_json::to_vec(&passed).expect("plain fields always serialize")
    }

    /// The listing of another process; `None` if these bytes are not from [`GamesListing::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Option<GamesListing> {
        let passed: PassedOn = serde_json::from_slice(bytes).ok()?;
        let shards = |files: &[(String, u64)]| {
            let files = files.iter().map(|(path, bytes)| ShardInfo::of_file(path, *bytes));
            files.collect::<Option<Vec<_>>>()
        };
        Some(GamesListing {
            shards: shards(&passed.shards)?,
            damaged: shards(&passed.damaged)?,
            pruned: passed.pruned,
            changes: passed.changes,
            upkeep: passed.upkeep,
        })
    }
}

/// A [`GamesListing`] on its way to another process: each shard as its path and size.
#[derive(Serialize, Deserialize)]
struct PassedOn {
    shards: Vec<(String, u64)>,
    damaged: Vec<(String, u64)>,
    pruned: GameTotals,
    changes: u32,
    upkeep: u32,
}

/// The quarantine note of a damaged shard or checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineNote {
    /// Path of the shard, or of the checkpoint's folder, in the store; the files themselves stay there.
    pub shard: String,
    /// What was expected and what was found.
    pub reason: String,
    /// When the damage was found, milliseconds since 1970-01-01 UTC.
    pub found_ms: u64,
}

/// The games of a store. Clones share what this process has learned about the shards.
#[derive(Clone)]
pub struct Games {
    pub(crate) files: Files,
    pub(crate) memory: Arc<Memory>,
}

/// What a process remembers about the shards of a store.
#[derive(Default)]
pub(crate) struct Memory {
    /// Paths of the shards whose games this process has already replayed.
    verified: Mutex<BTreeSet<String>>,
    /// The contents of the change notes as of the last read; `None` before the first.
    changes: Mutex<Option<Arc<Changes>>>,
    /// Names of damaged shards for which no quarantine note could be written.
    refused: Mutex<BTreeSet<String>>,
    /// Names of the damaged shards that the last listing found in quarantine or this process put there.
    quarantined: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Games {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Games")
            .field("location", &self.files.location())
            .finish()
    }
}

impl Memory {
    fn verified(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn changes(&self) -> MutexGuard<'_, Option<Arc<Changes>>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn quarantined(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.quarantined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Games {
    pub(crate) fn new(files: Files) -> Games {
        Games {
            files,
            memory: Arc::default(),
        }
    }

    /// The same games through another handle to the same files.
    pub(crate) fn through(&self, files: &Files) -> Games {
        Games {
            files: files.clone(),
            memory: Arc::clone(&self.memory),
        }
    }
}

impl Games {
    /// Publishes games as one shard: encodes them in memory, hashes the bytes, and writes the file atomically.
    ///
    /// # Errors
    /// Same as [`SealedShard::new`] and [`Games::publish`].
    pub fn publish_games(
        &self,
        collection: &Collection,
        worker: &str,
        sequence: u64,
        games: &[GameRecord],
    ) -> Result<ShardInfo, StoreError> {
        let shard = SealedShard::new(collection, worker, sequence, games)?;
        self.publish(&shard)?;
        Ok(shard.info)
    }

    /// Publishes a shard atomically. Publishing it again does nothing.
    ///
    /// # Errors
    /// [`StoreError::Write`] if the store fails; [`StoreError::Taken`] if the name exists with different bytes. A shard
    /// is never partially published, but if the connection breaks before the reply, it may have been published anyway.
    pub fn publish(&self, shard: &SealedShard) -> Result<(), StoreError> {
        self.files.put_same(&shard.info.path, shard.bytes.clone()).map(|_| ())
    }

    /// Lists all games of some kind, as shards. Skips files that are not shards and shards that were merged into
    /// others; counts pruned games.
    ///
    /// # Errors
    /// [`StoreError::Read`]; [`StoreError::BadName`] for an invalid match id; [`StoreError::Damaged`] and
    /// [`StoreError::Version`] if a change note cannot be read.
    pub fn list(&self, games: &GamesOf) -> Result<GamesListing, StoreError> {
        let (shards, changes) = self.consistent_listing(&[games.folder()?])?;
        let (damaged, shards) = split(shards, &self.quarantined_names()?);
        Ok(GamesListing {
            shards,
            damaged,
            pruned: match games {
                GamesOf::Match(_) | GamesOf::Imported => GameTotals::default(),
                GamesOf::SelfPlay | GamesOf::All => changes.pruned,
            },
            changes: changes.last,
            upkeep: changes.upkeep,
        })
    }

    /// Lists only the self-play games of some generations, each shard once, oldest first (by generation, then name). It
    /// makes one listing per generation, however many the store has. It obeys all change notes and leaves out the
    /// damaged shards that this process or its last [`Games::list`] has found.
    ///
    /// It misses shards that arrive late in other generations and shards quarantined by others, so call [`Games::list`]
    /// from time to time.
    ///
    /// # Errors
    /// Same as [`Games::list`].
    pub fn newest(&self, generations: RangeInclusive<u32>) -> Result<Vec<ShardInfo>, StoreError> {
        let folders: Vec<_> = generations
            .map(|generation| Collection::SelfPlay { generation }.folder())
            .collect();
        let (shards, _) = self.consistent_listing(&folders)?;
        let bad = self
            .memory
            .quarantined()
            .union(&self.memory.refused())
            .cloned()
            .collect();
        let (_damaged, intact) = split(shards, &bad);
        Ok(intact)
    }

    /// Lists the visible shards in some folders together with the change notes that decide this. Merges and prunes are
    /// rare, so a retry is rare too.
    fn consistent_listing(&self, folders: &[String]) -> Result<(Vec<ShardInfo>, Arc<Changes>), StoreError> {
        loop {
            let before = self.changes()?.last;
            let mut files = Vec::new();
            for folder in folders {
                files.append(&mut self.files.list(folder)?);
            }
            let changes = self.changes()?;
            if changes.last == before {
                let shards = files
                    .iter()
                    .filter_map(|(path, bytes)| ShardInfo::of_file(path, *bytes));
                return Ok((shards.filter(|shard| changes.shows(shard)).collect(), changes));
            }
        }
    }

    /// The shards of [`Games::list`] without the quarantined ones.
    ///
    /// # Errors
    /// Same as [`Games::list`].
    pub fn list_shards(&self, games: &GamesOf) -> Result<Vec<ShardInfo>, StoreError> {
        self.list(games).map(|listing| listing.shards)
    }

    /// [`Games::list_shards`] including the quarantined ones.
    ///
    /// # Errors
    /// Same as [`Games::list`].
    pub fn list_all(&self, games: &GamesOf) -> Result<Vec<ShardInfo>, StoreError> {
        let mut listing = self.list(games)?;
        listing.shards.append(&mut listing.damaged);
        listing.shards.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(listing.shards)
    }

    /// Reads and checks a shard: size, hash, footer, columns, counts and, the first time in this process, a replay of
    /// every game. A shard that fails twice is quarantined and skipped by every later listing; if the quarantine note
    /// cannot be written, only this process skips it.
    ///
    /// # Errors
    /// [`ShardReadError::Quarantined`] with what was expected and found; [`ShardReadError::Gone`] if it was pruned;
    /// [`ShardReadError::Store`] if the store fails.
    pub fn read(&self, shard: &ShardInfo) -> Result<Vec<GameRecord>, ShardReadError> {
        let trusted = self.memory.verified().contains(&shard.path);
        let read = || Ok::<_, StoreError>(check_shard(shard, self.files.require(&shard.path)?, trusted));
        // A transfer error may disappear on retry, but a quarantine note is permanent.
        let found = match read() {
            Ok(Ok(games)) => Ok(games),
            Ok(Err(_)) => read()?,
            Err(StoreError::NotFound { .. }) => return self.read_from_merged(shard),
            Err(error) => return Err(error.into()),
        };
        match found {
            Ok(games) => {
                self.memory.verified().insert(shard.path.clone());
                Ok(games)
            }
            Err(reason) => Err(self.quarantine(shard, reason)),
        }
    }

    /// Reads a deleted shard's games from the shard it was merged into.
    fn read_from_merged(&self, shard: &ShardInfo) -> Result<Vec<GameRecord>, ShardReadError> {
        let changes = self.changes()?;
        let (into, first) = match changes.fate(&shard.path) {
            Some(Fate::Merged { into, first }) => (into, *first),
            Some(Fate::Pruned) => {
                return Err(ShardReadError::Gone {
                    shard: shard.path.clone(),
                });
            }
            None => return Err(self.files.not_found(&shard.path).into()),
        };
        let bytes = self.files.size_of(into)?.unwrap_or(0);
        let merged = ShardInfo::of_file(into, bytes).ok_or_else(|| self.files.not_found(into))?;
        let mut games = self.read(&merged)?;
        let end = (first + shard.games() as usize).min(games.len());
        Ok(games.drain(first.min(end)..end).collect())
    }

    /// The ids of a shard's games, after checking only its size and hash.
    ///
    /// # Errors
    /// Same as [`Games::read`], which takes over if a check fails.
    pub fn ids(&self, shard: &ShardInfo) -> Result<Vec<String>, ShardReadError> {
        let bytes = self.files.get(&shard.path)?;
        match bytes.map(|bytes| check_bytes(shard, &bytes).map(|()| decode_ids(bytes))) {
            Some(Ok(Ok(ids))) => Ok(ids),
            _ => Ok(self.read(shard)?.into_iter().map(|game| game.game_id).collect()),
        }
    }

    /// The ids of all games in these shards, except those in damaged shards and shards that are gone.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    pub fn ids_of(&self, shards: &[ShardInfo]) -> Result<BTreeSet<String>, StoreError> {
        let mut all = BTreeSet::new();
        for shard in shards {
            match self.ids(shard) {
                Ok(ids) => all.extend(ids),
                Err(ShardReadError::Store(error)) => return Err(error),
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => {}
            }
        }
        Ok(all)
    }

    /// Runs the checks of [`Games::read`] from scratch without changing the store: `Ok(Err(reason))` says what is
    /// wrong.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    pub fn inspect(&self, shard: &ShardInfo) -> Result<Result<Vec<GameRecord>, String>, StoreError> {
        Ok(check_shard(shard, self.files.require(&shard.path)?, false))
    }

    /// Quarantines a damaged shard: for every process if the note can be written, otherwise only for this one.
    fn quarantine(&self, shard: &ShardInfo, mut reason: String) -> ShardReadError {
        let note = QuarantineNote {
            shard: shard.path.clone(),
            reason: reason.clone(),
            found_ms: now_ms(),
        };
        let path = format!("{QUARANTINE}/{}.json", shard.name);
        match self.files.put_new(&path, sealed_json(&note)) {
            Ok(_) => self.memory.quarantined().insert(shard.name.to_string()),
            Err(error) => {
                reason = format!("{reason} (could not write the quarantine note: {error})");
                self.memory.refused().insert(shard.name.to_string())
            }
        };
        ShardReadError::Quarantined {
            shard: shard.path.clone(),
            reason,
        }
    }

    /// All notes about damaged shards and checkpoints, sorted by name. For an unreadable note, the reason says so.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn quarantine_notes(&self) -> Result<Vec<QuarantineNote>, StoreError> {
        let mut notes = Vec::new();
        for (path, _) in self.files.list(QUARANTINE)? {
            let note = parse_json(&path, &self.files.require(&path)?);
            notes.push(note.unwrap_or_else(|error| QuarantineNote {
                shard: path,
                reason: format!("the quarantine note itself cannot be read: {error}"),
                found_ms: 0,
            }));
        }
        Ok(notes)
    }

    fn quarantined_names(&self) -> Result<BTreeSet<String>, StoreError> {
        let name = |path: &str| Some(path.rsplit_once('/')?.1.strip_suffix(".json")?.to_owned());
        let noted = self.files.list(QUARANTINE)?;
        let noted: BTreeSet<String> = noted.iter().filter_map(|(path, _)| name(path)).collect();
        *self.memory.quarantined() = noted.clone();
        Ok(noted.into_iter().chain(self.memory.refused().iter().cloned()).collect())
    }
}

/// The damaged shards, whose names are in `bad`, and the others, both oldest first.
fn split(mut shards: Vec<ShardInfo>, bad: &BTreeSet<String>) -> (Vec<ShardInfo>, Vec<ShardInfo>) {
    shards.sort_by(|a, b| a.order().cmp(&b.order()));
    shards
        .into_iter()
        .partition(|shard| bad.contains(&shard.name.to_string()))
}
