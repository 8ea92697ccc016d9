//! The network that self-play uses, and the settings that come with it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use tengen_records::GameRecord;
use tengen_rules::Size;
use tengen_search::{PredictError, Predictor};

/// Creates the predictor of one worker; called in the worker's own thread with the worker's number.
///
/// All workers must get the same network.
pub type PredictorFactory = Arc<dyn Fn(usize) -> Result<Box<dyn Predictor>, PredictError> + Send + Sync>;

/// A network to use from now on, and the settings that come with it.
///
/// Games in flight continue with it. An update with the `model_id` already in use changes only visits and komi: the
/// predictors and the evaluation caches are kept.
#[derive(Clone)]
pub struct ModelUpdate {
    /// The number of the generation, for the names of shards.
    pub generation: u32,
    /// The ID of the model, recorded in the games that begin with it.
    pub model_id: String,
    /// Number of visits in a full search.
    pub visits: u32,
    /// Number of positions of self-play that the store has; decides which boards new games are played on.
    pub positions: u64,
    /// The share of the run's budget that is spent, 0 to 1; with `positions`, decides how much noise searches have.
    pub spent: f64,
    /// The estimated komi at which games from the empty board are even.
    pub fair_komi: FairKomi,
    /// Creates one predictor for each worker.
    pub predictor: PredictorFactory,
}

impl fmt::Debug for ModelUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelUpdate")
            .field("generation", &self.generation)
            .field("model_id", &self.model_id)
            .field("visits", &self.visits)
            .field("positions", &self.positions)
            .field("spent", &self.spent)
            .field("fair_komi", &self.fair_komi)
            .finish_non_exhaustive()
    }
}

/// The fair komi of each board, in points: a running mean of the margins (without komi) of games from the empty board.
///
/// Games with random opening plies are excluded, since they would pull it away from the value of the empty board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, f64>", into = "BTreeMap<String, f64>")]
pub struct FairKomi {
    boards: BTreeMap<Size, f64>,
}

impl FairKomi {
    /// The usual weight of a new game in the running mean, as used for 5x5 and 7x7.
    pub const USUAL_RATE: f64 = 0.01;

    /// A fair komi of 0 on every board.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fair komi of a board in points, that is, Black's expected margin; 0 if unknown.
    pub fn of(&self, size: Size) -> f64 {
        self.boards.get(&size).copied().unwrap_or(0.0)
    }

    /// Sets the fair komi of a board, in points.
    pub fn set(&mut self, size: Size, points: f64) {
        self.boards.insert(size, points);
    }

    /// Moves the mean of a board toward the margin of a game by `rate` times the difference. Returns false for games
    /// that do not count: unfinished ones and those with opening plies.
    pub fn observe(&mut self, game: &GameRecord, rate: f64) -> bool {
        let (Some(score), 0) = (game.score_half_points, game.opening_plies) else {
            return false;
        };
        let margin = f64::from(score + i32::from(game.komi.half_points())) / 2.0;
        let before = self.of(game.size);
        self.set(game.size, before + rate * (margin - before));
        true
    }
}

impl From<FairKomi> for BTreeMap<String, f64> {
    fn from(fair: FairKomi) -> Self {
        fair.boards
            .into_iter()
            .map(|(size, points)| (size.to_string(), points))
            .collect()
    }
}

impl TryFrom<BTreeMap<String, f64>> for FairKomi {
    type Error = String;

    fn try_from(boards: BTreeMap<String, f64>) -> Result<Self, String> {
        let parse = |(size, points): (String, f64)| match size.parse::<Size>() {
            Ok(size) if points.is_finite() => Ok((size, points)),
            Ok(_) => Err(format!("the fair komi of {size} is not a number")),
            Err(error) => Err(format!("`{size}` is not a board: {error}")),
        };
        Ok(Self {
            boards: boards.into_iter().map(parse).collect::<Result<_, String>>()?,
        })
    }
}
