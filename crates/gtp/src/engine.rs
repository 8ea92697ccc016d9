//! What must a player be able to do to be driven over GTP?

use tengen_rules::{Color, Komi, Move, Position, Rules, Setup, Size};

use crate::analysis::{AnalyzeRequest, PositionAnalysis};
use crate::clock::Clock;
use crate::game::Game;
use crate::raw::RawNetwork;

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

    /// Board, rules and komi are these from now on. Told at the start and after every change.
    fn circumstances(&mut self, _size: Size, _rules: Rules, _komi: Komi) {}

    /// What makes the engine's play less sure under the present circumstances, one sentence each, such as a board that its
    /// network never saw. Shown under the board and by `tengen-warnings`.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// True when the engine thinks on while its opponent thinks, by [`ponder`](Engine::ponder).
    fn thinks_ahead(&self) -> bool {
        false
    }

    /// Chooses a move for the side to move of `turn.position`, which is never a finished game. The session plays it. A watcher
    /// is told in its interval what was found so far.
    ///
    /// # Errors
    /// Any [`EngineError`]; the controller sees its message and the game stays as it is.
    fn genmove(&mut self, turn: &Turn<'_>, watcher: Option<Watcher<'_>>) -> Result<Genmove, EngineError>;

    /// True when [`ponder`](Engine::ponder) and [`analysis`](Engine::analysis) work; the analysis commands are listed only
    /// then.
    fn can_analyze(&self) -> bool {
        false
    }

    /// Thinks a moment (some milliseconds) about the position of a live analysis. Called again and again with the same turn until
    /// the controller says something else.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where nothing is implemented.
    fn ponder(&mut self, _turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<Pondered, EngineError> {
        Err(EngineError::Unsupported("analysis".to_owned()))
    }

    /// Everything that [`ponder`](Engine::ponder) has found about the position so far.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where nothing is implemented.
    fn analysis(&mut self, _turn: &Turn<'_>, _request: &AnalyzeRequest) -> Result<PositionAnalysis, EngineError> {
        Err(EngineError::Unsupported("analysis".to_owned()))
    }

    /// Who will own each point at the end, as far as the engine can tell: +1 = Black, −1 = White, in reading order. Asked
    /// for the status of stones while the game goes on; `None` where the engine cannot tell.
    ///
    /// # Errors
    /// [`EngineError::Failed`] when the engine tried and failed.
    fn ownership(&mut self, _turn: &Turn<'_>) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(None)
    }

    /// What the network says of a position shown under a symmetry of the square, 0 to 7, without any search; for `kata-raw-nn`,
    /// which is listed where analysis is.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where there is no network or no such symmetry.
    fn raw_network(&mut self, _turn: &Turn<'_>, _symmetry: usize) -> Result<RawNetwork, EngineError> {
        Err(EngineError::Unsupported("kata-raw-nn".to_owned()))
    }

    /// Forgets everything remembered about positions, for `clear_cache`.
    fn forget(&mut self) {}

    /// The parameters that may be changed in a session and their present values, for `kata-get-param`.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Changes a parameter that [`parameters`](Engine::parameters) lists.
    ///
    /// # Errors
    /// [`EngineError::Failed`] with a sentence on what the parameter takes.
    fn set_parameter(&mut self, name: &str, _value: &str) -> Result<(), EngineError> {
        Err(EngineError::Unsupported(format!("the parameter {name}")))
    }

    /// The seed of the engine's random choices, for `get_random_seed`; `None` where it makes none.
    fn random_seed(&self) -> Option<u64> {
        None
    }

    /// Begins the random choices anew from this seed, for `set_random_seed`. Called only where there is a
    /// [`random_seed`](Engine::random_seed).
    fn set_random_seed(&mut self, _seed: u64) {}

    /// Reads a game file up to the given move number (1 = the position before the first move), for `loadsgf`.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where nothing is implemented, [`EngineError::Failed`] when the file cannot be read.
    fn load_game(&mut self, _path: &str, _move_number: Option<usize>) -> Result<LoadedGame, EngineError> {
        Err(EngineError::Unsupported("loadsgf".to_owned()))
    }

    /// Writes a game into a file, or returns it as text where no path is given, for `printsgf`. `result` is empty while the game
    /// goes on.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] where nothing is implemented, [`EngineError::Failed`] when the file cannot be written.
    fn save_game(&mut self, _game: &Game, _result: &str, _path: Option<&str>) -> Result<String, EngineError> {
        Err(EngineError::Unsupported("printsgf".to_owned()))
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
    /// True for `kgs-genmove_cleanup`: everything dead has to be captured before the engine passes.
    pub cleanup: bool,
}

/// Somebody who follows a search that chooses a move, as the `…-genmove_analyze` commands do.
pub struct Watcher<'a> {
    /// What is asked for.
    pub request: &'a AnalyzeRequest,
    /// To be called about every interval of the request.
    pub report: &'a mut dyn FnMut(&PositionAnalysis),
}

/// Whether a live analysis can learn more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pondered {
    /// There is more to find out.
    More,
    /// The engine has reached a limit of its own: thinking on changes nothing.
    Enough,
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
    /// Seconds it took, for the engine's own clock.
    pub seconds: f64,
}

impl Genmove {
    /// A move without any analysis.
    pub fn plain(mv: Move) -> Genmove {
        Genmove {
            mv: Some(mv),
            analysis: None,
            seconds: 0.0,
        }
    }

    /// Resignation.
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
    /// The board's size.
    pub size: Size,
    /// The komi, when the file names one.
    pub komi: Option<Komi>,
    /// The rules, when the file names some that can be played here; otherwise the session's stay.
    pub rules: Option<Rules>,
    /// Stones on the board before the first turn, and who takes it.
    pub start: Setup,
    /// All turns up to the asked move.
    pub turns: Vec<(Color, Move)>,
}

/// Status asked for by `final_status_list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoneStatus {
    /// Counted for its owner.
    Alive,
    /// Expected to be captured if both play on; what stands at the end of a game is counted.
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
