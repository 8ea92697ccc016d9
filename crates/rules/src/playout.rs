//! Random games: rollouts for search without a network, and workloads for measuring speed.
//!
//! The crate has no source of randomness of its own: callers pass a function that returns 64 random bits.

use crate::moves::Move;
use crate::point::Point;
use crate::position::Position;

/// Plays a random game for a search and returns the number of turns taken.
///
/// Each turn is chosen with equal probability among the legal plays that neither fill a one-point eye of the player to
/// move ([`Position::is_one_point_eye`]) nor remove the player's own chain; if there is none, it is a pass. The game
/// ends after two passes or `3 * area` turns.
pub fn rollout(position: &mut Position, mut random: impl FnMut() -> u64) -> usize {
    let limit = 3 * position.size().area();
    let start = position.ply();
    while !position.is_over() && position.ply() - start < limit {
        let mv = rollout_move(position, &mut random);
        position.play_unchecked(mv);
    }
    position.ply() - start
}

/// Plays a light random game to its end and returns the number of turns taken.
///
/// Each turn starts at a random point and scans forward in reading order, wrapping around, to the first legal point
/// that is not a one-point eye of the player to move ([`Position::is_one_point_eye`]); if there is none, it passes. The
/// game ends after two passes or `3 * area` turns.
pub fn light_playout(position: &mut Position, random: impl FnMut() -> u64) -> usize {
    light_turns(position, 3 * position.size().area(), random)
}

/// Like [`light_playout`], but for at most `limit` turns.
pub fn light_turns(position: &mut Position, limit: usize, mut random: impl FnMut() -> u64) -> usize {
    let area = position.size().area();
    let start = position.ply();
    while !position.is_over() && position.ply() - start < limit {
        let mv = light_move(position, below(random(), area));
        position.play_unchecked(mv);
    }
    position.ply() - start
}

/// Plays a random game in which every turn lists all legal moves, including the pass, and chooses one of them with
/// equal probability; returns the number of turns taken. The game ends after two passes or `3 * area` turns.
pub fn uniform_playout(position: &mut Position, mut random: impl FnMut() -> u64) -> usize {
    let limit = 3 * position.size().area();
    let start = position.ply();
    while !position.is_over() && position.ply() - start < limit {
        let legal = position.legal_points();
        let choice = below(random(), legal.len() + 1);
        position.play_unchecked(legal.nth(choice).map_or(Move::Pass, Move::Play));
    }
    position.ply() - start
}

/// A random move that spares the player's own eyes and chains.
#[inline]
fn rollout_move(position: &Position, random: &mut impl FnMut() -> u64) -> Move {
    let mut untried = position.empty_points();
    for count in (1..=untried.len()).rev() {
        let Some(point) = untried.nth(below(random(), count)) else {
            break;
        };
        if position.is_sensible(point) {
            return Move::Play(point);
        }
        untried.remove(point);
    }
    Move::Pass
}

/// The first legal point from `start` on that does not fill the player's own one-point eye, or a pass.
#[inline]
fn light_move(position: &Position, start: usize) -> Move {
    let empty = position.empty_points();
    let suits =
        |point: Point| !position.is_one_point_eye(point, position.to_move()) && position.is_permitted(point.index());
    let mut from = start;
    while let Some(point) = empty.next_from(from) {
        if suits(point) {
            return Move::Play(point);
        }
        from = point.index() + 1;
    }
    from = 0;
    while let Some(point) = empty.next_from(from) {
        if point.index() >= start {
            break;
        }
        if suits(point) {
            return Move::Play(point);
        }
        from = point.index() + 1;
    }
    Move::Pass
}

/// Maps 64 random bits to a number below `n`.
#[inline]
fn below(bits: u64, n: usize) -> usize {
    ((u128::from(bits) * n as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::Color;
    use crate::rules::Rules;
    use crate::size::Size;

    #[test]
    fn rollouts_end_without_suicide_or_filled_eyes() {
        let size = Size::square(5).expect("a size");
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ (state >> 33)
        };
        let mut limited = 0;
        for game in 0..200 {
            let mut played = Position::with_rules(size, Rules::tromp_taylor()).between_machines();
            rollout(&mut played, &mut random);
            limited += usize::from(!played.is_over());
            let mut replayed = Position::with_rules(size, Rules::tromp_taylor()).between_machines();
            for &mv in played.moves() {
                if let Move::Play(point) = mv {
                    assert!(!replayed.is_one_point_eye(point, replayed.to_move()), "game {game}");
                    replayed.try_play(mv).expect("a legal move");
                    assert!(replayed.at(point).is_some(), "game {game}: suicide");
                } else {
                    assert!(replayed.sensible_points().is_empty(), "game {game}: an early pass");
                    replayed.play(mv);
                }
            }
        }
        assert!(limited < 20, "{limited} of 200 rollouts reached the limit");
        let mut settled = Position::new(Size::new(3, 1).expect("a size"));
        settled.play(Move::parse(settled.size(), "B1").expect("a move"));
        assert_eq!(
            rollout(&mut settled, &mut random),
            2,
            "White has only suicides, and Black only eyes"
        );
        assert_eq!(settled.stones(Color::Black).len(), 1);
    }
}
