//! Draws N games or positions from a store: those with the smallest hashes, which is uniform and takes one pass.

use std::collections::{BTreeMap, BinaryHeap};

use tengen_store::{ShardInfo, Store};

use super::distinct::{Seen, game_key};
use super::error::DatasetError;
use super::filter::{DatasetFilter, draw};
use super::options::What;
use super::plies::taken_plies;
use super::scan::{Read, scan};

/// Chosen games by shard number and number in the shard, each with its chosen plies; empty for a whole game.
pub(crate) type Chosen = BTreeMap<usize, BTreeMap<usize, Vec<usize>>>;

/// Draws `count` games or positions without replacement, uniformly among those that pass the filter, or all if there
/// are fewer. `watch` receives the positions read so far and returns whether to continue.
///
/// # Errors
/// [`DatasetError::Store`], [`DatasetError::Stopped`].
pub(crate) fn choose(
    store: &Store,
    shards: &[ShardInfo],
    filter: &DatasetFilter,
    (what, count): (What, u64),
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<(Chosen, Read), DatasetError> {
    let mut heap = BinaryHeap::new();
    let mut offer = |entry: (u64, usize, usize, Option<usize>)| {
        heap.push(entry);
        if heap.len() as u64 > count {
            heap.pop();
        }
    };
    let all: Vec<_> = shards.iter().enumerate().collect();
    let mut positions = 0;
    let (mut seen, mut doubled) = (Seen::default(), 0);
    let mut read = scan(store, &all, |shard, games| {
        for (number, game) in games.iter().enumerate() {
            if !seen.insert(game_key(&game.game_id)) {
                doubled += 1;
                continue;
            }
            if !filter.takes_game(game) {
                continue;
            }
            match what {
                What::Games if filter.draws(&game.game_id, None) => {
                    offer((draw("choose", filter.seed, &game.game_id, None), shard, number, None));
                }
                What::Games => {}
                What::Positions => taken_plies(filter, game).into_iter().for_each(|ply| {
                    let draw = draw("choose", filter.seed, &game.game_id, Some(ply));
                    offer((draw, shard, number, Some(ply)));
                }),
            }
        }
        positions += shards[shard].positions();
        if watch(positions) {
            Ok(())
        } else {
            Err(DatasetError::Stopped)
        }
    })?;
    read.doubled = doubled;
    let mut chosen = Chosen::new();
    for (_, shard, number, ply) in heap {
        let plies = chosen.entry(shard).or_default().entry(number).or_default();
        plies.extend(ply);
    }
    chosen
        .values_mut()
        .flat_map(BTreeMap::values_mut)
        .for_each(|plies| plies.sort_unstable());
    Ok((chosen, read))
}
