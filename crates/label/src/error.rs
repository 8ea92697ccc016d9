//! How labelling can fail.

use tengen_gtp::{CommandLineError, ControllerError};
use tengen_import::SourceError;
use tengen_records::RecordError;
use tengen_search::PredictError;
use tengen_store::StoreError;

/// Why positions could not be labelled. What was published before stays, and the next start continues there.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// A store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of games could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store of labelled games is also a source.
    #[error("{0} cannot be labelled into itself: name another store with --into")]
    IntoItself(String),
    /// No game has a position to label.
    #[error("no position passes the filters among {games} games of {sources}; --of says which games of a store count")]
    NothingToLabel {
        /// The games that were read.
        games: u64,
        /// Where they were read from.
        sources: String,
    },
    /// The network failed.
    #[error("the teacher failed: {0}")]
    Predict(#[from] PredictError),
    /// The command line of an engine cannot be split.
    #[error(transparent)]
    CommandLine(#[from] CommandLineError),
    /// The engine crashed, could not be started, or wrote something that is not JSON.
    #[error(transparent)]
    Engine(#[from] ControllerError),
    /// The engine rejected a query.
    #[error("the engine rejected a position of game {game}, ply {ply}: {message}")]
    Rejected {
        /// The game's id in its source.
        game: String,
        /// The ply, counted from 0.
        ply: usize,
        /// What the engine said.
        message: String,
    },
    /// The engine's answer lacks something.
    #[error("the engine's answer about game {game}, ply {ply}: expected {expected}, found {found}")]
    Answer {
        /// The game's id in its source.
        game: String,
        /// The ply, counted from 0.
        ply: usize,
        /// What the protocol promises.
        expected: &'static str,
        /// The part of the answer in question, shortened.
        found: String,
    },
    /// The protocol cannot describe a game.
    #[error("game {game} cannot be sent to an engine: {reason}; leave it out with the filters")]
    Inexpressible {
        /// The game's id in its source.
        game: String,
        /// What the protocol lacks.
        reason: &'static str,
    },
    /// The engine refused many games and labelled none.
    #[error("the engine labelled none of {games} games; {first}")]
    NothingAnswered {
        /// Games left out.
        games: u64,
        /// Why the first of them was left out.
        first: String,
    },
    /// A labelled game contradicts itself.
    #[error("the labels of game {game} are invalid: {error}")]
    Invalid {
        /// The game's id in its source.
        game: String,
        /// The contradiction.
        error: RecordError,
    },
    /// A thread of the teacher ended early.
    #[error("a thread of the teacher ended without saying why")]
    ThreadEnded,
}

impl LabelError {
    /// Whether this concerns only one game, so that the others can still be labelled.
    pub(crate) fn is_of_one_game(&self) -> bool {
        matches!(
            self,
            LabelError::Rejected { .. } | LabelError::Answer { .. } | LabelError::Inexpressible { .. }
        )
    }
}
