//! What is a player?

use serde::{Deserialize, Serialize};
use tengen_rules::{Color, Komi, Move, Position};

/// Chooses moves in many games at once.
pub trait Player {
    /// Name for people and records.
    fn name(&self) -> String;

    /// How many games the player can play side by side.
    fn max_parallel(&self) -> usize {
        usize::MAX
    }

    /// Answers every turn, in the same order.
    ///
    /// The answer to a turn depends on that turn alone, not on the other turns of the call (where the network's numbers do not depend
    /// on the batch), and is the same for the same [`Turn::seed`] and position.
    ///
    /// # Errors
    /// [`PlayerError`] when the player cannot go on at all; what goes wrong in one game is [`Answer::Fault`].
    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError>;

    /// What the player has spent since it was made.
    fn cost(&self) -> PlayerCost {
        PlayerCost::default()
    }

    /// The program behind the player, when it is an engine of its own.
    fn engine(&self) -> Option<EngineReport> {
        None
    }

    /// The end of what the player's engine in this slot has written to its standard error; empty for players without engines.
    fn stderr(&self, _slot: usize) -> String {
        String::new()
    }
}

/// What is known of an engine that plays over GTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineReport {
    /// Its command line.
    pub command: String,
    /// Its answer to `name`.
    pub name: String,
    /// Its answer to `version`.
    pub version: String,
    /// Processes started so far; more than were needed side by side when some failed and were replaced.
    pub processes: u64,
    /// The rules of games that the engine could not be told and may not play by: it does not list `kata-set-rules` or
    /// refused them. `None` where it was told, and where two passes under Tromp-Taylor rules are meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_not_told: Option<String>,
}

impl EngineReport {
    /// The engine of a match that was played in two parts: processes add up, rules once not told stay so.
    #[must_use]
    pub fn then(self, later: EngineReport) -> EngineReport {
        EngineReport {
            processes: self.processes + later.processes,
            rules_not_told: self.rules_not_told.or(later.rules_not_told),
            ..later
        }
    }
}

/// One game in which the player has to move. The game is not over.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    /// Place of the game among those played side by side, below the number of parallel games. One slot has one game at a time.
    pub slot: usize,
    /// Number of the game; another number in the same slot means that a new game has begun.
    pub game: u64,
    /// Seed of this player's choices in this game.
    pub seed: u64,
    /// The position with its whole history.
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
    /// A move, to be judged by the referee.
    Play(Choice),
    /// The player gives the game up.
    Resign,
    /// The player failed in this game and loses it.
    Fault(Fault),
}

/// A chosen move.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The move.
    pub mv: Move,
    /// What the player thought of it, when it tells.
    pub thought: Option<Thought>,
}

/// What a search found about the move it chose, seen by the side to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thought {
    /// Probability to win minus probability to lose after the move, −1 to 1.
    pub value: f32,
    /// Expected margin after komi, in points.
    pub margin: f32,
    /// Visits of the search.
    pub visits: u32,
    /// The raw network's value of the position, −1 to 1.
    pub network_value: f32,
    /// False when the move was drawn at random among good ones.
    pub best: bool,
}

/// Why a player lost a game without its being counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The kind of failure.
    pub kind: FaultKind,
    /// The failure in one sentence.
    pub reason: String,
    /// The end of what an engine had written to its standard error, at most 8 KiB; empty where there is none.
    #[serde(default)]
    pub stderr: String,
}

/// Kinds of failure in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The move is not legal under the rules of the match.
    IllegalMove,
    /// The engine ended by itself.
    Exit,
    /// The engine did not answer in time.
    Timeout,
    /// The engine's answer makes no sense.
    Nonsense,
    /// The engine refused to take a legal move of its opponent.
    RefusedMove,
    /// The engine refused to choose a move.
    RefusedToMove,
    /// The engine refused the board or the komi after it had played with them before.
    RefusedGame,
}

/// What a player has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerCost {
    /// Positions evaluated by the network.
    pub evaluations: u64,
    /// Calls of the network.
    pub batches: u64,
    /// Moves chosen.
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
    /// The network failed.
    #[error("{player}: the network failed: {reason}")]
    Predict {
        /// The player's name.
        player: String,
        /// The failure.
        reason: tengen_search::PredictError,
    },
    /// An engine could not be started again.
    #[error(transparent)]
    Engine(#[from] tengen_gtp::ControllerError),
    /// An engine could not be started.
    #[error("player '{player}': {reason}{}", hint(.reason))]
    Start {
        /// The player as it was given.
        player: String,
        /// The failure.
        reason: tengen_gtp::ControllerError,
    },
    /// An engine cannot play on this board or with this komi.
    #[error("{player} cannot play this match: {reason}")]
    Unsupported {
        /// The player's name.
        player: String,
        /// The engine's words.
        reason: String,
    },
    /// A model could not be loaded.
    #[error("cannot load the model of player '{player}': {reason}")]
    Load {
        /// The player as it was given.
        player: String,
        /// The failure.
        reason: String,
    },
    /// Settings that cannot be.
    #[error("player '{player}': {reason}")]
    Settings {
        /// The player as it was given.
        player: String,
        /// What is wrong.
        reason: String,
    },
}

/// What to do about a program that runs but does not answer as an engine does.
fn hint(reason: &tengen_gtp::ControllerError) -> &'static str {
    use tengen_gtp::ControllerError::{Exited, Nonsense, TimedOut};
    match reason {
        Exited { during, .. } | TimedOut { during, .. } | Nonsense { during, .. } if during == "protocol_version" => {
            "; does it need an option to speak GTP, such as gnugo's --mode gtp?"
        }
        _ => "",
    }
}
