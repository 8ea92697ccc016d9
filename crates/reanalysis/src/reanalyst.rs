//! Draws positions of old games, has them labelled, and publishes the games.

use std::sync::atomic::AtomicBool;

use serde_json::json;

use tengen_label::{LabelError, Teacher, label_games, with_origin};
use tengen_records::{GameRecord, OPENING};
use tengen_rng::{SplitMix64, fold};
use tengen_samples::is_held_out;
use tengen_store::{Admission, Collection, Create, ShardInfo, ShardReadError, Store, StoreError};

use crate::store_in;

/// The collection of reanalyzed games.
const COLLECTION: &str = "reanalysis";

/// Share of the window's shards, the newest ones, that are not reanalyzed because their searches are not old.
const FRESH: f64 = 0.25;

/// Maximum number of shards to read for one round.
const MOST_SHARDS: usize = 16;

/// Why old games could not be reanalyzed.
#[derive(Debug, thiserror::Error)]
pub enum ReanalysisError {
    /// The network failed, or a game breaks its rules.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which positions of old games are searched again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Share of a game's positions, above 0 and at most 1: the share that self-play searches with all visits, so that
    /// training uses reanalyzed games as densely.
    pub density: f64,
    /// Positions after a search with a value beyond this, from either side, count as decided and are left out.
    pub decided_value: f32,
    /// Share of the games that is never trained on.
    pub held_out: f64,
    /// Seed of all draws. It should differ from process to process.
    pub seed: u64,
}

/// Reanalyzes old games, round by round.
pub struct Reanalyst {
    run: Store,
    admission: Admission,
    choice: Choice,
    rounds: u64,
}

/// What one round has done.
#[derive(Clone, Debug)]
pub struct Round {
    /// The shard with the reanalyzed games; `None` if the store already had all of them.
    pub shard: Option<ShardInfo>,
    /// Positions searched again.
    pub rows: u64,
    /// Evaluations of the network.
    pub evaluations: u64,
}

impl Reanalyst {
    /// A reanalyst of a run's games.
    ///
    /// # Errors
    /// If a store cannot be opened or read.
    pub fn open(run: &Store, choice: Choice) -> Result<Reanalyst, StoreError> {
        let mut admission = Admission::new(&store_in(run, Create::Always)?)?;
        admission.resolve_strays()?;
        Ok(Reanalyst {
            run: run.clone(),
            admission,
            choice,
            rounds: 0,
        })
    }

    /// Searches about `wanted` positions again, in games from the older part of the window, and publishes the games.
    /// `None` if there is nothing to reanalyze, or if `stop` is set before the round is done.
    ///
    /// # Errors
    /// [`ReanalysisError`]. Shards that are damaged or gone are skipped.
    pub fn round(
        &mut self,
        window: &[ShardInfo],
        wanted: u64,
        teacher: &Teacher,
        stop: &AtomicBool,
    ) -> Result<Option<Round>, ReanalysisError> {
        let number = self.rounds;
        self.rounds += 1;
        let seed = fold(self.choice.seed, &[number]);
        let games = self.draw(window, wanted, &mut SplitMix64::new(seed))?;
        if games.is_empty() {
            return Ok(None);
        }
        let choice = json!({ "density": self.choice.density, "seed": seed });
        let Some(mut labelled) = label_games(games, &choice, seed, teacher, stop)? else {
            return Ok(None);
        };
        let collection = Collection::Import {
            name: COLLECTION.to_owned(),
        };
        let shard = self.admission.admit(&collection, number, &mut labelled.games)?;
        Ok(Some(Round {
            shard,
            rows: labelled.positions,
            evaluations: labelled.evaluations,
        }))
    }

    /// Random games from random shards of the older part of the window, with the plies to label.
    fn draw(
        &self,
        window: &[ShardInfo],
        wanted: u64,
        random: &mut SplitMix64,
    ) -> Result<Vec<(GameRecord, Vec<usize>)>, ReanalysisError> {
        let old = &window[..(window.len() as f64 * (1.0 - FRESH)) as usize];
        let (mut drawn, mut rows) = (Vec::new(), 0);
        for _ in 0..MOST_SHARDS {
            if old.is_empty() || rows >= wanted {
                break;
            }
            let shard = &old[random.below(old.len() as u64) as usize];
            let mut games: Vec<(u32, GameRecord)> = match self.run.games().read(shard) {
                Ok(games) => (1..).zip(games).collect(),
                Err(ShardReadError::Store(error)) => return Err(error.into()),
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => continue,
            };
            while rows < wanted && !games.is_empty() {
                let (number, game) = games.swap_remove(random.below(games.len() as u64) as usize);
                let is_new = |(other, _): &(GameRecord, Vec<usize>)| other.game_id != game.game_id;
                let plies = self.choice.plies(&game, random);
                if !plies.is_empty() && drawn.iter().all(is_new) {
                    rows += plies.len() as u64;
                    drawn.push((with_origin(game, &shard.path, number), plies));
                }
            }
        }
        Ok(drawn)
    }
}

impl Choice {
    /// The plies of a game to label, in order: none of a game that is held out or has no result.
    fn plies(&self, game: &GameRecord, random: &mut SplitMix64) -> Vec<usize> {
        if !game.is_finished() || is_held_out(&game.game_id, self.held_out) {
            return Vec::new();
        }
        let opening = usize::from(game.opening_plies);
        let is_open = |ply: usize| {
            let decided = ply > opening && game.plies[ply - 1].root_value.abs() > self.decided_value;
            !decided && !game.plies[ply].has(OPENING)
        };
        let end = (self.density.clamp(0.0, 1.0) * 2f64.powi(32)) as u64;
        let mut is_drawn = |_: &usize| random.bits() >> 32 < end;
        (opening..game.plies.len())
            .filter(|&ply| is_open(ply))
            .filter(|ply| is_drawn(ply))
            .collect()
    }
}
