//! The games of a store, newest first, a page at a time, and single games by their shard and number.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;

use tengen_records::{GameKind, GameRecord};
use tengen_store::{GamesOf, ShardInfo, ShardReadError, Store};

use crate::problem::Problem;

/// The most shards whose games stay in memory.
const MOST_SHARDS: usize = 8;

/// The games of the shards that were read last, the newest last.
#[derive(Default)]
pub(crate) struct ShardCache(Mutex<VecDeque<(String, Arc<Vec<GameRecord>>)>>);

impl ShardCache {
    /// The games of a shard in their order in the file.
    fn games(&self, store: &Store, shard: &ShardInfo) -> Result<Arc<Vec<GameRecord>>, Problem> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, games)) = kept().iter().find(|(path, _)| *path == shard.path) {
            return Ok(Arc::clone(games));
        }
        let games = Arc::new(store.games().read(shard).map_err(unreadable)?);
        let mut kept = kept();
        kept.push_back((shard.path.clone(), Arc::clone(&games)));
        while kept.len() > MOST_SHARDS {
            kept.pop_front();
        }
        Ok(games)
    }
}

fn unreadable(error: ShardReadError) -> Problem {
    match error {
        ShardReadError::Gone { .. } => Problem::new(StatusCode::GONE, error.to_string()),
        _ => Problem::unavailable(error.to_string()),
    }
}

/// A game and its place in the store.
pub(crate) struct Listed {
    /// The name of its shard.
    pub(crate) shard: String,
    /// Its number in the shard, counted from 1.
    pub(crate) number: usize,
    /// The shard's games.
    games: Arc<Vec<GameRecord>>,
}

impl Listed {
    pub(crate) fn record(&self) -> &GameRecord {
        &self.games[self.number - 1]
    }
}

/// One page of the list of games.
pub(crate) struct GamesPage {
    /// The games, newest first.
    pub(crate) games: Vec<Listed>,
    /// Number of games in the whole list.
    pub(crate) total: u64,
    /// What could not be read, as sentences.
    pub(crate) problems: Vec<String>,
}

/// The shards of games of one kind, or of all, newest first.
fn shards(store: &Store, kind: Option<GameKind>) -> Result<Vec<ShardInfo>, Problem> {
    let mut shards = store.games().list_shards(&GamesOf::All)?;
    shards.retain(|shard| kind.is_none_or(|kind| shard.collection.kind() == kind));
    shards.sort_by(|a, b| {
        Reverse(a.name.created_ms)
            .cmp(&Reverse(b.name.created_ms))
            .then_with(|| b.order().cmp(&a.order()))
    });
    Ok(shards)
}

/// Games `first` to `first + count - 1` of the list, counted from 0.
pub(crate) fn page(
    (store, cache): (&Store, &ShardCache),
    kind: Option<GameKind>,
    first: u64,
    count: u64,
) -> Result<GamesPage, Problem> {
    let mut page = GamesPage {
        games: Vec::new(),
        total: 0,
        problems: Vec::new(),
    };
    for shard in shards(store, kind)? {
        let before = page.total;
        page.total += shard.games();
        let from = first.saturating_sub(before).min(shard.games());
        let to = (first + count).saturating_sub(before).min(shard.games());
        if from >= to {
            continue;
        }
        match cache.games(store, &shard) {
            Ok(games) => {
                let newest_first = (from..to).map(|place| shard.games() - place);
                page.games.extend(newest_first.map(|number| Listed {
                    shard: shard.name.to_string(),
                    number: number as usize,
                    games: Arc::clone(&games),
                }));
            }
            Err(problem) => page.problems.push(problem.sentence),
        }
    }
    Ok(page)
}

/// A game and its neighbors in the list.
pub(crate) struct Found {
    pub(crate) game: Listed,
    /// Shard and number of the next older and the next newer game of the same kind.
    pub(crate) older: Option<(String, u64)>,
    pub(crate) newer: Option<(String, u64)>,
}

/// The game with this number in the shard of this name.
pub(crate) fn find((store, cache): (&Store, &ShardCache), name: &str, number: usize) -> Result<Found, Problem> {
    let all = shards(store, None)?;
    let shard = all.iter().find(|shard| shard.name.to_string() == name).ok_or_else(|| {
        Problem::missing(format!(
            "there are no games {name:?} in this store; they may have been merged or pruned, so look for them in the \
             list"
        ))
    })?;
    let games = cache.games(store, shard)?;
    if number == 0 || number > games.len() {
        let last = games.len();
        return Err(Problem::missing(format!(
            "these games have numbers from 1 to {last}, not {number}"
        )));
    }
    let kind = shard.collection.kind();
    let same: Vec<&ShardInfo> = all.iter().filter(|other| other.collection.kind() == kind).collect();
    let place = same
        .iter()
        .position(|other| other.path == shard.path)
        .unwrap_or_default();
    let number = number as u64;
    let at = |shard: &&ShardInfo, number| (shard.name.to_string(), number);
    let older = match number {
        1 => same.get(place + 1).map(|shard| at(shard, shard.games())),
        _ => Some((name.to_owned(), number - 1)),
    };
    let newer = match number == games.len() as u64 {
        true => place
            .checked_sub(1)
            .and_then(|place| same.get(place))
            .map(|shard| at(shard, 1)),
        false => Some((name.to_owned(), number + 1)),
    };
    Ok(Found {
        game: Listed {
            shard: name.to_owned(),
            number: number as usize,
            games,
        },
        older,
        newer,
    })
}
