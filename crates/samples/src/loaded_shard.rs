//! One shard on its way into the replay window: read, checked, and unpacked.

use rayon::prelude::*;

use tengen_records::{GameRecord, RecordError};
use tengen_store::{ShardInfo, ShardReadError, Store};

use crate::draws::Draws;
use crate::game_cache::{Attempts, Block, GameCache};
use crate::held_out::{deciding_id, is_held_out};
use crate::lesson::{Census, Lesson, Teaching};
use crate::samples::SampleError;
use crate::stored_game::{Parts, StoredGame};

/// Number of games that are unpacked before their bytes are concatenated.
const UNPACKED_AT_ONCE: usize = 256;

/// The unpacked games of one shard.
pub(crate) struct LoadedShard {
    pub(crate) key: String,
    /// The games to train on.
    pub(crate) games: Vec<StoredGame>,
    /// The games that are never trained on.
    pub(crate) held_out: Vec<StoredGame>,
    /// Positions of all games.
    pub(crate) positions: u64,
    /// How its games are used; empty for a run's own games.
    pub(crate) census: Census,
    pub(crate) block: Block,
}

impl LoadedShard {
    /// Memory in bytes that the shard always takes, even if no sample is drawn from it.
    pub(crate) fn memory_bytes(&self) -> usize {
        let games = self.games.len() + self.held_out.len();
        let index = games * (size_of::<StoredGame>() + Draws::ENTRY_BYTES);
        match &self.block {
            Block::Memory(bytes) => index + bytes.len(),
            Block::Mapped(_) => index,
        }
    }

    /// Size of its scratch file in bytes.
    pub(crate) fn disk_bytes(&self) -> usize {
        match &self.block {
            Block::Memory(_) => 0,
            Block::Mapped(map) => map.len(),
        }
    }
}

/// A shard that has been read.
pub struct ReadShard {
    pub(crate) info: ShardInfo,
    pub(crate) found: Found,
}

/// The outcome of reading a shard.
pub(crate) enum Found {
    /// Its games, unpacked, and their records without the plies.
    Games(LoadedShard, Vec<GameRecord>),
    /// It was damaged and has been quarantined.
    Damage(String),
    /// Nothing: it was pruned.
    Nothing,
}

impl ReadShard {
    /// The shard.
    pub fn info(&self) -> &ShardInfo {
        &self.info
    }

    /// Whether it is intact and still exists.
    pub fn has_games(&self) -> bool {
        matches!(self.found, Found::Games(..))
    }

    /// Why it was quarantined; `None` if it is intact or gone.
    pub fn damage(&self) -> Option<&str> {
        match &self.found {
            Found::Damage(reason) => Some(reason),
            Found::Games(..) | Found::Nothing => None,
        }
    }
}

/// The threads that unpack games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnpackOn {
    /// The calling thread.
    Caller,
    /// All threads of the pool that also builds batches.
    Pool,
}

/// How games are unpacked, and where they are kept.
#[derive(Clone)]
pub(crate) struct Unpacker {
    pub(crate) cache: GameCache,
    pub(crate) parts: Parts,
    /// Share of the games that are never trained on.
    pub(crate) held_out_share: f64,
    /// What games teach; `None` for those of a run's self-play.
    pub(crate) teaching: Option<Teaching>,
}

impl Unpacker {
    /// Reads and checks a shard, then unpacks its games. While there is no space for them, waits as patiently as for
    /// the store.
    ///
    /// # Errors
    /// [`SampleError::Store`] if the store fails, [`SampleError::Cache`] if there is still no space for the games.
    pub(crate) fn read(&self, store: &Store, info: &ShardInfo, on: UnpackOn) -> Result<ReadShard, SampleError> {
        let found = match store.games().read(info) {
            Ok(mut games) => {
                let attempts: Attempts<'_> = &|write| store.files().wait_for_space(write);
                let shard = self.unpack(&info.path, &games, on, attempts)?;
                games.iter_mut().for_each(|game| game.plies = Vec::new());
                Found::Games(shard, games)
            }
            Err(ShardReadError::Quarantined { reason, .. }) => Found::Damage(reason),
            // Pruning has dropped games inside the window.
            Err(ShardReadError::Gone { .. }) => Found::Nothing,
            Err(ShardReadError::Store(error)) => return Err(error.into()),
        };
        Ok(ReadShard {
            info: info.clone(),
            found,
        })
    }

    /// Unpacks the games of a shard, leaving out those that nothing is learned from.
    pub(crate) fn unpack(
        &self,
        key: &str,
        records: &[GameRecord],
        on: UnpackOn,
        attempts: Attempts<'_>,
    ) -> Result<LoadedShard, SampleError> {
        let (mut bytes, mut games, mut held_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut census = Census::default();
        for part in records.chunks(UNPACKED_AT_ONCE) {
            let unpack = |record: &GameRecord| {
                let mut bytes = Vec::new();
                let (game, census) = self.unpack_one(record, &mut bytes)?;
                let is_held_out = is_held_out(&deciding_id(record), self.held_out_share);
                Ok((census, game.map(|game| (game, is_held_out, bytes))))
            };
            let unpacked: Result<Vec<_>, RecordError> = match on {
                UnpackOn::Caller => part.iter().map(unpack).collect(),
                UnpackOn::Pool => part.par_iter().map(unpack).collect(),
            };
            for (counts, unpacked) in unpacked? {
                census = census.plus(counts);
                let Some((game, is_held_out, its_bytes)) = unpacked else {
                    continue;
                };
                let list = if is_held_out { &mut held_out } else { &mut games };
                list.push(game.moved(bytes.len()));
                bytes.extend_from_slice(&its_bytes);
            }
        }
        Ok(LoadedShard {
            key: key.to_owned(),
            positions: games.iter().chain(&held_out).map(|game| game.plies() as u64).sum(),
            games,
            held_out,
            census,
            block: self.cache.keep(bytes, attempts)?,
        })
    }

    /// Unpacks a game if something is learned from it.
    fn unpack_one(
        &self,
        record: &GameRecord,
        bytes: &mut Vec<u8>,
    ) -> Result<(Option<StoredGame>, Census), RecordError> {
        let Some(teaching) = &self.teaching else {
            let lesson = Lesson::of_run(record);
            let game = lesson.map(|lesson| StoredGame::unpack(&lesson, self.parts, bytes));
            return Ok((game.transpose()?.flatten(), Census::default()));
        };
        let lesson = match Lesson::taught(record, teaching) {
            Ok(lesson) => lesson,
            Err(census) => return Ok((None, census)),
        };
        let game = StoredGame::unpack(&lesson, self.parts, bytes)?;
        let census = match game {
            Some(_) => lesson.census(),
            None => Census {
                empty: 1,
                ..Census::default()
            },
        };
        Ok((game, census))
    }
}
