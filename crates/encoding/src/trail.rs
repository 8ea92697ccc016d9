//! A position's last turns: what networks of other programs see besides the board.

use tengen_rules::{Color, ImageTable, Move, PastBoard, Point, PointSet, Position, Rules, Size, Symmetry};

use crate::features::{Features, PLANE_BANNED};

/// Number of turns that a [`Trail`] remembers.
const TURNS: usize = 5;

/// Number of boards that a [`Trail`] remembers.
const BOARDS: usize = 3;

/// A position with its last turns, as plain sets of points.
///
/// Our own networks see no earlier turns. Those of other programs do, and derive their inputs from this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail {
    /// The size of the board.
    pub size: Size,
    /// The rules of the game.
    pub rules: Rules,
    /// The side to move.
    pub mover: Color,
    /// The current board, the board before the last turn, and the board before the turn before that. A game with fewer
    /// turns repeats its start.
    pub boards: [Board; BOARDS],
    /// The last turns and who took them, newest first; `None` before the start.
    pub turns: [Option<(Color, Move)>; TURNS],
    /// The number of consecutive passes that led to the position.
    pub passes: u32,
    /// Empty points banned for the mover by the ko rule (including one-stone suicides).
    pub banned: PointSet,
    /// Half points that the mover gets in addition to the points on the board, including komi, handicap bonus, and,
    /// under territory scoring, prisoners.
    pub komi_half_points: i32,
}

/// A board as a [`Trail`] remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// The stones of each color, by [`Color::index`].
    pub stones: [PointSet; 2],
    /// Where a ko could have been retaken at once, whatever the ko rule says about it.
    pub ko: Option<Point>,
}

impl From<PastBoard> for Board {
    fn from(PastBoard { stones, ko, .. }: PastBoard) -> Board {
        Board { stones, ko }
    }
}

impl Trail {
    /// The trail of a position with these features.
    pub(crate) fn of(position: &Position, features: &Features) -> Trail {
        let mut past = position.look_back();
        let present = past.next().expect("there is a present board");
        let mut turns = [None; TURNS];
        turns[0] = present.turn;
        let mut boards = [Board::from(present); BOARDS];
        for (number, earlier) in (1..TURNS).zip(past) {
            turns[number] = earlier.turn;
            if number < BOARDS {
                boards[number..].fill(Board::from(earlier));
            }
        }
        Trail {
            size: position.size(),
            rules: position.rules(),
            mover: position.to_move(),
            boards,
            turns,
            passes: position.consecutive_passes(),
            banned: features.planes[PLANE_BANNED],
            komi_half_points: (features.komi * 2.0) as i32,
        }
    }

    /// The mirror image of the trail under a symmetry that keeps the size of the board.
    pub(crate) fn transformed(&self, symmetry: Symmetry) -> Trail {
        let map = ImageTable::of(self.size).map_of(symmetry);
        let board = |board: Board| Board {
            stones: board.stones.map(|stones| map.image(&stones)),
            ko: board.ko.map(|point| symmetry.apply(self.size, point)),
        };
        let turn = |(color, mv): (Color, Move)| (color, symmetry.apply_move(self.size, mv));
        Trail {
            boards: self.boards.map(board),
            turns: self.turns.map(|known| known.map(turn)),
            banned: map.image(&self.banned),
            ..self.clone()
        }
    }

    /// Everything that can differ between two trails of positions with equal planes, komi, rules, and mover's view.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let in_use = self.size.area().div_ceil(64);
        let index = |point: Option<Point>| point.map_or(u64::MAX, |point| point.index() as u64);
        let turn = |known: &Option<(Color, Move)>| match known {
            None => u64::MAX,
            Some((color, mv)) => (mv.index(self.size) as u64) << 1 | color.index() as u64,
        };
        let past = self.boards.iter().skip(1).flat_map(move |board| {
            let stones = board.stones.into_iter();
            stones.flat_map(move |set| set.words().iter().copied().take(in_use).collect::<Vec<_>>())
        });
        let kos = self.boards.iter().map(move |board| index(board.ko));
        let rest = [self.mover.index() as u64, u64::from(self.passes)];
        past.chain(kos).chain(self.turns.iter().map(turn)).chain(rest)
    }
}

#[cfg(test)]
mod tests {
    use tengen_rules::Komi;

    use super::*;
    use crate::plane_set::PlaneSet;

    fn trail(position: &Position) -> Features {
        Features::seen_with(PlaneSet::TRAIL, position, Komi::from_half_points(15))
    }

    fn played(moves: &str) -> Position {
        let size = Size::square(5).unwrap();
        let mut position = Position::new(size);
        for text in moves.split_whitespace() {
            position.play(Move::parse(size, text).unwrap());
        }
        position
    }

    #[test]
    fn the_order_of_turns_is_in_the_key_of_those_who_see_it_only() {
        let komi = Komi::from_half_points(15);
        let (a, b) = (played("A1 B2 C3 D4"), played("C3 D4 A1 B2"));
        assert_eq!(Features::of(&a, komi).key(), Features::of(&b, komi).key());
        assert_ne!(trail(&a).key(), trail(&b).key());
        assert_eq!(trail(&a).key(), trail(&a.clone()).key());
        assert_ne!(trail(&a).key(), Features::of(&a, komi).key());
    }

    #[test]
    fn short_games_repeat_their_start() {
        let start = trail(&played("")).trail.unwrap();
        assert_eq!((start.boards[2], start.turns), (start.boards[0], [None; TURNS]));
        let two = trail(&played("A1 pass")).trail.unwrap();
        assert_eq!(two.boards[0].stones, two.boards[1].stones);
        assert_eq!(two.boards[2].stones, [PointSet::new(); 2]);
        assert_eq!(two.turns[0], Some((Color::White, Move::Pass)));
        assert_eq!((two.passes, two.komi_half_points), (1, -15));
        assert_eq!(two.turns[2], None);
    }

    #[test]
    fn the_image_of_a_trail_is_the_trail_of_the_image() {
        let position = played("B3 C3 A2 D2 B1 C1 C2 B2");
        assert!(trail(&position).trail.unwrap().boards[0].ko.is_some());
        for &symmetry in Symmetry::all(position.size()) {
            assert_eq!(
                trail(&position).transformed(symmetry),
                trail(&position.transformed(symmetry))
            );
        }
    }
}
