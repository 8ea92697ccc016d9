//! Helpers for several test programs: boards as text, and the slow rules.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod slow;

use tengen_rules::{Color, PointSet, Position, Rules, Size};

/// The black and white stones of a board given as rows.
pub fn stones_of(rows: &[&str]) -> [PointSet; 2] {
    let size = Size::new(rows[0].len(), rows.len()).unwrap();
    let all: String = rows.concat();
    ['X', 'O'].map(|symbol| {
        size.points()
            .filter(|p| all.as_bytes()[p.index()] == symbol as u8)
            .collect()
    })
}

pub fn setup(rows: &[&str], rules: Rules, to_move: Color) -> Position {
    let [black, white] = stones_of(rows);
    let size = Size::new(rows[0].len(), rows.len()).unwrap();
    Position::from_setup(size, rules, &black, &white, to_move).unwrap()
}
