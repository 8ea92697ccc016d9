//! A game of a match that has ended, and what the match keeps of it.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use tengen_records::{EndReason, GameRecord};
use tengen_rules::{Color, Outcome, Position, Symmetry};

use crate::player::{Fault, FaultKind};
use crate::settings::{MatchConfig, Refusal};

/// A game that has ended for any reason.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGame {
    /// Number of the game in its match, counted from 0.
    pub game: usize,
    /// Number of its opening; the two games of a pair share it.
    pub pair: usize,
    /// Player A's color.
    pub a_color: Color,
    /// All moves and the result.
    pub record: GameRecord,
    /// The failure of the side to move, if that ended the game.
    pub fault: Option<Fault>,
    /// Whether the game does not count although it has a loser (see [`Refusal::Void`]).
    pub void: bool,
}

impl FinishedGame {
    /// Player A's points: 1, ½, or 0; `None` for a game that does not count.
    pub fn a_points(&self) -> Option<f64> {
        if self.void {
            return None;
        }
        Some(match self.record.outcome()? {
            Outcome::Tie => 0.5,
            Outcome::BlackWins => f64::from(u8::from(self.a_color == Color::Black)),
            Outcome::WhiteWins => f64::from(u8::from(self.a_color == Color::White)),
        })
    }

    /// Restores a finished game from its record. `fault` is the failure that ended it, which records do not contain.
    ///
    /// # Errors
    /// A sentence when the record is not a game of a match with this name and these settings.
    pub fn of_record(
        config: &MatchConfig,
        match_id: &str,
        record: GameRecord,
        fault: Option<Fault>,
    ) -> Result<FinishedGame, String> {
        let number = record
            .game_id
            .strip_prefix(match_id)
            .and_then(|rest| rest.strip_prefix('-'));
        let Some(game) = number.and_then(|number| number.parse().ok()) else {
            return Err(format!("{} is not a game of match {match_id}", record.game_id));
        };
        let rules = Position::with_rules(config.size, config.rules)
            .between_machines()
            .rules()
            .to_string();
        if (record.size, record.komi, &record.rules) != (config.size, config.komi, &rules) {
            return Err(format!(
                "{} was played on {} with komi {} under {}, not on {} with komi {} under {rules}",
                record.game_id, record.size, record.komi, record.rules, config.size, config.komi
            ));
        }
        let fault = fault.filter(|_| record.end_reason == EndReason::Forfeit);
        Ok(FinishedGame {
            game,
            pair: config.pair_of(game),
            a_color: config.a_color_in(game),
            void: is_void(config.refused_moves, fault.as_ref()),
            fault,
            record,
        })
    }

    fn summary(&self) -> GameSummary {
        GameSummary {
            game: self.game,
            pair: self.pair,
            a_color: self.a_color,
            result: if self.void {
                "Void".to_owned()
            } else {
                self.record.result_text()
            },
            a_points: self.a_points(),
            plies: self.record.plies.len(),
            end_reason: self.record.end_reason,
        }
    }

    /// See [`GameScore::sequence`].
    fn sequence(&self) -> u64 {
        let size = self.record.size;
        let hash_of_image = |symmetry: &Symmetry| {
            let mut hasher = DefaultHasher::new();
            self.a_color.index().hash(&mut hasher);
            for ply in &self.record.plies {
                symmetry.apply_move(size, ply.mv).index(size).hash(&mut hasher);
            }
            hasher.finish()
        };
        Symmetry::all(size).iter().map(hash_of_image).min().unwrap_or_default()
    }

    /// The failure that ended the game; it belongs to the side to move at the end.
    fn fault_report(&self) -> Option<FaultReport> {
        let fault = self.fault.clone()?;
        let ply = self.record.plies.len();
        Some(FaultReport {
            game: self.game,
            player: if self.record.mover(ply) == self.a_color {
                Side::A
            } else {
                Side::B
            },
            ply,
            void: self.void,
            fault,
        })
    }

    /// The margin in points, Black minus White minus komi; `None` if the board was not counted.
    pub fn black_margin(&self) -> Option<f64> {
        self.record.margin_points().map(f64::from)
    }

    /// The winner, if the winner owns every point of the board at the end.
    pub fn full_board_winner(&self) -> Option<Color> {
        let area = 2 * self.record.size.area() as i32;
        let board = self.record.score_half_points? + i32::from(self.record.komi.half_points());
        match self.record.outcome()? {
            Outcome::BlackWins if board == area => Some(Color::Black),
            Outcome::WhiteWins if board == -area => Some(Color::White),
            _ => None,
        }
    }
}

/// What a match keeps of a finished game: everything its statistics need, without the moves.
#[derive(Clone, Debug, PartialEq)]
pub struct GameScore {
    /// Number, colors, result, and length of the game.
    pub summary: GameSummary,
    /// Player A's color.
    pub a_color: Color,
    /// The margin in points, Black minus White minus komi; `None` if the board was not counted.
    pub black_margin: Option<f64>,
    /// The winner, if the winner owns every point of the board at the end.
    pub full_board_winner: Option<Color>,
    /// Whether the game ended without a result.
    pub unfinished: bool,
    /// Whether a player resigned.
    pub resigned: bool,
    /// Whether the game does not count although it has a loser.
    pub void: bool,
    /// The failure that ended the game, if one did.
    pub fault: Option<FaultReport>,
    /// A hash of player A's color and all moves, the same for all mirror images of a game: games with the same hash are
    /// copies of each other.
    pub(crate) sequence: u64,
}

impl GameScore {
    /// Extracts the score from a finished game.
    pub fn of(game: &FinishedGame) -> GameScore {
        GameScore {
            summary: game.summary(),
            a_color: game.a_color,
            black_margin: game.black_margin(),
            full_board_winner: game.full_board_winner(),
            unfinished: game.record.outcome().is_none(),
            resigned: game.record.end_reason == EndReason::Resign,
            void: game.void,
            fault: game.fault_report(),
            sequence: game.sequence(),
        }
    }
}

/// One of the two players of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Player A, from whom results are seen.
    A,
    /// Player B.
    B,
}

/// One player's failure in one game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultReport {
    /// Number of the game in the match, from 0.
    pub game: usize,
    /// The player whose failure it was.
    pub player: Side,
    /// Number of plies before the failure.
    pub ply: usize,
    /// Whether the game does not count, instead of being lost.
    #[serde(default)]
    pub void: bool,
    /// The kind of failure and its details.
    #[serde(flatten)]
    pub fault: Fault,
}

/// A game of a match without its moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameSummary {
    /// Number of the game in the match, from 0.
    pub game: usize,
    /// Number of its opening, from 0.
    pub pair: usize,
    /// Player A's color.
    pub a_color: Color,
    /// The result as in game records: `B+3.5`, `W+R`, `W+F`, `0`, `Void`.
    pub result: String,
    /// A's points: 1, 0.5, 0, or `None` when the game does not count.
    pub a_points: Option<f64>,
    /// Number of plies, including the opening.
    pub plies: usize,
    /// Why the game ended, as in game records.
    pub end_reason: EndReason,
}

/// Whether a game does not count because an engine refused a legal move.
pub(crate) fn is_void(refusal: Refusal, fault: Option<&Fault>) -> bool {
    let refused = fault.is_some_and(|fault| fault.kind == FaultKind::RefusedMove);
    refused && refusal == Refusal::Void
}
