//! How games get in and out of a store: in shards that are published atomically, checked once, and trusted afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::changes::{Changes, Fate, GameTotals, IMPORTED, MERGED};
use crate::decode::{decode_bytes, decode_ids};
use crate::encode::encode;
use crate::shard::{ShardName, is_plain_name, sha256_hex};
use crate::store::Store;
use crate::store_error::{ShardReadError, StoreError};
use tengen_records::{GameKind, GameRecord, now_ms};

/// Folder of all games in this major version of the format.
const GAMES: &str = "games/v1";

/// A group of shards that belong together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collection {
    /// Self-play games of one generation.
    SelfPlay {
        /// The generation number.
        generation: u32,
    },
    /// The games of one match.
    Match {
        /// Name of the match: letters, digits, `.`, `_`, `-`.
        id: String,
    },
    /// Games imported from SGF files.
    Import {
        /// Name of the collection: letters, digits, `.`, `_`, `-`.
        name: String,
    },
}

impl Collection {
    /// The store folder that holds the collection's shards.
    pub fn folder(&self) -> String {
        match self {
            Collection::SelfPlay { generation } => format!("{GAMES}/kind=selfplay/gen=g{generation:06}"),
            Collection::Match { id } => format!("{GAMES}/kind=match/match={id}"),
            Collection::Import { name } => format!("{GAMES}/kind=import/import={name}"),
        }
    }

    /// The kind of game in this collection.
    pub fn kind(&self) -> GameKind {
        match self {
            Collection::SelfPlay { .. } => GameKind::SelfPlay,
            Collection::Match { .. } => GameKind::Match,
            Collection::Import { .. } => GameKind::Import,
        }
    }

    fn of_folder(folder: &str) -> Option<Collection> {
        let rest = folder.strip_prefix(GAMES)?.strip_prefix('/')?;
        if let Some(number) = rest.strip_prefix("kind=selfplay/gen=g") {
            return Some(Collection::SelfPlay {
                generation: number.parse().ok()?,
            });
        }
        if let Some(name) = rest.strip_prefix("kind=import/import=") {
            return is_plain_name(name).then(|| Collection::Import { name: name.to_owned() });
        }
        let id = rest.strip_prefix("kind=match/match=")?;
        is_plain_name(id).then(|| Collection::Match { id: id.to_owned() })
    }
}

/// Selects which games to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GamesOf {
    /// All self-play games.
    SelfPlay,
    /// The games of one match.
    Match(String),
    /// All imported games.
    Imported,
    /// Self-play, matches and imported games.
    All,
}

impl GamesOf {
    /// The folder that contains all their shards.
    pub(crate) fn folder(&self) -> Result<String, StoreError> {
        Ok(match self {
            GamesOf::All => GAMES.to_owned(),
            GamesOf::SelfPlay => format!("{GAMES}/kind=selfplay"),
            GamesOf::Imported => format!("{GAMES}/kind=import"),
            GamesOf::Match(id) => {
                check_name("match id", id)?;
                Collection::Match { id: id.clone() }.folder()
            }
        })
    }
}

/// A published shard, as described by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardInfo {
    /// Path in the store.
    pub path: String,
    /// The collection it belongs to.
    pub collection: Collection,
    /// The parsed file name.
    pub name: ShardName,
    /// Size in bytes.
    pub bytes: u64,
}

impl ShardInfo {
    /// The self-play generation; 0 for other games.
    pub fn generation(&self) -> u32 {
        match self.collection {
            Collection::SelfPlay { generation } => generation,
            Collection::Match { .. } | Collection::Import { .. } => 0,
        }
    }

    /// The sort key of shards, oldest first: generation, then name.
    pub fn order(&self) -> (u32, &ShardName, &str) {
        (self.generation(), &self.name, &self.path)
    }

    /// Number of games in the shard.
    pub fn games(&self) -> u64 {
        self.name.games
    }

    /// Number of positions in the shard.
    pub fn positions(&self) -> u64 {
        self.name.positions
    }

    pub(crate) fn of_file(path: &str, bytes: u64) -> Option<ShardInfo> {
        let (folder, file) = path.rsplit_once('/')?;
        let collection = Collection::of_folder(folder)?;
        let name = file.strip_suffix(".parquet")?.parse().ok()?;
        Some(ShardInfo {
            path: path.to_owned(),
            collection,
            name,
            bytes,
        })
    }
}

/// A shard that is ready to be published. It keeps its name across retries so that no game is published twice.
#[derive(Clone, Debug)]
pub struct SealedShard {
    /// Its path, name and size.
    pub info: ShardInfo,
    /// The file contents.
    pub(crate) bytes: Bytes,
}

