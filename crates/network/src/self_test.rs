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
    /// What it means for the device if the comparison failed.
    pub consequence: Consequence,
    /// What to do if it failed.
    pub advice: &'static str,
}

/// What a failed comparison means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// Networks compute wrong numbers on the device.
    Wrong,
    /// Numbers are right, but computed in a slower way.
    Slow,
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

    /// A comparison that passes if the largest difference is at most `bound`. If it fails, the device is wrong.
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
            consequence: Consequence::Wrong,
            advice: "update the GPU's driver, and check that libtorch's CUDA part belongs to this libtorch; until this \
                     passes, use another --device",
        }
    }

    /// The same comparison with its own advice.
    #[must_use]
    pub fn advising(self, advice: &'static str) -> SelfTest {
        SelfTest { advice, ..self }
    }

    /// The same comparison for something that is not used if it fails, with what to do then.
    #[must_use]
    pub fn or_slow(self, advice: &'static str) -> SelfTest {
        SelfTest {
            consequence: Consequence::Slow,
            ..self.advising(advice)
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
