//! Counting legal turn sequences, a standard test of move generators.

use tengen_rules::{Move, Position};

/// The number of legal sequences of exactly `depth` turns, including passes; sequences end with the game.
///
/// The position is unchanged afterwards.
pub fn perft(position: &mut Position, depth: usize) -> u64 {
    if depth == 0 {
        return 1;
    }
    if position.is_over() {
        return 0;
    }
    let plays = position.legal_points();
    if depth == 1 {
        return plays.len() as u64 + 1;
    }
    let mut count = 0;
    for mv in plays.iter().map(Move::Play).chain([Move::Pass]) {
        position.play_unchecked(mv);
        count += perft(position, depth - 1);
        position.undo();
    }
    count
}
