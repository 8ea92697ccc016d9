//! Reads all games of a store with little memory: a few shards at a time, in order, read in parallel.

use std::collections::BTreeSet;

use rayon::prelude::*;

use tengen_records::GameRecord;
use tengen_store::{GamesOf, ShardInfo, ShardReadError, Store};

use super::error::DatasetError;
use super::filter::DatasetFilter;
use super::held::Held;

/// Maximum number of shards in memory at once; [`GROUP_BYTES`] may stop earlier.
const GROUP_SHARDS: usize = 64;
/// Size on disk in bytes after which no further shard is added to a group.
const GROUP_BYTES: u64 = 4 << 20;

/// Why a shard that existed at the start is skipped.
const PRUNED: &str = "it was pruned in the meantime";

/// Progress of an export.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportProgress {
    /// Positions read so far, including those left out.
    pub positions: u64,
    /// Positions in all shards to be read.
    pub all_positions: u64,
    /// Rows written so far.
    pub rows: u64,
}

/// Counts of what was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    pub(crate) games: u64,
    pub(crate) positions: u64,
    /// Games left out because an earlier shard holds a game with the same id.
    pub(crate) doubled: u64,
    /// Paths of skipped shards with the reasons.
    pub(crate) damaged: Vec<(String, String)>,
    held: Held,
}

impl Read {
    /// The error that nothing read passes the filters.
    pub(crate) fn nothing_matches(&self) -> DatasetError {
        DatasetError::NothingMatches {
            games: self.games,
            positions: self.positions,
            held: self.held.in_words(),
        }
    }
}

/// The shards that may contain games passing the filter, oldest first.
///
/// # Errors
/// [`DatasetError::NoGames`] if the store has no shards of these games, [`DatasetError::NoGenerations`] if it has them
/// only of other generations; [`DatasetError::Store`].
pub(crate) fn shards_for(store: &Store, filter: &DatasetFilter) -> Result<Vec<ShardInfo>, DatasetError> {
    let mut shards = store.games().list_shards(&filter.games)?;
    if shards.is_empty() {
        return Err(DatasetError::NoGames {
            location: store.location().to_owned(),
            games: match &filter.games {
                GamesOf::SelfPlay => "self-play games".to_owned(),
                GamesOf::Imported => "imported games".to_owned(),
                GamesOf::All => "games".to_owned(),
                GamesOf::Match(id) => format!("games of a match {id}"),
            },
        });
    }
    let generations: BTreeSet<u32> = shards.iter().map(ShardInfo::generation).collect();
    shards.retain(|shard| filter.takes_shard(shard));
    match (filter.generations, generations.first(), generations.last()) {
        (Some(requested), Some(&first), Some(&last)) if shards.is_empty() => Err(DatasetError::NoGenerations {
            location: store.location().to_owned(),
            requested,
            held: (first, last),
        }),
        _ => Ok(shards),
    }
}

/// Reads shards in order and passes the number and games of each to `take`, which returns whether to continue.
///
/// # Errors
/// [`DatasetError::Store`] if the store fails, and any error from `take`. Damaged shards are noted in the result.
pub(crate) fn scan(
    store: &Store,
    shards: &[(usize, &ShardInfo)],
    mut take: impl FnMut(usize, Vec<GameRecord>) -> Result<(), DatasetError>,
) -> Result<Read, DatasetError> {
    let mut read = Read::default();
    let mut rest = shards;
    while !rest.is_empty() {
        let (group, later) = rest.split_at(group_length(rest));
        rest = later;
        let games: Vec<_> = group.par_iter().map(|(_, shard)| store.games().read(shard)).collect();
        for (&(number, shard), games) in group.iter().zip(games) {
            match games {
                Ok(games) => {
                    read.games += games.len() as u64;
                    read.positions += shard.positions();
                    games.iter().for_each(|game| read.held.note(game));
                    take(number, games)?;
                }
                Err(ShardReadError::Quarantined { shard, reason }) => read.damaged.push((shard, reason)),
                Err(ShardReadError::Gone { shard }) => read.damaged.push((shard, PRUNED.to_owned())),
                Err(ShardReadError::Store(error)) => return Err(error.into()),
            }
        }
    }
    Ok(read)
}

fn group_length(shards: &[(usize, &ShardInfo)]) -> usize {
    let mut bytes = 0;
    let fits = |(_, shard): &&(usize, &ShardInfo)| {
        let fits = bytes < GROUP_BYTES;
        bytes += shard.bytes;
        fits
    };
    shards.iter().take(GROUP_SHARDS).take_while(fits).count()
}