impl SealedShard {
    /// Encodes games and names the shard by creation time, worker, sequence number and hash.
    ///
    /// # Errors
    /// [`StoreError::BadName`] and [`StoreError::ShardName`] for names that cannot be part of a path.
    pub fn new(
        collection: &Collection,
        worker: &str,
        sequence: u64,
        games: &[GameRecord],
    ) -> Result<SealedShard, StoreError> {
        match collection {
            Collection::SelfPlay { .. } => {}
            Collection::Match { id } => check_name("match id", id)?,
            Collection::Import { name } => check_name("import name", name)?,
        }
        if [MERGED, IMPORTED].contains(&worker) {
            let name = worker.to_owned();
            return Err(StoreError::BadName { what: "worker", name });
        }
        SealedShard::named(collection, now_ms(), worker, sequence, games)
    }

    pub(crate) fn named(
        collection: &Collection,
        created_ms: u64,
        worker: &str,
        sequence: u64,
        games: &[GameRecord],
    ) -> Result<SealedShard, StoreError> {
        let bytes = Bytes::from(encode(games));
        let name = ShardName::new(created_ms, worker, sequence, games, &bytes)?;
        let info = ShardInfo {
            path: format!("{}/{name}.parquet", collection.folder()),
            collection: collection.clone(),
            name,
            bytes: bytes.len() as u64,
        };
        Ok(SealedShard { info, bytes })
    }
}

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
}

/// The quarantine note of a damaged shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineNote {
    /// Path of the shard in the store; the shard itself stays there.
    pub shard: String,
    /// What was expected and what was found.
    pub reason: String,
    /// When the damage was found, milliseconds since 1970-01-01 UTC.
    pub found_ms: u64,
}

