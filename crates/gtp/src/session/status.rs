//! The state of the board: score, status of stones, and the board as text.

use tengen_rules::{Color, Judge, LIFE_NODES, Margin, PointSet, Position, Scoring, format_point};

use super::{Args, Outcome, Session};
use crate::engine::{Engine, StoneStatus, Turn};
use crate::showboard::show_board;

/// A chain counts as dead if the opponent's mean ownership of its points is above this value.
const DEAD_FROM: f32 = 0.5;

impl<E: Engine> Session<E> {
    /// The score of the current board under the rules of the game, as `B+3`, `W+0.5` or `0`.
    pub(super) fn final_score(&self) -> Outcome {
        if self.game.position().is_tied_by_cycle() {
            return Ok(Margin::default().to_string());
        }
        let count = Judge::default().count(self.game.position(), self.game.komi());
        count.map(|count| count.margin.to_string()).ok_or_else(|| {
            "cannot score: it is not yet decided which chains are independently alive; play on".to_owned()
        })
    }

    /// Lists the chains with the requested status.
    ///
    /// After both players have passed, all stones on the board are alive under area scoring. Under territory scoring, a
    /// search decides which chains are independently alive; of the others, those that scoring removes are dead, and the
    /// rest are in seki. Before the end, a chain is dead if the engine expects its points to belong to the opponent,
    /// with a mean ownership above 0.5 on a scale from −1 to 1; if the engine cannot predict ownership, all chains are
    /// alive. Area scoring does not distinguish seki from alive.
    pub(super) fn final_status_list(&mut self, args: &Args<'_>) -> Outcome {
        let status = match args.word(0).unwrap_or_default().to_ascii_lowercase().as_str() {
            "alive" => StoneStatus::Alive,
            "dead" => StoneStatus::Dead,
            "seki" => StoneStatus::Seki,
            _ => return Err("syntax error: expected alive, dead or seki".to_owned()),
        };
        if self.game.is_over() && self.game.rules().scoring == Scoring::Territory {
            return self.judged(status);
        }
        if status == StoneStatus::Seki {
            return Ok(String::new());
        }
        let ownership = self.expected_ownership()?;
        let wanted = |color: Color, chain: &PointSet| {
            let dead = ownership.as_ref().is_some_and(|map| is_lost(map, color, chain));
            dead == (status == StoneStatus::Dead)
        };
        Ok(chain_lines(self.game.position(), wanted))
    }

    /// The chains with this status after the end of a game under territory scoring.
    fn judged(&self, status: StoneStatus) -> Outcome {
        let position = self.game.position();
        let (alive, undecided) = position.independently_alive(LIFE_NODES);
        if !undecided.is_empty() {
            return Err("cannot list: it is not yet decided which chains are independently alive; play on".to_owned());
        }
        let removed = position.territory(&alive).removed;
        Ok(chain_lines(position, |_, chain| {
            let found = match (chain.intersects(&alive), chain.intersects(&removed)) {
                (true, _) => StoneStatus::Alive,
                (false, true) => StoneStatus::Dead,
                (false, false) => StoneStatus::Seki,
            };
            found == status
        }))
    }

    /// The ownership the engine expects; `None` if the game is over or the engine cannot predict it.
    fn expected_ownership(&mut self) -> Result<Option<Vec<f32>>, String> {
        if self.game.is_over() {
            return Ok(None);
        }
        let position = self.game.position().clone().between_machines();
        let turn = Turn::unplayed(&position, self.game.komi(), &self.clock);
        self.engine.ownership(&turn).map_err(|error| error.to_string())
    }

    pub(super) fn showboard(&self) -> String {
        let position = self.game.position();
        let to_move = format!("{:?}", position.to_move());
        let turns = self.game.turns().len();
        let warnings = self
            .engine
            .warnings()
            .into_iter()
            .map(|warning| format!("\nwarning: {warning}"));
        format!(
            "\n{}\n{to_move} to play, {turns} turns, komi {}{}",
            show_board(position),
            self.game.komi(),
            warnings.collect::<String>()
        )
    }
}

/// Whether the points of a chain are expected to belong to the other color.
fn is_lost(ownership: &[f32], color: Color, chain: &PointSet) -> bool {
    let sign = if color == Color::Black { -1.0 } else { 1.0 };
    let sum: f32 = chain.iter().filter_map(|point| ownership.get(point.index())).sum();
    sign * sum > DEAD_FROM * chain.len() as f32
}

/// One line per selected chain, in reading order.
fn chain_lines(position: &Position, wanted: impl Fn(Color, &PointSet) -> bool) -> String {
    let size = position.size();
    let mut seen = PointSet::new();
    let mut lines = Vec::new();
    for point in size.points() {
        let Some(color) = position.at(point).filter(|_| !seen.contains(point)) else {
            continue;
        };
        let chain = position.chain(point);
        seen = seen.union(&chain);
        if wanted(color, &chain) {
            let names: Vec<String> = chain.iter().map(|point| format_point(size, point)).collect();
            lines.push(names.join(" "));
        }
    }
    lines.join("\n")
}
