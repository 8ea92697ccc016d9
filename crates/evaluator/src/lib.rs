//! Measures who is stronger, by how much, and how certain that is.
//!
//! - [`PlayerSpec`] describes a player in one line of text, and [`build_player`] turns it into a [`Player`]: a network
//!   with a search, a tree search over random games, the random player, or any engine that speaks GTP.
//! - [`run_match`] plays two players against each other from paired openings with colors swapped, many games in
//!   parallel, under our own referee.
//! - [`MatchResult`] holds every number of a match: [`EloEstimate`] with its interval, [`Pentanomial`] counts,
//!   [`ConfidenceSequence`], and [`Sprt`].
//! - [`rate_pool`] rates many players together; [`GateVerdict`] says whether a candidate replaces the champion.
//!
//! This crate never uses a network library (models come in through [`PredictorLoader`]), reads or writes files, prints,
//! or puts clock times into results. The same seed and players give the same match.

mod book;
mod build;
mod elo;
mod finished_game;
mod game;
mod gate;
mod gtp_player;
mod linear;
mod mcts_player;
mod null_as_nan;
mod openings;
mod pentanomial;
mod play;
mod player;
mod random_player;
mod rating;
mod result;
mod search_player;
mod sequence;
mod settings;
mod spec;
mod sprt;

pub use book::Book;
pub use build::{LoadedModel, ModelSource, NoModels, PredictorLoader, build_player, build_player_until, search_config};
pub use elo::{EloEstimate, elo_of_score, likelihood_of_superiority, score_of_elo};
pub use finished_game::{FaultReport, FinishedGame, GameScore, GameSummary, Side};
pub use gate::{AtLimit, Decision, GateConfig, GateReason, GateVerdict, OlderMatch};
pub use gtp_player::GtpPlayer;
pub use mcts_player::MctsPlayer;
pub use openings::{Openings, ParseOpeningsError, distinct_first_moves};
pub use pentanomial::Pentanomial;
pub use play::{MatchError, MatchEvent, Observer, continue_match, known_match, run_match};
pub use player::{
    Answer, Choice, EngineReport, Fault, FaultKind, Player, PlayerCost, PlayerError, SearchSummary, Turn,
};
pub use random_player::RandomPlayer;
pub use rating::{PoolConfig, PoolError, PoolGames, PoolRating, PoolRatings, rate_pool};
pub use result::{MatchResult, WinTieLoss};
pub use search_player::{SearchPlayer, Temperature};
pub use sequence::ConfidenceSequence;
pub use settings::{AColor, MatchConfig, MatchContext, Refusal};
pub use spec::{MOST_LEAVES, PlayerKind, PlayerOptions, PlayerSpec, SpecError};
pub use sprt::{Sprt, SprtConfig, SprtState};
