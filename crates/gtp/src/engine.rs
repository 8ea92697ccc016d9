//! The interface that a player implements to be controlled over GTP.

use tengen_rules::{Color, Komi, Move, Position, Rules, Setup, Size};

use crate::analysis::{AnalyzeRequest, PositionAnalysis};
use crate::clock::Clock;
use crate::game::Game;
use crate::raw::RawNetwork;

/// A player behind a [`Session`](crate::Session).
///
/// The session keeps the game: board, history, komi, undo, handicap and legality. The engine only has to search, so
/// besides its name and version, [`genmove`](Engine::genmove) is the only required method.
pub trait Engine {
    /// The name shown to the controller, such as `Tengen`.
    fn name(&self) -> String;

    /// The version shown to the controller.
    fn version(&self) -> String;

    /// Whether the engine can play on a board of this size.
    fn supports(&self, _size: Size) -> bool {
        true
    }

    /// Starts a new game: the engine should forget everything about the old one.
    fn new_game(&mut self, _size: Size) {}

    /// Sets the board size, rules and komi from now on. Called at the start and after every change.
    fn set_conditions(&mut self, _size: Size, _rules: Rules, _komi: Komi) {}

    /// Reasons why the engine's play may be weaker under the current conditions, one sentence each, such as a board
    /// size that its network was not trained on. Shown below the board and by `tengen-warnings`.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the engine searches during the opponent's turn, by [`ponder`](Engine::ponder).
    fn ponders(&self) -> bool {
        false
    }

    /// Chooses a move for the side to move in `turn.position`, which is never a finished game. The session plays the
    /// move. A watcher receives the results so far at its interval.
    ///
    /// # Errors
    /// Any [`EngineError`]; the controller receives its message and the game does not change.
    fn genmove(&mut self, turn: &Turn<'_>, watcher: Option<Watcher<'_>>) -> Result<Genmove, EngineError>;

    /// Whether the engine implements [`ponder`](Engine::ponder) and [`analysis`](Engine::analysis); if not, the
    /// analysis commands are not listed.
    fn can_analyze(&self) -> bool {
        false
    }

    /// Searches the position of a live analysis for a few milliseconds. Called repeatedly with the same turn until the
    /// controller sends another command.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] if not implemented.
    fn ponder(&mut self, _turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<Pondered, EngineError> {
        Err(EngineError::Unsupported("analysis".to_owned()))
    }

    /// Everything that [`ponder`](Engine::ponder) has found about the position so far.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] if not implemented.
    fn analysis(&mut self, _turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        Err(EngineError::Unsupported("analysis".to_owned()))
    }

    /// The expected owner of each point at the end of the game: +1 = Black, −1 = White, in reading order. Used for the
    /// status of stones during the game; `None` if the engine cannot predict it.
    ///
    /// # Errors
    /// [`EngineError::Failed`] if the engine tried and failed.
    fn ownership(&mut self, _turn: &Turn<'_>) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(None)
    }

    /// The network's output for a position under a symmetry of the square, 0 to 7, without search. Used by
    /// `kata-raw-nn`, which is listed if the engine can analyze.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] if there is no network or no such symmetry.
    fn raw_network(&mut self, _turn: &Turn<'_>, _symmetry: usize) -> Result<RawNetwork, EngineError> {
        Err(EngineError::Unsupported("kata-raw-nn".to_owned()))
    }

    /// Clears all cached results about positions, for `clear_cache`.
    fn clear_cache(&mut self) {}

    /// The parameters that can be changed during a session and their current values, for `kata-get-param`.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Changes a parameter that [`parameters`](Engine::parameters) lists.
    ///
    /// # Errors
    /// [`EngineError::Failed`] with a sentence that describes the valid values.
    fn set_parameter(&mut self, name: &str, _value: &str) -> Result<(), EngineError> {
        Err(EngineError::Unsupported(format!("the parameter {name}")))
    }

    /// The seed of the engine's random choices, for `get_random_seed`; `None` if it makes none.
    fn random_seed(&self) -> Option<u64> {
        None
    }

    /// Restarts the random choices from this seed, for `set_random_seed`. Called only if
    /// [`random_seed`](Engine::random_seed) returns a seed.
    fn set_random_seed(&mut self, _seed: u64) {}

    /// Reads a game file up to the given move number (1 = the position before the first move), for `loadsgf`.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] if not implemented, [`EngineError::Failed`] if the file cannot be read.
    fn load_game(&mut self, _path: &str, _move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        Err(EngineError::Unsupported("loadsgf".to_owned()))
    }

    /// Writes a game to a file, or returns it as text if no path is given, for `printsgf`. `result` is empty while the
    /// game is in progress.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] if not implemented, [`EngineError::Failed`] if the file cannot be written.
    fn save_game(&mut self, _game: &Game, _result: &str, _path: Option<&str>) -> Result<String, EngineError> {
        Err(EngineError::Unsupported("printsgf".to_owned()))
    }
}

/// The position an engine is to search, with its context.
pub struct Turn<'a> {
    /// The position, with the requested color to move.
    pub position: &'a Position,
    /// The points added to White's score.
    pub komi: Komi,
    /// Time control and time left.
    pub clock: &'a Clock,
    /// Whether the move will be played; false for `reg_genmove` and analysis.
    pub will_be_played: bool,
    /// Whether all dead stones must be captured before the engine passes, for `kgs-genmove_cleanup`.
    pub cleanup: bool,
}

