//! Which positions of a game a dataset takes: by their place in the game, by their search, at random.

use serde::Serialize;

use tengen_records::{FULL_SEARCH, GameRecord, PlyRecord};

use super::filter::{DatasetFilter, draw};

/// Conditions on positions within their games. `None` sets no condition; all conditions must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PositionFilter {
    /// First and last ply to take; 0 is the start of the game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plies: Option<(u32, u32)>,
    /// The part of each game to take, as shares of its length: from the first, inclusive, to the second, exclusive;
    /// 0 is the start and 1 the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<(f64, f64)>,
    /// Only searched positions whose search changed the network's value by at least this much, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surprise: Option<f64>,
    /// At most this many positions of each game, drawn at random from those that meet all other conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_game: Option<u32>,
}

impl PositionFilter {
    /// Whether there is any condition.
    pub fn is_set(&self) -> bool {
        *self != PositionFilter::default()
    }

    /// Whether a position passes all conditions but the last, which concerns the game as a whole.
    fn takes(&self, game: &GameRecord, ply: usize) -> bool {
        let place = ply as f64 / game.plies.len() as f64;
        self.plies
            .is_none_or(|(first, last)| (first as usize..=last as usize).contains(&ply))
            && self.phase.is_none_or(|(from, to)| (from..to).contains(&place))
            && self
                .surprise
                .is_none_or(|least| surprise(&game.plies[ply]).is_some_and(|change| change >= least))
    }
}

/// How much the search changed the network's value; `None` without a search.
fn surprise(ply: &PlyRecord) -> Option<f64> {
    (ply.root_visits > 0).then(|| f64::from((ply.root_value - ply.network_value).abs()))
}

/// Whether the first search of a game found it about even: a value of at most `most` from either side. False without a
/// search.
pub(crate) fn is_balanced(game: &GameRecord, most: f64) -> bool {
    let first = game.plies.iter().find(|ply| ply.root_visits > 0);
    first.is_some_and(|ply| f64::from(ply.root_value.abs()) <= most)
}

/// The plies of a game whose positions pass the filter, in order.
pub(crate) fn taken_plies(filter: &DatasetFilter, game: &GameRecord) -> Vec<usize> {
    let taken = |ply: &usize| {
        (!filter.full_search_only || game.plies[*ply].has(FULL_SEARCH))
            && filter.positions.takes(game, *ply)
            && filter.draws(&game.game_id, Some(*ply))
    };
    let mut plies: Vec<usize> = (0..game.plies.len()).filter(taken).collect();
    if let Some(most) = filter.positions.per_game {
        plies.sort_by_cached_key(|&ply| draw("per game", filter.seed, &game.game_id, Some(ply)));
        plies.truncate(most as usize);
        plies.sort_unstable();
    }
    plies
}
