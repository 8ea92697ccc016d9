//! Positions of earlier games from which new games can begin.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tengen_rng::{self as rng, Rng};
use tengen_rules::{Move, Position, Size};

use crate::setup::play_while_possible;

/// The number of games that a group remembers: about as many as are usually in flight, so forks are about as old as the
/// games they are played alongside.
const REMEMBERED: usize = 64;

/// The group's last finished games, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct EarlierGames(VecDeque<Line>);

/// The moves of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    size: String,
    /// Board indices of the moves.
    moves: Vec<u16>,
}

impl EarlierGames {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers a finished game.
    pub(crate) fn add(&mut self, size: Size, moves: impl Iterator<Item = Move>) {
        self.0.push_back(Line {
            size: size.to_string(),
            moves: moves.map(|mv| mv.index(size) as u16).collect(),
        });
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    /// Plays the first moves of one of these games on an empty board of the same size; any position before the game's
    /// last two moves, which end it, is equally likely. Returns the number of moves, 0 if there is no such game.
    pub(crate) fn play_into(&self, position: &mut Position, rng: &mut Rng) -> u16 {
        self.begin(position, rng, |rng, most| 1 + rng::below(rng, most))
    }

    /// The same, but 0 to `most` moves, each number equally likely.
    pub(crate) fn play_at_most(&self, most: u32, position: &mut Position, rng: &mut Rng) -> u16 {
        self.begin(position, rng, |rng, all| rng::below(rng, all.min(most as usize) + 1))
    }

    /// Plays a number of moves of one of these games that `draw` chooses, given how many there are before the last two.
    fn begin(&self, position: &mut Position, rng: &mut Rng, draw: impl FnOnce(&mut Rng, usize) -> usize) -> u16 {
        let size = position.size();
        let fits = |line: &&Line| line.moves.len() > 2 && line.size.parse::<Size>().is_ok_and(|own| own == size);
        let lines: Vec<&Line> = self.0.iter().filter(fits).collect();
        if lines.is_empty() {
            return 0;
        }
        let line = lines[rng::below(rng, lines.len())];
        let plies = draw(rng, line.moves.len() - 2);
        let moves = line.moves[..plies].iter();
        // A snapshot may have been edited by hand, and a long cycle ends a game under some rules.
        play_while_possible(
            moves.map_while(|&index| Move::from_index(size, usize::from(index))),
            position,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(earlier: &mut EarlierGames, moves: &[usize]) {
        let size = Size::square(3).unwrap();
        earlier.add(size, moves.iter().map(|&index| Move::from_index(size, index).unwrap()));
    }

    #[test]
    fn every_position_before_the_end_is_reached() {
        let mut earlier = EarlierGames::default();
        let mut rng = rng::stream(1, &[]);
        let mut position = Position::new(Size::square(3).unwrap());
        assert_eq!(earlier.play_into(&mut position, &mut rng), 0);
        add(&mut earlier, &[4, 1, 7, 9, 9]);
        let mut counts = [0; 6];
        for _ in 0..300 {
            let mut position = Position::new(Size::square(3).unwrap());
            let plies = earlier.play_into(&mut position, &mut rng);
            assert_eq!(usize::from(plies), position.ply());
            assert!(!position.is_over());
            counts[usize::from(plies)] += 1;
        }
        assert!(counts[1..4].iter().all(|&count| count > 60), "{counts:?}");
        assert_eq!([counts[0], counts[4], counts[5]], [0; 3]);
        let mut other = Position::new(Size::square(4).unwrap());
        assert_eq!(earlier.play_into(&mut other, &mut rng), 0);
    }

    #[test]
    fn old_games_are_forgotten() {
        let mut earlier = EarlierGames::default();
        for index in 0..REMEMBERED + 5 {
            add(&mut earlier, &[index % 9, 9, 9]);
        }
        assert_eq!(earlier.0.len(), REMEMBERED);
        assert_eq!(earlier.0[0].moves[0], 5);
    }
}