impl Store {
    /// Publishes games as one shard: encodes them in memory, hashes the bytes, and writes the file atomically.
    ///
    /// # Errors
    /// As [`SealedShard::new`] and [`Store::publish`].
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
        self.put_same(&shard.info.path, shard.bytes.clone()).map(|_| ())
    }

    /// Lists all games of some kind, as shards. Files that are not shards and shards that were merged into others are
    /// skipped; pruned games are counted.
    ///
    /// # Errors
    /// [`StoreError::Read`]; [`StoreError::BadName`] for an invalid match id; [`StoreError::Damaged`] and
    /// [`StoreError::Version`] if a change note cannot be read.
    pub fn list_games(&self, games: &GamesOf) -> Result<GamesListing, StoreError> {
        let (mut shards, changes) = self.consistent_listing(games)?;
        let bad = self.quarantined_names()?;
        shards.sort_by(|a, b| a.order().cmp(&b.order()));
        let (damaged, shards) = shards
            .into_iter()
            .partition(|shard| bad.contains(&shard.name.to_string()));
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

    /// Lists the visible shards together with the change notes that decide this. Merges and prunes are rare, so a retry
    /// is rare too.
    fn consistent_listing(&self, games: &GamesOf) -> Result<(Vec<ShardInfo>, Arc<Changes>), StoreError> {
        let folder = games.folder()?;
        loop {
            let before = self.changes()?.last;
            let files = self.list(&folder)?;
            let changes = self.changes()?;
            if changes.last == before {
                let shards = files
                    .iter()
                    .filter_map(|(path, bytes)| ShardInfo::of_file(path, *bytes));
                return Ok((shards.filter(|shard| changes.shows(shard)).collect(), changes));
            }
        }
    }

    /// The shards of [`Store::list_games`] without the quarantined ones.
    ///
    /// # Errors
    /// As [`Store::list_games`].
    pub fn list_shards(&self, games: &GamesOf) -> Result<Vec<ShardInfo>, StoreError> {
        self.list_games(games).map(|listing| listing.shards)
    }

    /// [`Store::list_shards`] including the quarantined ones.
    ///
    /// # Errors
    /// As [`Store::list_games`].
    pub fn list_all_shards(&self, games: &GamesOf) -> Result<Vec<ShardInfo>, StoreError> {
        let mut listing = self.list_games(games)?;
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
    pub fn read_shard(&self, shard: &ShardInfo) -> Result<Vec<GameRecord>, ShardReadError> {
        let trusted = self.verified().contains(&shard.path);
        let read = || Ok::<_, StoreError>(check_shard(shard, self.require(&shard.path)?, trusted));
        // A transfer error may disappear on retry, but a quarantine note is permanent.
        let found = match read() {
            Ok(Ok(games)) => Ok(games),
            Ok(Err(_)) => read()?,
            Err(StoreError::NotFound { .. }) => return self.read_from_merged(shard),
            Err(error) => return Err(error.into()),
        };
        match found {
            Ok(games) => {
                self.verified().insert(shard.path.clone());
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
            None => return Err(self.not_found(&shard.path).into()),
        };
        let bytes = self.size_of(into)?.unwrap_or(0);
        let merged = ShardInfo::of_file(into, bytes).ok_or_else(|| self.not_found(into))?;
        let mut games = self.read_shard(&merged)?;
        let end = (first + shard.games() as usize).min(games.len());
        Ok(games.drain(first.min(end)..end).collect())
    }

    /// The ids of a shard's games, after checking only its size and hash.
    ///
    /// # Errors
    /// As [`Store::read_shard`], which takes over if a check fails.
    pub fn game_ids(&self, shard: &ShardInfo) -> Result<Vec<String>, ShardReadError> {
        let bytes = self.get(&shard.path)?;
        match bytes.map(|bytes| check_bytes(shard, &bytes).map(|()| decode_ids(bytes))) {
            Some(Ok(Ok(ids))) => Ok(ids),
            _ => Ok(self.read_shard(shard)?.into_iter().map(|game| game.game_id).collect()),
        }
    }

    /// Runs the checks of [`Store::read_shard`] from scratch without changing the store: `Ok(Err(reason))` says what is
    /// wrong.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    pub fn inspect_shard(&self, shard: &ShardInfo) -> Result<Result<Vec<GameRecord>, String>, StoreError> {
        Ok(check_shard(shard, self.require(&shard.path)?, false))
    }

    /// Quarantines a damaged shard: for every process if the note can be written, otherwise only for this one.
    fn quarantine(&self, shard: &ShardInfo, mut reason: String) -> ShardReadError {
        let note = QuarantineNote {
            shard: shard.path.clone(),
            reason: reason.clone(),
            found_ms: now_ms(),
        };
        let text = serde_json::to_vec_pretty(&note).expect("strings and numbers serialize to JSON");
        if let Err(error) = self.put_new(&format!("quarantine/{}.json", shard.name), text) {
            self.refused().insert(shard.name.to_string());
            reason = format!("{reason} (could not write the quarantine note: {error})");
        }
        ShardReadError::Quarantined {
            shard: shard.path.clone(),
            reason,
        }
    }

    /// All notes about damaged shards, sorted by name. For an unreadable note, the reason says so.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn quarantine_notes(&self) -> Result<Vec<QuarantineNote>, StoreError> {
        let mut notes = Vec::new();
        for (path, _) in self.list("quarantine")? {
            let note = serde_json::from_slice(&self.require(&path)?);
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
        let noted = self.list("quarantine")?;
        let noted = noted.iter().filter_map(|(path, _)| name(path));
        Ok(noted.chain(self.refused().iter().cloned()).collect())
    }
}

/// Checks a name that becomes part of a path.
pub fn check_name(what: &'static str, name: &str) -> Result<(), StoreError> {
    if is_plain_name(name) {
        Ok(())
    } else {
        Err(StoreError::BadName {
            what,
            name: name.to_owned(),
        })
    }
}

/// The games of a shard if every check passes, otherwise what failed.
fn check_shard(shard: &ShardInfo, bytes: Bytes, trusted: bool) -> Result<Vec<GameRecord>, String> {
    check_bytes(shard, &bytes)?;
    let games = decode_bytes(bytes).map_err(|error| error.to_string())?;
    check_counts(shard, &games)?;
    if !trusted {
        check_ids(&games)?;
        for game in &games {
            check_game(shard, game)?;
        }
    }
    Ok(games)
}

/// Checks the size and the hash in the name.
fn check_bytes(shard: &ShardInfo, bytes: &Bytes) -> Result<(), String> {
    if bytes.len() as u64 != shard.bytes {
        return Err(format!("expected {} bytes, found {}", shard.bytes, bytes.len()));
    }
    let hash = sha256_hex(bytes);
    match hash[..16] == shard.name.hash16 {
        true => Ok(()),
        false => Err(format!(
            "expected a SHA-256 that starts with {}, found {hash}",
            shard.name.hash16
        )),
    }
}

fn check_counts(shard: &ShardInfo, games: &[GameRecord]) -> Result<(), String> {
    let positions: u64 = games.iter().map(|game| game.plies.len() as u64).sum();
    let (expected, found) = ((shard.games(), shard.positions()), (games.len() as u64, positions));
    if expected == found {
        return Ok(());
    }
    Err(format!(
        "expected {} games with {} positions according to the name, found {} with {}",
        expected.0, expected.1, found.0, found.1
    ))
}

/// Game ids are unique within a store, so also within a shard.
fn check_ids(games: &[GameRecord]) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    match games.iter().find(|game| !ids.insert(game.game_id.as_str())) {
        None => Ok(()),
        Some(again) => Err(format!(
            "game {}: expected each game once, found it twice",
            again.game_id
        )),
    }
}

fn check_game(shard: &ShardInfo, game: &GameRecord) -> Result<(), String> {
    if game.kind != shard.collection.kind() {
        let expected = shard.collection.kind().name();
        return Err(format!(
            "game {}: expected a {expected} game, found a {} game",
            game.game_id,
            game.kind.name()
        ));
    }
    game.validate()
        .map(|_| ())
        .map_err(|error| format!("game {}: {error}", game.game_id))
}
