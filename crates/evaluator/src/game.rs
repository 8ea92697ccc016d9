//! A match game, run by our own referee.

use tengen_records::{EXPLORED, EndReason, FULL_SEARCH, GameKind, GameRecord, OPENING, PlyRecord};
use tengen_rules::{Color, Move, Position};

use crate::finished_game::{FinishedGame, is_void};
use crate::player::{Answer, Choice, Fault, FaultKind, SearchSummary};
use crate::settings::{MatchConfig, MatchContext, Refusal};

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