impl<'a> Turn<'a> {
    /// A turn that will not be played.
    pub(crate) fn unplayed(position: &'a Position, komi: Komi, clock: &'a Clock) -> Turn<'a> {
        Turn {
            position,
            komi,
            clock,
            will_be_played: false,
            cleanup: false,
        }
    }
}

/// Receives reports during the search for a move, for the `…-genmove_analyze` commands.
pub struct Watcher<'a> {
    /// What to report, and how often.
    pub request: &'a AnalyzeRequest,
    /// The callback for reports, to be called about once per interval.
    pub report: &'a mut dyn FnMut(&PositionAnalysis),
}

/// Whether further search can improve a live analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pondered {
    /// More search can improve the result.
    More,
    /// The engine has reached a limit, so more search changes nothing.
    Enough,
}

impl Turn<'_> {
    /// The color to choose a move for.
    pub fn color(&self) -> Color {
        self.position.to_move()
    }
}

/// An engine's answer to a request for a move.
#[derive(Clone, Debug, PartialEq)]
pub struct Genmove {
    /// The move, or `None` to resign.
    pub mv: Option<Move>,
    /// The analysis behind the move, for the `…-genmove_analyze` commands.
    pub analysis: Option<PositionAnalysis>,
    /// The time taken in seconds, for the session's own clock.
    pub seconds: f64,
}

impl Genmove {
    /// A move without an analysis.
    pub fn plain(mv: Move) -> Genmove {
        Genmove {
            mv: Some(mv),
            analysis: None,
            seconds: 0.0,
        }
    }

    /// The answer that resigns the game.
    pub fn resign() -> Genmove {
        Genmove {
            mv: None,
            analysis: None,
            seconds: 0.0,
        }
    }
}

/// A game read by [`Engine::load_game`].
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedGame {
    /// The size of the board.
    pub size: Size,
    /// The komi, if the file has one.
    pub komi: Option<Komi>,
    /// The rules, if the file names supported ones; otherwise the session keeps its rules.
    pub rules: Option<Rules>,
    /// The stones on the board before the first turn, and the player who takes it.
    pub start: Setup,
    /// All turns up to the requested move.
    pub turns: Vec<(Color, Move)>,
}

/// The status of stones requested by `final_status_list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoneStatus {
    /// The stone counts for its owner.
    Alive,
    /// The stone is expected to be captured if play continues; stones left at the end of a game are counted.
    Dead,
    /// The stone is alive in seki, which area scoring does not distinguish from alive.
    Seki,
}

/// The reason why an engine has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The engine does not support the command or value.
    #[error("{0} is not supported by this engine")]
    Unsupported(String),
    /// The engine tried and failed.
    #[error("{0}")]
    Failed(String),
}
