//! What the board needs of an engine: the analysis of one position.

use tengen_rules::{Komi, Move, Position};
use tengen_search::{GameSearch, Predictor, Stop};

/// Analyzes positions with one model.
pub trait Analyst {
    /// Searches a position, in which the game must not be over, with this many visits. Ends early with the visits made
    /// so far when `stop` returns true.
    ///
    /// # Errors
    /// A sentence if the position cannot be evaluated.
    fn analyze(
        &mut self,
        position: &Position,
        komi: Komi,
        visits: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<Analysis, String>;
}

/// What a search found. Everything is from the viewpoint of the side to move.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The move to play.
    pub best: Move,
    /// Visits of the search.
    pub visits: u32,
    /// Probability to win, 0 to 1; a tie counts half.
    pub winrate: f32,
    /// Expected margin after komi, in points.
    pub score: f32,
    /// All legal moves, beginning with the move to play.
    pub moves: Vec<AnalyzedMove>,
    /// Expected owner of every point in reading order, -1 (opponent) to 1 (side to move); `None` if the network does
    /// not predict it.
    pub ownership: Option<Vec<f32>>,
}

/// What a search found about a move, from the viewpoint of the side that plays it.
#[derive(Clone, Debug)]
pub struct AnalyzedMove {
    /// The move.
    pub mv: Move,
    /// Visits of the move.
    pub visits: u32,
    /// Probability to win after it, 0 to 1.
    pub winrate: f32,
    /// Expected margin after it and after komi, in points.
    pub score: f32,
    /// The network's probability for the move, 0 to 1.
    pub prior: f32,
    /// The expected continuation, beginning with the move.
    pub pv: Vec<Move>,
}

/// An analyst that searches with the predictions of a network.
pub struct SearchAnalyst {
    predictor: Box<dyn Predictor>,
    search: GameSearch,
}

impl SearchAnalyst {
    /// An analyst that evaluates up to `leaves` leaves of the tree in one call of the network; 1 or more.
    pub fn new(predictor: Box<dyn Predictor>, leaves: usize) -> SearchAnalyst {
        SearchAnalyst {
            predictor,
            search: GameSearch::new(leaves),
        }
    }
}

impl Analyst for SearchAnalyst {
    fn analyze(
        &mut self,
        position: &Position,
        komi: Komi,
        visits: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<Analysis, String> {
        let limit = Stop { visits, at: None };
        let search = self
            .search
            .search(self.predictor.as_mut(), (position, komi), limit, &mut |_| stop())
            .map_err(|error| format!("the position could not be evaluated: {error}"))?;
        let result = search.result();
        let moves = search.candidates().into_iter().map(|candidate| AnalyzedMove {
            mv: candidate.mv,
            visits: candidate.visits,
            winrate: winrate(candidate.value),
            score: candidate.margin,
            prior: candidate.prior,
            pv: candidate.pv,
        });
        Ok(Analysis {
            best: result.best,
            visits: result.total_visits,
            winrate: winrate(result.mean_value),
            score: result.margin,
            moves: moves.collect(),
            ownership: result.ownership,
        })
    }
}

/// Turns P(win) - P(loss) into a probability; a tie counts half.
fn winrate(value: f32) -> f32 {
    (1.0 + value) / 2.0
}
