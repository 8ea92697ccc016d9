//! What must a player be able to do to be driven over GTP?

use tengen_rules::{Color, Komi, Move, Position, Size};

use crate::analysis::{AnalyzeRequest, PositionAnalysis};
use crate::clock::Clock;

/// A player behind a [`Session`](crate::Session).
///
/// The session keeps the game: board, history, komi, undo, handicap, legality. An engine is only asked for thought, so the one
/// method that must be written is [`genmove`](Engine::genmove).
pub trait Engine {
    /// Name shown to the controller, as `Tengen`.
    fn name(&self) -> String;

    /// Version shown to the controller.
    fn version(&self) -> String;

    /// True when the engine can play on this board.
    fn supports(&self, _size: Size) -> bool {
        true
    }

    /// A new game begins: forget everything about the old one.
    fn new_game(&mut self, _size: Size) {}

    /// Chooses a move for the side to move of `turn.position`, which is never a finished game. The session plays it.
    ///
    /// # Errors
    /// Any [`EngineError`]; the controller sees its message and the game stays as it is.
    fn genmove(&mut self, turn: &Turn<'_>) -> Result<Genmove, EngineError>;

    /// True when [`analyze`](Engine::analyze) works; the analysis commands are listed only then.
    fn can_analyze(&self) -> bool {
        false
    }

    /// Thinks on about the position for about one interval of the request, and returns everything found so far. Called again and
    /// again with the same turn until the controller says something else.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where nothing is implemented.
    fn analyze(&mut self, _turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        Err(EngineError::Unsupported("analysis".to_owned()))
    }

    /// Reads a game file up to the given move number (1 = the position before the first move), for `loadsgf`.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where nothing is implemented, [`EngineError::Failed`] when the file cannot be read.
    fn load_game(&mut self, _path: &str, _move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        Err(EngineError::Unsupported("loadsgf".to_owned()))
    }
}

/// What the engine is asked to think about.
pub struct Turn<'a> {
    /// The position, with the asked color to move.
    pub position: &'a Position,
    /// Half points added to White's score.
    pub komi: Komi,
    /// Time settings and time left.
    pub clock: &'a Clock,
    /// False for `reg_genmove` and analysis: the answer will not be played.
    pub will_be_played: bool,
}

impl Turn<'_> {
    /// The color to choose a move for.
    pub fn color(&self) -> Color {
        self.position.to_move()
    }
}

/// An engine's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Genmove {
    /// The move, or `None` to resign.
    pub mv: Option<Move>,
    /// What the engine thought, for the `…-genmove_analyze` commands.
    pub analysis: Option<PositionAnalysis>,
}

impl Genmove {
    /// A move without any analysis.
    pub fn plain(mv: Move) -> Genmove {
        Genmove {
            mv: Some(mv),
            analysis: None,
        }
    }

    /// Resignation.
    pub fn resign() -> Genmove {
        Genmove {
            mv: None,
            analysis: None,
        }
    }
}

/// A game read by [`Engine::load_game`].
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedGame {
    /// The board's size.
    pub size: Size,
    /// The komi, when the file names one.
    pub komi: Option<Komi>,
    /// All turns up to the asked move.
    pub turns: Vec<(Color, Move)>,
}

/// Status asked for by `final_status_list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoneStatus {
    /// Counted for its owner.
    Alive,
    /// To be removed before counting. Never under Tromp-Taylor rules, where what stands is counted.
    Dead,
    /// Alive in seki. Area scoring draws no line between this and alive.
    Seki,
}

/// Why an engine has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The engine does not offer this.
    #[error("{0} is not supported by this engine")]
    Unsupported(String),
    /// The engine tried and failed.
    #[error("{0}")]
    Failed(String),
}
