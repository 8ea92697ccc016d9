//! The interface of players, and what they report.

use serde::{Deserialize, Serialize};

use tengen_rules::{Color, Komi, Move, Position};

/// Chooses moves in many games at once.
pub trait Player {
    /// The player's name in results and game records.
    fn name(&self) -> String;

    /// The maximum number of games the player can play in parallel.
    fn max_parallel(&self) -> usize {
        usize::MAX
    }

    /// Answers every turn, in the same order.
    ///
    /// The answer depends only on the turn itself, not on the other turns of the call (provided that the network's
    /// output does not depend on the batch), and is the same for the same [`Turn::seed`] and position.
    ///
    /// # Errors
    /// [`PlayerError`] when the player cannot continue at all. A failure in one game is an [`Answer::Fault`] instead. A
    /// player built to stop on request returns [`PlayerError::Stopped`] if it cannot answer soon after the request.
    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError>;

    /// What the player has spent since it was created.
    fn cost(&self) -> PlayerCost {
        PlayerCost::default()
    }

    /// The program behind the player, if it is a separate engine.
    fn engine(&self) -> Option<EngineReport> {
        None
    }

    /// The end of what the player's engine in this slot has written to standard error; empty for players without
    /// engines.
    fn stderr(&self, _slot: usize) -> String {
        String::new()
    }
}

/// An engine that plays over GTP, as it identified itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineReport {
    /// The engine's command line.
    pub command: String,
    /// The engine's answer to `name`.
    pub name: String,
    /// The engine's answer to `version`.
    pub version: String,
    /// Processes started so far, including replacements for processes that failed.
    pub processes: u64,
    /// The rules of the match if the engine may not know them, because it does not list `kata-set-rules` or refused
    /// the rules. `None` if the engine accepted the rules, or if they are Tromp-Taylor rules with two passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_not_told: Option<String>,
}

impl EngineReport {
    /// Combines the reports of a match played in two parts: the numbers of processes add up, and rules that the engine
    /// did not know in either part are kept.
    #[must_use]
    pub fn then(self, later: EngineReport) -> EngineReport {
        EngineReport {
            processes: self.processes + later.processes,
            rules_not_told: self.rules_not_told.or(later.rules_not_told),
            ..later
        }
    }
}

/// A game in which the player is to move. The game is not over.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    /// Index of the game among those played in parallel. A slot has one game at a time.
    pub slot: usize,
    /// Number of the game; a different number in the same slot means that a new game has started.
    pub game: u64,
    /// Seed of this player's choices in this game.
    pub seed: u64,
    /// The position with its complete history.
    pub position: &'a Position,
    /// Points added to White's area.
    pub komi: Komi,
}

impl Turn<'_> {
    /// The color to choose a move for.
    pub fn color(&self) -> Color {
        self.position.to_move()
    }
}

/// A player's answer to one turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A move; the referee checks whether it is legal.
    Play(Choice),
    /// The player resigns, which loses the game.
    Resign,
    /// The player failed in this game and loses it.
    Fault(Fault),
}

/// A chosen move with the player's evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The move to play.
    pub mv: Move,
    /// What the player's search found; `None` for players that do not search or do not report it.
    pub search: Option<SearchSummary>,
}

/// What a search found about the move it chose, from the viewpoint of the side to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSummary {
    /// Probability of winning minus probability of losing after the move, −1 to 1.
    pub value: f32,
    /// Expected margin after komi, in points.
    pub margin: f32,
    /// Total visits of the search.
    pub visits: u32,
    /// The raw network's value of the position, −1 to 1; 0 for a player without a network.
    pub network_value: f32,
    /// Whether the move is the search's best; false when it was sampled by temperature and differs from the best.
    pub best: bool,
}

/// A failure that lost a player the game regardless of the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What kind of failure it was.
    pub kind: FaultKind,
    /// The failure, described in one sentence.
    pub reason: String,
    /// The end of what the engine wrote to standard error, at most 8 KiB; empty if it wrote nothing.
    #[serde(default)]
    pub stderr: String,
}

/// The kinds of failure in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The move is not legal under the rules of the match.
    IllegalMove,
    /// The engine's process exited.
    Exit,
    /// The engine did not answer in time.
    Timeout,
    /// The engine's answer does not follow the protocol.
    Nonsense,
    /// The engine refused a legal move of its opponent.
    RefusedMove,
    /// The engine refused to choose a move.
    RefusedToMove,
    /// The engine refused the board or the komi although it had accepted them before.
    RefusedGame,
}

/// The computation a player has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerCost {
    /// Positions evaluated by the network.
    pub evaluations: u64,
    /// Calls of the network, each with a batch of positions.
    pub batches: u64,
    /// Number of moves chosen.
    pub moves: u64,
}

impl std::ops::Add for PlayerCost {
    type Output = PlayerCost;

    fn add(self, other: PlayerCost) -> PlayerCost {
        PlayerCost {
            evaluations: self.evaluations + other.evaluations,
            batches: self.batches + other.batches,
            moves: self.moves + other.moves,
        }
    }
}

impl std::ops::Sub for PlayerCost {
    type Output = PlayerCost;

    fn sub(self, earlier: PlayerCost) -> PlayerCost {
        PlayerCost {
            evaluations: self.evaluations - earlier.evaluations,
            batches: self.batches - earlier.batches,
            moves: self.moves - earlier.moves,
        }
    }
}

/// Why a player cannot play at all.
#[derive(Debug, thiserror::Error)]
pub enum PlayerError {
    /// The network could not evaluate a position.
    #[error("{player}: the network failed: {reason}")]
    Predict {
        /// The player's name.
        player: String,
        /// Why the prediction failed.
        reason: tengen_search::PredictError,
    },
    /// An engine failed and could not be restarted.
    #[error(transparent)]
    Engine(#[from] tengen_gtp::ControllerError),
    /// An engine could not be started.
    #[error("player '{player}': {reason}{}", hint(.reason))]
    Start {
        /// The player's description as given.
        player: String,
        /// Why the engine did not start.
        reason: tengen_gtp::ControllerError,
    },
    /// An engine cannot play on this board or with this komi.
    #[error("{player} cannot play this match: {reason}")]
    Unsupported {
        /// The player's name.
        player: String,
        /// What the engine refused, with its answer.
        reason: String,
    },
    /// A model could not be loaded.
    #[error("cannot load the model of player '{player}': {reason}")]
    Load {
        /// The player's description as given.
        player: String,
        /// Why the model could not be loaded.
        reason: String,
    },
    /// The caller requested a stop, and the player gave up its turns. This is not a failure: the games are not lost.
    #[error("the player was stopped")]
    Stopped,
    /// The player's options are invalid.
    #[error("player '{player}': {reason}")]
    Settings {
        /// The player's description as given.
        player: String,
        /// What is wrong with the options.
        reason: String,
    },
}

/// A hint for programs that run but do not answer the way an engine does.
fn hint(reason: &tengen_gtp::ControllerError) -> &'static str {
    use tengen_gtp::ControllerError::{Exited, Nonsense, TimedOut};
    match reason {
        Exited { during, .. } | TimedOut { during, .. } | Nonsense { during, .. } if during == "protocol_version" => {
            "; does it need an option to speak GTP, such as gnugo's --mode gtp?"
        }
        _ => "",
    }
}
