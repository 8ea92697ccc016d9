//! The weakest opponent that still finishes its games.

use tengen_rng as rng;
use tengen_rules::{Ending, Judge, Move, Point};

use crate::player::{Answer, Choice, Player, PlayerCost, PlayerError, Turn};

/// Plays at random, as follows:
///
/// 1. If the opponent has just passed and the player would not lose on the current board (after komi; a tie is not a
///    loss), it passes, which ends the game.
/// 2. Otherwise, it chooses uniformly among its legal plays that neither fill one of its own one-point eyes nor are
///    suicide. A one-point eye is surrounded by the player's own stones and the edge, and at most one of its diagonal
///    neighbors is an enemy stone, none if the eye is at the edge.
/// 3. If there is no such play, it passes.
///
/// Such games always end: as chains become alive, fewer plays are left, and superko forbids cycles.
#[derive(Clone, Debug, Default)]
pub struct RandomPlayer {
    name: Option<String>,
    moves: u64,
}

impl RandomPlayer {
    /// A random player, called `random` unless a name is given.
    pub fn new(name: Option<String>) -> RandomPlayer {
        RandomPlayer { name, moves: 0 }
    }
}

impl Player for RandomPlayer {
    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| "random".to_owned())
    }

    fn choose(&mut self, turns: &[Turn<'_>]) -> Result<Vec<Answer>, PlayerError> {
        self.moves += turns.len() as u64;
        Ok(turns
            .iter()
            .map(|turn| {
                Answer::Play(Choice {
                    mv: choose(turn),
                    search: None,
                })
            })
            .collect())
    }

    fn cost(&self) -> PlayerCost {
        PlayerCost {
            moves: self.moves,
            ..PlayerCost::default()
        }
    }
}

fn choose(turn: &Turn<'_>) -> Move {
    let position = turn.position;
    let color = position.to_move();
    if position.consecutive_passes() > 0 && may_end(turn) {
        return Move::Pass;
    }
    let mut plays: Vec<Point> = position.legal_points().iter().collect();
    let mut rng = rng::stream(turn.seed, &[position.ply() as u64]);
    while !plays.is_empty() {
        let point = plays.swap_remove(rng::below(&mut rng, plays.len()));
        if !position.is_one_point_eye(point, color) && !position.is_suicide(point) {
            return Move::Play(point);
        }
    }
    Move::Pass
}

/// Whether a second pass ends the game without a loss for the player.
fn may_end(turn: &Turn<'_>) -> bool {
    let mut position = turn.position.clone();
    position.play(Move::Pass);
    match Judge::default().ending(&position, turn.komi) {
        Some(Ending::Counted(count)) => count.margin.seen_by(turn.color()) >= 0,
        Some(Ending::TiedByCycle | Ending::UndecidedLife) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use tengen_rules::{Komi, Position, Size};

    use super::*;

    fn play(size: Size, moves: &str) -> Position {
        let mut position = Position::new(size);
        moves
            .split_whitespace()
            .for_each(|mv| position.play(Move::parse(size, mv).expect("a move")));
        position
    }

    fn choice(position: &Position, komi: i16, seed: u64) -> Move {
        choose(&Turn {
            slot: 0,
            game: 0,
            seed,
            position,
            komi: Komi::from_half_points(komi),
        })
    }

    #[test]
    fn suicide_is_detected_exactly() {
        let size = Size::square(4).expect("a size");
        let mut rng = rng::stream(7, &[]);
        for _ in 0..200 {
            let mut position = Position::new(size);
            for _ in 0..60 {
                let plays: Vec<Point> = position.legal_points().iter().collect();
                if plays.is_empty() {
                    break;
                }
                let point = plays[rng::below(&mut rng, plays.len())];
                let expected = position.is_suicide(point);
                position.play(Move::Play(point));
                assert_eq!(position.at(point).is_none(), expected);
            }
        }
    }

    #[test]
    fn passes_after_a_pass_only_when_not_behind() {
        let size = Size::square(3).expect("a size");
        let position = play(size, "B2 pass");
        assert_eq!(choice(&position, 0, 1), Move::Pass);
        assert_eq!(choice(&position, 18, 1), Move::Pass, "a tie is not a loss");
        assert_ne!(choice(&position, 19, 1), Move::Pass);
    }

    #[test]
    fn every_suitable_play_is_chosen_and_no_other() {
        // Black's only empty points A1, B3, and C1 are eyes, so Black passes.
        let size = Size::new(3, 3).expect("a size");
        let position = play(size, "A2 pass B2 pass C2 pass B1 pass A3 pass C3 pass");
        let position = {
            let mut p = position;
            p.undo();
            p.play(Move::Pass);
            p
        };
        let mut seen: Vec<String> = (0..50).map(|seed| choice(&position, 100, seed).format(size)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, ["pass"], "A1, C1 and B3 are eyes");
        let open = play(size, "B2 A3");
        let mut seen: Vec<String> = (0..300).map(|seed| choice(&open, 0, seed).format(size)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, ["A1", "A2", "B1", "B3", "C1", "C2", "C3"]);
    }

    #[test]
    fn games_end() {
        for side in [2, 3, 5, 7, 9] {
            let size = Size::square(side).expect("a size");
            for seed in 0..20 {
                let mut position = Position::new(size);
                while !position.is_over() {
                    position.play(choice(&position, 1, seed));
                    assert!(position.ply() < 12 * size.area(), "seed {seed} on {size}");
                }
            }
        }
    }
}
