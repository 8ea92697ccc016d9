//! Shards as files: their collection, what their path says, and shards sealed for publishing.

use bytes::Bytes;

use tengen_records::{GameKind, GameRecord, now_ms};
use tengen_shard::{ShardName, encode, is_plain_name};

use crate::files::check_name;
use crate::store_error::StoreError;

/// Worker name of merged shards; no other worker may use it.
pub(crate) const MERGED: &str = "merged";

/// Worker name of imported shards, which are admitted one at a time; no other worker may use it.
pub(crate) const IMPORTED: &str = "imported";

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
    /// The parsed file name, with creation time, worker and totals.
    pub name: ShardName,
    /// Size of the file in bytes.
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

    /// Whether it replaces other shards, whose games it holds.
    pub fn is_merged(&self) -> bool {
        self.name.worker == MERGED
    }

    /// Whether it counts only once a note in `changes/` names it.
    pub(crate) fn needs_note(&self) -> bool {
        [MERGED, IMPORTED].contains(&self.name.worker.as_str())
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
