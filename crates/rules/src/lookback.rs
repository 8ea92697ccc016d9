//! The boards of the last few turns.

use crate::color::Color;
use crate::moves::Move;
use crate::play::{INDEX, removed_color};
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::Position;

/// The board after one of the last turns of a game, or at its start.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct PastBoard {
    /// The stones of each color, by [`Color::index`].
    pub stones: [PointSet; 2],
    /// The turn that led to this board, and who took it; `None` at the start.
    pub turn: Option<(Color, Move)>,
    /// Where retaking a ko would be: the point of a single stone that the turn captured, with a stone that has no
    /// neighbor of its own color and no other liberty.
    pub ko: Option<Point>,
}

impl Position {
    /// The present board and those of the turns before, newest first; the last one is the start.
    pub fn look_back(&self) -> impl Iterator<Item = PastBoard> + '_ {
        let mut stones = self.stones;
        (0..=self.moves.len()).rev().map(move |ply| {
            let after = stones;
            let Some(before) = ply.checked_sub(1) else {
                return PastBoard {
                    stones: after,
                    turn: None,
                    ko: None,
                };
            };
            let (mv, mover) = (self.moves[before], self.turns[ply].mover());
            let removed = self.removed_by(ply);
            for &entry in removed {
                stones[removed_color(entry)].set(usize::from(entry & INDEX));
            }
            if let Move::Play(point) = mv {
                stones[mover.index()].remove(point);
            }
            PastBoard {
                stones: after,
                turn: Some((mover, mv)),
                ko: self.ko_left(&after, mover, mv, removed),
            }
        })
    }

    /// The list of the stones that turn `ply` (1 is the first) removed.
    fn removed_by(&self, ply: usize) -> &[u16] {
        let start = self.turns[ply].removed_before as usize;
        let end = self
            .turns
            .get(ply + 1)
            .map_or(self.removed.len(), |next| next.removed_before as usize);
        &self.removed[start..end]
    }

    /// The ko point of a board after a turn that removed these stones.
    fn ko_left(&self, after: &[PointSet; 2], mover: Color, mv: Move, removed: &[u16]) -> Option<Point> {
        let (Move::Play(point), &[entry]) = (mv, removed) else {
            return None;
        };
        if removed_color(entry) == mover.index() {
            return None;
        }
        let mut around = PointSet::new();
        around.insert(point);
        let around = self.geometry().adjacent(&around);
        let open = (around - after[0] - after[1]).len();
        let alone = (around & after[mover.index()]).is_empty();
        (alone && open == 1)
            .then(|| Point::from_index(self.size(), usize::from(entry & INDEX)))
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use tengen_rng::{below, stream};

    use super::*;
    use crate::rules::{KoRule, Rules, Suicide};
    use crate::size::Size;

    /// Random games whose boards are remembered; suicide and handicap plays are among their turns.
    #[test]
    fn past_boards_are_those_that_were_played() {
        let basic = Rules {
            ko: KoRule::Basic,
            suicide: Suicide::MultiOnly,
            ..Rules::tromp_taylor()
        };
        for (seed, size) in [(1, "3x3"), (2, "5x5"), (3, "4x2"), (4, "7x7"), (5, "1x6")] {
            for rules in [Rules::tromp_taylor(), basic] {
                let size: Size = size.parse().unwrap();
                let mut rng = stream(seed, &[size.area() as u64]);
                let mut position = Position::with_rules(size, rules);
                let mut known = vec![(position.stones, None)];
                for _ in 0..200 {
                    let points = position.legal_points();
                    let mv = match below(&mut rng, 20) {
                        0 => Move::Pass,
                        _ if points.is_empty() => Move::Pass,
                        _ => Move::Play(points.nth(below(&mut rng, points.len())).unwrap()),
                    };
                    let mover = position.to_move();
                    position.play(mv);
                    known.push((position.stones, Some((mover, mv))));
                    let found: Vec<_> = position.look_back().map(|past| (past.stones, past.turn)).collect();
                    assert!(found.iter().eq(known.iter().rev()));
                    if position.is_over() {
                        position = Position::with_rules(size, rules);
                        known = vec![(position.stones, None)];
                    }
                }
            }
        }
    }

    #[test]
    fn a_ko_is_seen_until_the_next_turn() {
        let size = Size::square(5).unwrap();
        let play = |moves: &str| {
            let mut position = Position::new(size);
            for text in moves.split(' ') {
                position.play(Move::parse(size, text).unwrap());
            }
            let ko = position.look_back().next().unwrap().ko;
            ko.map(|point| Move::Play(point).format(size))
        };
        assert_eq!(play("B3 C4 A2 D3 B1 C2 C3 B2").as_deref(), None, "nothing is captured");
        assert_eq!(
            play("A2 A1 B1").as_deref(),
            None,
            "the stone that captures has other liberties"
        );
        assert_eq!(play("B3 C3 A2 D2 B1 C1 C2 B2").as_deref(), Some("C2"));
        assert_eq!(play("B3 C3 A2 D2 B1 C1 C2 B2 pass").as_deref(), None, "a pass lifts it");
    }
}
