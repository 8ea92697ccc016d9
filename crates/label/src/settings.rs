//! Which positions are labelled, and how they are searched.

use serde::Serialize;

use tengen_datasets::{DatasetFilter, PositionFilter};
use tengen_evaluator::{PlayerOptions, search_config};
use tengen_records::{GameRecord, OPENING};
use tengen_search::{SearchConfig, SearchMethod};

/// Which positions of a game are labelled. This is part of the identity of labelled games: a different choice gives
/// different games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PositionChoice {
    /// Label only every n-th of a game's positions that pass the filters, 1 or more.
    pub every: u32,
    /// Only positions that were searched with the full number of visits.
    pub full_search: bool,
    /// Share of the positions, above 0 and at most 1, drawn by hash.
    pub fraction: f64,
    /// Seed of that draw, and of the searches.
    pub seed: u64,
    /// Which positions of a game.
    #[serde(flatten)]
    pub positions: PositionFilter,
}

impl PositionChoice {
    /// The choice that these filters make, with only every n-th of the positions.
    pub fn new(filter: &DatasetFilter, every: u32) -> PositionChoice {
        PositionChoice {
            every,
            full_search: filter.full_search_only,
            fraction: filter.fraction,
            seed: filter.seed,
            positions: filter.positions,
        }
    }

    /// The plies of a game to label, in order. Leaves out the plies of the opening, which nobody chose.
    pub(crate) fn plies(&self, filter: &DatasetFilter, game: &GameRecord) -> Vec<usize> {
        let played = |ply: &usize| *ply >= usize::from(game.opening_plies) && !game.plies[*ply].has(OPENING);
        let plies = filter.plies_of(game).into_iter().filter(played);
        plies.step_by(self.every.max(1) as usize).collect()
    }
}

/// The search of a network teacher with these player options: without noise unless they ask for it.
///
/// # Errors
/// A sentence about an option that does not concern a search, or a setting out of range.
pub fn network_search(options: &PlayerOptions, visits: u32) -> Result<SearchConfig, String> {
    let search = PlayerOptions {
        method: options.method,
        candidates: options.candidates,
        noise: options.noise,
        c_scale: options.c_scale,
        lcb: options.lcb,
        margin_share: options.margin_share,
        ..PlayerOptions::default()
    };
    if *options != search {
        return Err(
            "a teacher's options are method, candidates, noise, c_scale, lcb, and margin_share; --visits sets visits"
                .to_owned(),
        );
    }
    let config = search_config(options, visits, SearchMethod::default(), false);
    config.validate().map_err(|error| error.to_string())?;
    Ok(config)
}
