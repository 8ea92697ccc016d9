//! Positions of earlier games from which new games can begin.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tengen_records::{GameRecord, PlyRecord};
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

/// The moves of a game, and where its searches were surprised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    size: String,
    /// Board indices of the moves.
    moves: Vec<u16>,
    /// For each move, how much the search before it changed the network's value, in thousandths, 0 to 2000; may be
    /// missing at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    surprises: Vec<u16>,
}

impl Line {
    /// The number of moves before the last two, which end the game.
    fn before_end(&self) -> usize {
        self.moves.len().saturating_sub(2)
    }

    /// Plays the first moves on an empty board; returns their number.
    fn play(&self, plies: usize, position: &mut Position) -> u16 {
        let size = position.size();
        let moves = self.moves[..plies].iter();
        // A snapshot may have been edited by hand, and a long cycle ends a game under some rules.
        play_while_possible(
            moves.map_while(|&index| Move::from_index(size, usize::from(index))),
            position,
        )
    }

    /// How surprising the position after this number of moves was.
    fn surprise(&self, plies: usize) -> usize {
        self.surprises.get(plies).map_or(0, |&surprise| usize::from(surprise))
    }
}

impl EarlierGames {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers a finished game, with its surprises if games may begin from them.
    pub(crate) fn add(&mut self, game: &GameRecord, with_surprises: bool) {
        let size = game.size;
        self.remember(Line {
            size: size.to_string(),
            moves: game.plies.iter().map(|ply| ply.mv.index(size) as u16).collect(),
            surprises: match with_surprises {
                true => game.plies.iter().map(surprise).collect(),
                false => Vec::new(),
            },
        });
    }

    fn remember(&mut self, line: Line) {
        self.0.push_back(line);
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

    /// Plays up to one of the positions of all these games, each as likely as it was surprising. Returns the number of
    /// moves, 0 if no position was.
    pub(crate) fn play_to_surprise(&self, position: &mut Position, rng: &mut Rng) -> u16 {
        let lines = self.of_size(position.size());
        let surprises = |line: &Line| (1..=line.before_end()).map(|plies| line.surprise(plies)).sum::<usize>();
        let total = lines.iter().map(|line| surprises(line)).sum();
        if total == 0 {
            return 0;
        }
        let mut left = rng::below(rng, total);
        for line in lines {
            for plies in 1..=line.before_end() {
                match left.checked_sub(line.surprise(plies)) {
                    Some(rest) => left = rest,
                    None => return line.play(plies, position),
                }
            }
        }
        unreachable!("the number drawn is less than the sum of all")
    }

    /// Plays a number of moves of one of these games that `draw` chooses, given how many there are before the last two.
    fn begin(&self, position: &mut Position, rng: &mut Rng, draw: impl FnOnce(&mut Rng, usize) -> usize) -> u16 {
        let lines = self.of_size(position.size());
        if lines.is_empty() {
            return 0;
        }
        let line = lines[rng::below(rng, lines.len())];
        let plies = draw(rng, line.before_end());
        line.play(plies, position)
    }

    /// The games on boards of this size that have moves before the last two.
    fn of_size(&self, size: Size) -> Vec<&Line> {
        let fits = |line: &&Line| line.before_end() > 0 && line.size.parse::<Size>().is_ok_and(|own| own == size);
        self.0.iter().filter(fits).collect()
    }
}

/// How much the search of a ply changed the network's value, in thousandths; 0 without a search.
fn surprise(ply: &PlyRecord) -> u16 {
    match ply.root_visits {
        0 => 0,
        _ => ((ply.root_value - ply.network_value).abs() * 1000.0).round() as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(earlier: &mut EarlierGames, moves: &[u16]) {
        add_with(earlier, moves, &[]);
    }

    fn add_with(earlier: &mut EarlierGames, moves: &[u16], surprises: &[u16]) {
        earlier.remember(Line {
            size: Size::square(3).unwrap().to_string(),
            moves: moves.to_vec(),
            surprises: surprises.to_vec(),
        });
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
    fn positions_are_as_likely_as_they_were_surprising() {
        let mut earlier = EarlierGames::default();
        let mut rng = rng::stream(1, &[]);
        let mut begin = |earlier: &EarlierGames| {
            let mut position = Position::new(Size::square(3).unwrap());
            let plies = earlier.play_to_surprise(&mut position, &mut rng);
            assert_eq!(usize::from(plies), position.ply());
            position.moves().to_vec()
        };
        add(&mut earlier, &[0, 1, 2, 9, 9]);
        assert!(begin(&earlier).is_empty(), "nothing was a surprise");
        // The empty board and positions that only the last two moves reach do not count.
        add_with(&mut earlier, &[4, 1, 7, 9, 9], &[2000, 0, 250, 500, 2000]);
        add_with(&mut earlier, &[3, 5, 9, 9], &[0, 250]);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..400 {
            *counts
                .entry(
                    begin(&earlier)
                        .iter()
                        .map(|mv| mv.index(Size::square(3).unwrap()))
                        .collect(),
                )
                .or_insert(0) += 1;
        }
        let seen: Vec<Vec<usize>> = counts.keys().cloned().collect();
        assert_eq!(seen, [vec![3], vec![4, 1], vec![4, 1, 7]]);
        let counts: Vec<i32> = counts.into_values().collect();
        assert!(
            (70..130).contains(&counts[0]) && (70..130).contains(&counts[1]),
            "{counts:?}"
        );
    }

    #[test]
    fn the_search_is_surprised_where_it_disagrees_with_the_network() {
        let ply = |root_visits, root_value, network_value| PlyRecord {
            root_visits,
            root_value,
            network_value,
            ..PlyRecord::bare(Move::Pass)
        };
        assert_eq!(surprise(&ply(8, -0.5, 0.25)), 750);
        assert_eq!(surprise(&ply(0, 0.0, 0.25)), 0, "an opening ply");
    }

    #[test]
    fn old_games_are_forgotten() {
        let mut earlier = EarlierGames::default();
        for index in 0..REMEMBERED + 5 {
            add(&mut earlier, &[index as u16 % 9, 9, 9]);
        }
        assert_eq!(earlier.0.len(), REMEMBERED);
        assert_eq!(earlier.0[0].moves[0], 5);
    }
}
