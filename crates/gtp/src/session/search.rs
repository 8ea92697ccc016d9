//! Commands that search: moves, live analysis and pondering.

use tengen_rules::{Color, Move};

use super::{Args, Outcome, Session, body, style_of};
use crate::analysis::{AnalysisStyle, AnalyzeRequest, gtp_move};
use crate::engine::{Engine, EngineError, Genmove, Pondered, Turn, Watcher};
use crate::line::Request;

/// What a move is requested for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Move,
    /// To play it, capturing all dead stones before passing.
    Cleanup,
    /// Only to report it, for `reg_genmove`.
    Regression,
}

impl<E: Engine> Session<E> {
    /// Searches the position under analysis for a moment; `None` if no analysis is running or the engine has failed.
    pub fn ponder(&mut self) -> Option<Pondered> {
        self.on_analysis(|engine, turn, request| engine.ponder(turn, request))
    }

    /// A report on the position under analysis as one line with its newline, empty if there is nothing to report.
    /// `None` if no analysis is running or the engine has failed.
    pub fn report(&mut self) -> Option<String> {
        let size = self.game.size();
        self.on_analysis(|engine, turn, request| {
            let line = engine.analysis(turn, request)?.line(size, request);
            Ok(if line.is_empty() { line } else { line + "\n" })
        })
    }

    fn on_analysis<T>(
        &mut self,
        ask: impl FnOnce(&mut E, &Turn<'_>, &AnalyzeRequest) -> Result<T, EngineError>,
    ) -> Option<T> {
        let (request, color) = self.analyzing.clone()?;
        self.on_turn(color, |engine, turn| ask(engine, turn, &request))?.ok()
    }

    /// Asks the engine about a turn that it will not play; `None` if a long cycle has tied the game.
    fn on_turn<T>(&mut self, color: Color, ask: impl FnOnce(&mut E, &Turn<'_>) -> T) -> Option<T> {
        let position = self.game.position_for(color);
        if position.is_over() {
            return None;
        }
        let turn = Turn::unplayed(&position, self.game.komi(), &self.clock);
        Some(ask(&mut self.engine, &turn))
    }

    /// Whether the engine has just moved and may search during the opponent's turn.
    pub(super) fn may_ponder(&self) -> bool {
        let idle = self.analyzing.is_none() && !self.quit;
        idle && self.engine.ponders() && self.pondering_after == Some(self.game.turns().len()) && !self.game.is_over()
    }

    /// Searches the opponent's turn for a moment, after a reply with [`Next::Ponder`](super::Next::Ponder). `None` if
    /// there is nothing to search or the engine has failed.
    pub fn ponder_opponents_turn(&mut self) -> Option<Pondered> {
        if !self.may_ponder() {
            return None;
        }
        let &(color, _) = self.game.turns().last()?;
        let request = AnalyzeRequest::plain(AnalysisStyle::Kata);
        self.on_turn(color.opposite(), |engine, turn| engine.ponder(turn, &request))?
            .ok()
    }

    /// `kata-raw-nn` with a symmetry from 0 to 7, or `all` symmetries of the board.
    pub(super) fn raw_network(&mut self, args: &Args<'_>) -> Outcome {
        let size = self.game.size();
        let symmetries = match args.word(0) {
            Some("all") if size.width() == size.height() => 0..=7,
            Some("all") => 0..=3,
            _ => {
                let symmetry = args.number(0, "symmetry")?;
                symmetry..=symmetry
            }
        };
        let color = self.game.position().to_move();
        let mut texts = Vec::new();
        for symmetry in symmetries {
            let raw = self.on_turn(color, |engine, turn| engine.raw_network(turn, symmetry));
            let raw = raw.ok_or("the game is over")?.map_err(|error| error.to_string())?;
            texts.push(raw.text(size));
        }
        Ok(texts.join("\n"))
    }

    pub(super) fn genmove(&mut self, args: &Args<'_>) -> Outcome {
        let color = args.color(0)?;
        let answer = self.search(color, Purpose::Move, None)?;
        self.play_answer(color, &answer)
    }

    pub(super) fn genmove_cleanup(&mut self, args: &Args<'_>) -> Outcome {
        let color = args.color(0)?;
        let answer = self.search(color, Purpose::Cleanup, None)?;
        self.play_answer(color, &answer)
    }

    pub(super) fn reg_genmove(&mut self, args: &Args<'_>) -> Outcome {
        let color = args.color(0)?;
        let answer = self.search(color, Purpose::Regression, None)?;
        Ok(answer
            .mv
            .map_or_else(|| "resign".to_owned(), |mv| gtp_move(self.game.size(), mv)))
    }

    /// A move with reports during the search: `=`, lines of reports, `play` and the move. Further input does not
    /// interrupt it.
    pub(super) fn watched_genmove(&mut self, request: &Request, id: &str, out: &mut dyn FnMut(&str)) {
        let size = self.game.size();
        let asked = match AnalyzeRequest::parse(style_of(&request.name), &request.args, size) {
            Ok(asked) => asked,
            Err(message) => return out(&format!("?{id} {}\n\n", body(&message))),
        };
        let color = asked.color.unwrap_or(self.game.position().to_move());
        let mut begun = false;
        let mut report = |line: String| {
            let opening = if begun { String::new() } else { format!("={id}\n") };
            begun = true;
            out(&format!("{opening}{line}"));
        };
        let mut tell = |analysis: &crate::analysis::PositionAnalysis| {
            let line = analysis.line(size, &asked);
            if !line.is_empty() {
                report(line + "\n");
            }
        };
        let watcher = Watcher {
            request: &asked,
            report: &mut tell,
        };
        let answer = self.search(color, Purpose::Move, Some(watcher));
        let played = answer.and_then(|answer| {
            answer.analysis.as_ref().inspect(|analysis| tell(analysis));
            self.play_answer(color, &answer)
        });
        match played {
            Ok(mv) => report(format!("play {mv}\n\n")),
            // The reply has already begun as a success, so it ends without a move.
            Err(_) if begun => out("\n"),
            Err(message) => out(&format!("?{id} {}\n\n", body(&message))),
        }
    }

    fn search(&mut self, color: Color, purpose: Purpose, watcher: Option<Watcher<'_>>) -> Result<Genmove, String> {
        let position = self.game.position_for(color);
        if position.is_over() {
            // A long cycle has tied the game, so there is nothing to search.
            return Ok(Genmove::plain(Move::Pass));
        }
        let turn = Turn {
            will_be_played: purpose != Purpose::Regression,
            cleanup: purpose == Purpose::Cleanup,
            ..Turn::unplayed(&position, self.game.komi(), &self.clock)
        };
        let answer = self
            .engine
            .genmove(&turn, watcher)
            .map_err(|error: EngineError| error.to_string())?;
        self.seconds_used += answer.seconds;
        if purpose != Purpose::Regression {
            self.clock.spend(color, answer.seconds);
        }
        Ok(answer)
    }

    fn play_answer(&mut self, color: Color, answer: &Genmove) -> Outcome {
        let Some(mv) = answer.mv else {
            self.resigned = Some(color);
            return Ok("resign".to_owned());
        };
        self.game
            .play(color, mv)
            .map_err(|error| format!("the engine chose an {error}"))?;
        self.pondering_after = Some(self.game.turns().len());
        self.resigned = None;
        Ok(gtp_move(self.game.size(), mv))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_written_in_gtp_notation() {
        let size = tengen_rules::Size::square(9).expect("a size");
        assert_eq!(gtp_move(size, Move::Pass).to_ascii_lowercase(), "pass");
    }
}
