//! Shows a few games or positions of a store, drawn the same way as for a dataset.

use tengen_records::GameRecord;
use tengen_store::{ShardInfo, Store};

use super::choose::choose;
use super::error::DatasetError;
use super::filter::DatasetFilter;
use super::options::What;
use super::scan::{ExportProgress, scan, shards_for};

/// A game that was drawn, or from which positions were drawn.
#[derive(Debug)]
pub struct Sampled<'a> {
    /// The record of the game.
    pub game: &'a GameRecord,
    /// The shard that contains the game.
    pub shard: &'a ShardInfo,
    /// The plies of the drawn positions, ascending; empty if games were drawn.
    pub plies: &'a [usize],
}

/// Draws `count` games or positions uniformly and without replacement among those that pass the filter, and shows
/// them in store order. They are the same that [`export`](super::export::export) takes with that count and filter.
/// `watch` receives the progress and returns whether to continue.
///
/// # Errors
/// [`DatasetError::NoGames`], [`DatasetError::NothingMatches`], [`DatasetError::Stopped`], [`DatasetError::Store`].
pub fn sample(
    store: &Store,
    (what, count): (What, u64),
    filter: &DatasetFilter,
    watch: &mut dyn FnMut(ExportProgress) -> bool,
    show: &mut dyn FnMut(Sampled<'_>),
) -> Result<(), DatasetError> {
    let shards = shards_for(store, filter)?;
    let mut progress = ExportProgress {
        all_positions: shards.iter().map(ShardInfo::positions).sum(),
        ..ExportProgress::default()
    };
    let (chosen, read) = choose(store, &shards, filter, (what, count), &mut |positions| {
        progress.positions = positions;
        watch(progress)
    })?;
    if chosen.is_empty() {
        return Err(read.nothing_matches());
    }
    let wanted: Vec<_> = chosen.keys().map(|&number| (number, &shards[number])).collect();
    scan(store, &wanted, |number, games| {
        for (&game, plies) in &chosen[&number] {
            show(Sampled {
                game: &games[game],
                shard: &shards[number],
                plies,
            });
        }
        Ok(())
    })?;
    Ok(())
}
