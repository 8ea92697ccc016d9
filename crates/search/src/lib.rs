//! Searches for good moves using a network's predictions: Gumbel search for few visits, PUCT for many.
//!
//! The crate contains the [`Predictor`] trait, the interface to networks; the search of one position ([`Search`]); the
//! driver that lets many searches share each network call ([`Lockstep`]); the server that lets many threads share a
//! device ([`PredictionServer`]); the search of a whole game within limits on time and memory ([`GameSearch`]); the
//! evaluation cache; and predictors that need no network.
//!
//! The default method follows Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel"
//! (2022): root candidates from Gumbel top-k, sequential halving, and completed values for unvisited moves. The
//! alternative is PUCT, which can be extended at any time. The subtree below a move can be kept after the move is
//! played ([`Search::follow`]). A pass after a pass ends the game within the search and is scored exactly.
//!
//! Deliberately absent: file access, network libraries, threads except in [`PredictionServer`], [`ParallelPredictor`],
//! and benchmarks, and clocks except in servers, benchmarks, [`GameSearch`], and [`SimulatedDevice`].

mod bench;
mod cache;
mod config;
mod finish;
mod frame;
mod game_search;
mod lockstep;
mod method;
mod numeric;
mod ownership;
mod parallel;
mod predictor;
mod raw_bench;
mod result;
mod search;
mod server;
mod simulated;
mod stand_ins;
mod tree;

pub use bench::{SearchBench, SearchBenchReport, bench_search};
pub use cache::EvaluationCache;
pub use config::SearchConfig;
pub use finish::{finishing_move, playout_ownership};
pub use game_search::{GameSearch, PONDER_BYTES, Stop, TREE_BYTES};
pub use lockstep::{Batch, Lockstep, LockstepStats, Round, canvas_of};
pub use method::{RootMoves, SearchMethod};
pub use parallel::ParallelPredictor;
pub use predictor::{Job, PredictError, Prediction, Predictions, Predictor};
pub use raw_bench::{BatchSpeed, random_inputs, raw_inference};
pub use result::{Candidate, SearchResult};
pub use search::{Request, Search, Step};
pub use server::{Client, PredictionServer, ServedNetwork, ServerSetup, ServerStats, WeakNetwork};
pub use simulated::SimulatedDevice;
pub use stand_ins::{ScriptedPredictor, UniformPredictor};
