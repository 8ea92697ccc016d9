//! Comparisons of a device with the CPU, and positions for them.

use serde::Serialize;

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_rules::{Komi, Move, Position, Size};

/// One comparison of a device with the CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfTest {
    /// What was compared.
    pub name: String,
    /// Whether the difference is within bounds.
    pub passed: bool,
    /// The difference and its bound, or the error.
    pub found: String,
}

impl SelfTest {
    /// The larger of two differences; NaN is the worst.
    pub fn worse(a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            f64::INFINITY
        } else {
            a.max(b)
        }
    }

    /// A comparison that passes if the largest difference is at most `bound`.
    pub fn of(name: impl Into<String>, difference: Result<f64, String>, bound: f64) -> SelfTest {
        let (passed, found) = match difference {
            Ok(difference) => (
                difference <= bound,
                format!("difference {difference:.2e}, at most {bound:.0e}"),
            ),
            Err(error) => (false, error),
        };
        SelfTest {
            name: name.into(),
            passed,
            found,
        }
    }
}

/// Different positions of games on boards of these sizes, in turn, on a 9x9 canvas.
pub fn positions(planes: PlaneSet, boards: &[&str]) -> InputBatch {
    let mut batch = InputBatch::with_planes(Size::square(9).expect("9x9 is a board"), planes);
    let begin = |board: &&str| Position::new(board.parse().expect("a board size"));
    let mut games: Vec<Position> = boards.iter().map(begin).collect();
    for ply in 0..24usize {
        let position = &mut games[ply % boards.len()];
        batch.push(&Features::of(position, Komi::from_half_points(ply as i16 * 3 - 20)));
        let legal = position.legal_points();
        let choice = legal.nth((ply * 31 + 17) % legal.len().max(1));
        position.play(choice.map_or(Move::Pass, Move::Play));
    }
    batch
}
