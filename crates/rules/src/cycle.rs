//! Long cycles: plays that recreate the grid of an earlier play under basic ko.

use crate::color::Color;
use crate::moves::Move;
use crate::play::{INDEX, button_key, record_key};
use crate::point::Point;
use crate::position::{Position, Turn};
use crate::rules::{KoRule, LongCycle};

impl Position {
    /// Whether the current play at a point, which produces `turn`, closes a cycle that ties the game.
    #[cold]
    pub(crate) fn closes_cycle(&self, point: Point, turn: &Turn) -> bool {
        if self.rules.ko != KoRule::Basic {
            return false;
        }
        let key = turn.hash() ^ button_key(turn);
        let earlier = self.table.find_all(key, |i| record_key(KoRule::Basic, &self.turns, i));
        earlier.into_iter().any(|number| match self.rules.long_cycle {
            LongCycle::GoesOn => false,
            LongCycle::TieIfEqual => {
                let [black, white] = self.removed_since(number, point, turn);
                black == white
            }
            LongCycle::PracticeTie => {
                self.turns[number].next() == turn.next() && !self.moves[number..].contains(&Move::Pass)
            }
        })
    }

    /// The number of stones of each color removed after turn `number`, including those removed by the current play.
    fn removed_since(&self, number: usize, point: Point, turn: &Turn) -> [usize; 2] {
        let mut removed = [0; 2];
        let plays = self.moves[number..].iter().copied().chain([Move::Play(point)]);
        let turns: Vec<&Turn> = self.turns[number + 1..].iter().chain([turn]).collect();
        for (i, mv) in plays.enumerate() {
            let end = turns
                .get(i + 1)
                .map_or(self.removed.len(), |t| t.removed_before as usize);
            let turn = turns[i];
            let stones = &self.removed[turn.removed_before as usize..end];
            let suicide = mv
                .point()
                .is_some_and(|p| stones.iter().any(|&s| usize::from(s & INDEX) == p.index()));
            let color: Color = if suicide { turn.mover() } else { turn.mover().opposite() };
            removed[color.index()] += stones.len();
        }
        removed
    }
}
