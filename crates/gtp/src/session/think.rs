//! Asking the engine, and judging the board.

use tengen_rules::{Color, PointSet, Position, format_point};

use super::{Args, Outcome, Session};
use crate::analysis::{AnalyzeRequest, gtp_move};
use crate::engine::{Engine, EngineError, Genmove, StoneStatus, Turn};
use crate::showboard::show_board;

impl<E: Engine> Session<E> {
    /// Thinks on about the position under analysis and returns one line of report with its newline, empty when there is nothing
    /// to report. `None` when no analysis is going on, or when the engine has failed and the analysis has ended.
    pub fn analyze(&mut self) -> Option<String> {
        let (request, color) = self.analyzing.clone()?;
        let position = self.game.position_for(color);
        let turn = Turn {
            position: &position,
            komi: self.game.komi(),
            clock: &self.clock,
            will_be_played: false,
        };
        match self.engine.analyze(&turn, &request) {
            Ok(analysis) => {
                let line = analysis.line(self.game.size(), &request);
                Some(if line.is_empty() { line } else { line + "\n" })
            }
            Err(_) => None,
        }
    }

    pub(super) fn genmove(&mut self, args: &Args<'_>) -> Outcome {
        let color = args.color(0)?;
        let answer = self.think(color, true)?;
        self.play_answer(color, &answer)
    }

    pub(super) fn reg_genmove(&mut self, args: &Args<'_>) -> Outcome {
        let color = args.color(0)?;
        let answer = self.think(color, false)?;
        Ok(answer
            .mv
            .map_or_else(|| "resign".to_owned(), |mv| gtp_move(self.game.size(), mv)))
    }

    pub(super) fn genmove_analyze(&mut self, request: &AnalyzeRequest) -> Outcome {
        let color = request.color.unwrap_or(self.game.position().to_move());
        let answer = self.think(color, true)?;
        let line = answer
            .analysis
            .as_ref()
            .map(|analysis| analysis.line(self.game.size(), request))
            .unwrap_or_default();
        let mv = self.play_answer(color, &answer)?;
        let separator = if line.is_empty() { "" } else { "\n" };
        Ok(format!("{line}{separator}play {mv}"))
    }

    fn think(&mut self, color: Color, will_be_played: bool) -> Result<Genmove, String> {
        let position = self.game.position_for(color);
        let turn = Turn {
            position: &position,
            komi: self.game.komi(),
            clock: &self.clock,
            will_be_played,
        };
        self.engine
            .genmove(&turn)
            .map_err(|error: EngineError| error.to_string())
    }

    fn play_answer(&mut self, color: Color, answer: &Genmove) -> Outcome {
        let Some(mv) = answer.mv else {
            return Ok("resign".to_owned());
        };
        self.game
            .play(color, mv)
            .map_err(|error| format!("the engine chose an {error}"))?;
        Ok(gtp_move(self.game.size(), mv))
    }

    /// The area score of the board as it stands, as `B+3`, `W+0.5` or `0`.
    pub(super) fn final_score(&self) -> String {
        self.game.position().margin(self.game.komi()).to_string()
    }

    /// Under Tromp-Taylor rules what stands is counted: every stone is alive, none is dead.
    pub(super) fn final_status_list(&self, args: &Args<'_>) -> Outcome {
        let status = match args.word(0).unwrap_or_default().to_ascii_lowercase().as_str() {
            "alive" => StoneStatus::Alive,
            "dead" => StoneStatus::Dead,
            "seki" => StoneStatus::Seki,
            _ => return Err("syntax error: alive, dead or seki expected".to_owned()),
        };
        Ok(match status {
            StoneStatus::Alive => chain_lines(self.game.position()),
            StoneStatus::Dead | StoneStatus::Seki => String::new(),
        })
    }

    pub(super) fn showboard(&self) -> String {
        let position = self.game.position();
        let to_move = format!("{:?}", position.to_move());
        let turns = self.game.turns().len();
        format!(
            "\n{}\n{to_move} to play, {turns} turns, komi {}",
            show_board(position),
            self.game.komi()
        )
    }
}

/// One line per chain of either color, in reading order.
fn chain_lines(position: &Position) -> String {
    let size = position.size();
    let mut seen = PointSet::new();
    let mut lines = Vec::new();
    for point in size.points() {
        if position.at(point).is_none() || seen.contains(point) {
            continue;
        }
        let chain = position.chain(point);
        seen = seen.union(&chain);
        lines.push(
            chain
                .iter()
                .map(|point| format_point(size, point))
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use tengen_rules::Move;

    use super::*;

    #[test]
    fn a_pass_is_spelled_as_gtp_wants() {
        let size = tengen_rules::Size::square(9).expect("a size");
        assert_eq!(gtp_move(size, Move::Pass).to_ascii_lowercase(), "pass");
    }
}
