//! Which komi makes games from the empty board even?

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use tengen_encoding::Features;
use tengen_rules::{Position, Rules, Size};
use tengen_search::{PredictError, Predictions, Predictor};

use crate::setup::rounded;

/// How often a network is asked about each board. Trained networks change their answer by less than half a point after
/// the second time.
const QUESTIONS: usize = 4;

/// The fair komi of each board, in points: Black's margin, before komi, that a network expects of the empty board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, f64>", into = "BTreeMap<String, f64>")]
pub struct FairKomi {
    boards: BTreeMap<Size, f64>,
}

impl FairKomi {
    /// A fair komi of 0 on every board.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fair komi of a board in points, that is, Black's expected margin; 0 if unknown.
    pub fn of(&self, size: Size) -> f64 {
        self.boards.get(&size).copied().unwrap_or(0.0)
    }

    /// Sets the fair komi of a board, in points.
    pub fn set(&mut self, size: Size, points: f64) {
        self.boards.insert(size, points);
    }

    /// What a network considers fair on empty boards of these sizes.
    ///
    /// # Errors
    /// If the network cannot be run or says something impossible.
    pub fn according_to(predictor: &mut dyn Predictor, sizes: &[Size], rules: Rules) -> Result<Self, PredictError> {
        let mut fair = Self::new();
        let mut out = Predictions::default();
        for &size in sizes {
            let position = Position::with_rules(size, rules);
            let mut inputs = predictor.new_batch(size);
            // What the network expects depends a little on the komi, so it is asked again at the komi it has named.
            for _ in 0..QUESTIONS {
                let komi = rounded(size, fair.of(size));
                inputs.clear();
                inputs.push(&Features::seen_with(inputs.plane_set(), &position, komi));
                predictor.predict(&inputs, &mut out)?;
                out.check(1, size)?;
                let margin = f64::from(out.margin[0]) + f64::from(komi.points());
                let limit = size.area() as f64;
                fair.set(size, margin.clamp(-limit, limit));
            }
        }
        Ok(fair)
    }
}

impl From<FairKomi> for BTreeMap<String, f64> {
    fn from(fair: FairKomi) -> Self {
        fair.boards
            .into_iter()
            .map(|(size, points)| (size.to_string(), points))
            .collect()
    }
}

impl TryFrom<BTreeMap<String, f64>> for FairKomi {
    type Error = String;

    fn try_from(boards: BTreeMap<String, f64>) -> Result<Self, String> {
        let parse = |(size, points): (String, f64)| match size.parse::<Size>() {
            Ok(size) if points.is_finite() => Ok((size, points)),
            Ok(_) => Err(format!("the fair komi of {size} is not a number")),
            Err(error) => Err(format!("`{size}` is not a board: {error}")),
        };
        Ok(Self {
            boards: boards.into_iter().map(parse).collect::<Result<_, String>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_encoding::InputBatch;

    /// Expects Black to win by 8 before komi at a komi of 0, and by less the higher the komi is.
    struct Weakening;

    impl Predictor for Weakening {
        fn predict(&mut self, inputs: &InputBatch, out: &mut Predictions) -> Result<(), PredictError> {
            out.reset(inputs.len(), inputs.canvas());
            for (margin, komi) in out.margin.iter_mut().zip(inputs.komi()) {
                // Black is to move, so the komi counts against it.
                *margin = 8.0 - 1.25 * -komi;
            }
            Ok(())
        }

        fn name(&self) -> String {
            "weakening".to_owned()
        }
    }

    #[test]
    fn fair_komi_is_where_the_network_expects_a_tie() {
        let sizes = [5, 7].map(|side| Size::square(side).unwrap());
        let fair = FairKomi::according_to(&mut Weakening, &sizes, Rules::default()).unwrap();
        for size in sizes {
            assert!((fair.of(size) - 6.4).abs() < 0.5, "{}", fair.of(size));
        }
        assert_eq!(fair.of(Size::square(9).unwrap()), 0.0, "nobody asked");
    }
}
