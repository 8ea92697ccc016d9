//! A game of a match, run by our own referee.

use tengen_records::{EXPLORED, EndReason, FULL_SEARCH, GameKind, GameRecord, OPENING, PlyRecord};
use tengen_rules::{Color, Move, Outcome, Position};

use crate::play::MatchContext;
use crate::player::{Answer, Choice, Fault, FaultKind, SearchSummary};
use crate::result::{FaultReport, GameSummary, Side};
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
        }
    }
}

/// A game in progress: its position, turns so far and faults.
pub(crate) struct LiveGame {
    pub(crate) game: usize,
    pub(crate) a_color: Color,
    pub(crate) position: Position,
    /// Seeds of player A's and player B's choices.
    pub(crate) seeds: [u64; 2],
    plies: Vec<PlyRecord>,
    opening_plies: usize,
    ply_limit: usize,
    refusal: Refusal,
    end: Option<(EndReason, Option<Fault>)>,
}

impl LiveGame {
    pub(crate) fn begin(config: &MatchConfig, game: usize, opening: &[Move], seeds: [u64; 2]) -> LiveGame {
        let mut live = LiveGame {
            game,
            a_color: config.a_color_in(game),
            position: Position::with_rules(config.size, config.rules).between_machines(),
            seeds,
            plies: Vec::new(),
            opening_plies: opening.len(),
            ply_limit: config.ply_limit(),
            refusal: config.refused_moves,
            end: None,
        };
        for &mv in opening {
            live.position.play(mv);
            live.plies.push(PlyRecord {
                flags: OPENING,
                ..PlyRecord::bare(mv)
            });
        }
        live.look_for_end();
        live
    }

    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Whether player A is to move.
    pub(crate) fn a_to_move(&self) -> bool {
        self.position.to_move() == self.a_color
    }

    /// Applies the answer of the side to move. `stderr` returns its engine's standard error, for the report of an
    /// illegal move.
    pub(crate) fn take(&mut self, answer: Answer, stderr: impl FnOnce() -> String) {
        match answer {
            Answer::Resign => self.end = Some((EndReason::Resign, None)),
            Answer::Fault(fault) => self.end = Some((EndReason::Forfeit, Some(fault))),
            Answer::Play(choice) => self.play(&choice, stderr),
        }
    }

    fn play(&mut self, choice: &Choice, stderr: impl FnOnce() -> String) {
        if let Err(reason) = self.position.try_play(choice.mv) {
            let mv = choice.mv.format(self.position.size());
            let reason = format!("{mv} at ply {} is illegal: {reason}", self.position.ply());
            self.end = Some((
                EndReason::Forfeit,
                Some(Fault {
                    kind: FaultKind::IllegalMove,
                    reason,
                    stderr: stderr(),
                }),
            ));
            return;
        }
        self.plies.push(ply_record(choice));
        self.look_for_end();
    }

    fn look_for_end(&mut self) {
        if self.position.is_over() {
            self.end = Some((EndReason::TwoPasses, None));
        } else if self.position.ply() >= self.ply_limit {
            self.end = Some((EndReason::PlyLimit, None));
        }
    }

    /// Turns the game into a finished game with its record.
    ///
    /// # Panics
    /// Panics if the game is not over.
    pub(crate) fn finish(self, config: &MatchConfig, names: &[String; 2], context: &MatchContext) -> FinishedGame {
        let (reason, fault) = self.end.expect("only games that are over can be finished");
        let [black, white] = match self.a_color {
            Color::Black => [&names[0], &names[1]],
            Color::White => [&names[1], &names[0]],
        };
        let mut record = GameRecord {
            game_id: format!("{}-{:05}", context.match_id, self.game),
            size: config.size,
            rules: self.position.rules().to_string(),
            komi: config.komi,
            score_half_points: None,
            seed: config.seed as i64,
            black_model: black.clone(),
            white_model: white.clone(),
            config_id: context.config_id.clone(),
            start_time_ms: context.start_time_ms,
            end_reason: reason,
            kind: GameKind::Match,
            opening_plies: self.opening_plies as u16,
            setup: self.position.start(),
            plies: self.plies,
            ownership: Vec::new(),
            origin: None,
        };
        record.set_end(&self.position, reason);
        FinishedGame {
            game: self.game,
            pair: config.pair_of(self.game),
            a_color: self.a_color,
            record,
            void: is_void(self.refusal, fault.as_ref()),
            fault,
        }
    }
}

/// Whether a game does not count because an engine refused a legal move.
fn is_void(refusal: Refusal, fault: Option<&Fault>) -> bool {
    let refused = fault.is_some_and(|fault| fault.kind == FaultKind::RefusedMove);
    refused && refusal == Refusal::Void
}

fn ply_record(choice: &Choice) -> PlyRecord {
    let bare = PlyRecord::bare(choice.mv);
    let Some(SearchSummary {
        value,
        margin,
        visits,
        network_value,
        best,
    }) = choice.search
    else {
        return bare;
    };
    PlyRecord {
        flags: FULL_SEARCH | if best { 0 } else { EXPLORED },
        root_value: value.clamp(-1.0, 1.0),
        root_margin: margin,
        root_visits: u16::try_from(visits).unwrap_or(u16::MAX),
        network_value: network_value.clamp(-1.0, 1.0),
        ..bare
    }
}
