//! The network that self-play uses, and the settings that come with it.

use std::fmt;
use std::sync::Arc;

use tengen_search::{PredictError, Predictor};

use crate::fair_komi::FairKomi;

/// Creates the predictor of one worker; called in the worker's own thread with the worker's number.
///
/// All workers must get the same network.
pub type PredictorFactory = Arc<dyn Fn(usize) -> Result<Box<dyn Predictor>, PredictError> + Send + Sync>;

/// A network to use from now on, and the settings that come with it.
///
/// Games in flight continue with it. An update with the current `model_id` changes all but the network: the
/// predictors and evaluation caches are kept.
#[derive(Clone)]
pub struct ModelUpdate {
    /// The number of the generation, for the names of shards.
    pub generation: u32,
    /// The ID of the model, recorded in the games that begin with it.
    pub model_id: String,
    /// Number of visits in a full search.
    pub visits: u32,
    /// The number of self-play positions in the store; decides which boards new games are played on.
    pub positions: u64,
    /// The spent share of the run's budget, 0 to 1; with `positions`, decides how much noise searches have.
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
