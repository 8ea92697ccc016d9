//! Finds good moves: Gumbel search with few visits, PUCT with many, over the predictions of a network.
//!
//! The crate holds the [`Predictor`] trait through which a network is asked, the search of one position
//! ([`Search`]), the driver that lets many searches share each call of the network ([`Lockstep`]), the evaluation
//! cache, and predictors without a network.
//!
//! The method is that of Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel"
//! (2022): candidates at the root by Gumbel top-k, sequential halving, completed values for moves without a visit; or, by
//! setting, PUCT, which can go on at any time. The tree below a move that is played can be kept ([`Search::follow`]).
//! A pass after a pass ends the game inside the search and is scored exactly.
//!
//! Deliberately absent: files, any network library, and, outside [`bench_search`], threads and clocks.

mod bench;
mod cache;
mod config;
mod finish;
mod frame;
mod lockstep;
mod numeric;
mod ownership;
mod predictor;
mod puct;
mod result;
mod root;
mod search;
mod select;
mod stand_ins;
mod tree;

pub use bench::{SearchBench, SearchBenchReport, bench_search};
pub use cache::EvaluationCache;
pub use config::{SearchConfig, SearchMethod};
pub use finish::{finishing_move, playout_ownership};
pub use lockstep::{Batch, Lockstep, LockstepStats, Round, canvas_of};
pub use predictor::{PredictError, Prediction, Predictions, Predictor};
pub use puct::RootMoves;
pub use result::{Candidate, SearchResult};
pub use search::{Request, Search, Step};
pub use stand_ins::{ScriptedPredictor, UniformPredictor};
