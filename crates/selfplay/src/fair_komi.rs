//! The komi that makes games from the empty board even.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use tengen_encoding::{Features, InputBatch, PlaneSet};
use tengen_rules::{Komi, Position, Rules, Size};

/// The slope of the ramp around an even chance: chances within 1 / (2 × this) of ½ count in part.
const STEEPNESS: f64 = 8.0;

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
        self.known(size).unwrap_or(0.0)
    }

    /// Like [`FairKomi::of`], but `None` if unknown.
    pub fn known(&self, size: Size) -> Option<f64> {
        self.boards.get(&size).copied()
    }

    /// Adds the entries of another one, which win over existing ones.
    pub fn update(&mut self, newer: FairKomi) {
        self.boards.extend(newer.boards);
    }

    /// Sets the fair komi of a board, in points.
    pub fn set(&mut self, size: Size, points: f64) {
        self.boards.insert(size, points);
    }

    /// Asks a network. For each batch of positions, `chances` returns every position's value: the side to move's chance
    /// of winning, with half of the chance of a tie.
    ///
    /// # Errors
    /// Those of `chances`.
    pub fn according_to<E>(
        sizes: &[Size],
        rules: Rules,
        plane_set: PlaneSet,
        chances: impl FnOnce(&[InputBatch]) -> Result<Vec<Vec<f32>>, E>,
    ) -> Result<Self, E> {
        let questions: Vec<InputBatch> = sizes.iter().map(|&size| empty_boards(size, rules, plane_set)).collect();
        let mut fair = Self::new();
        for (&size, chances) in sizes.iter().zip(chances(&questions)?) {
            if let Some(points) = even(size, &chances) {
                fair.set(size, points);
            }
        }
        Ok(fair)
    }
}

/// The empty board at every whole komi, from the lowest to the highest, Black to move.
fn empty_boards(size: Size, rules: Rules, plane_set: PlaneSet) -> InputBatch {
    let position = Position::with_rules(size, rules);
    let mut inputs = InputBatch::with_planes(size, plane_set);
    let area = size.area() as i16;
    for komi in -area..=area {
        inputs.push(&Features::seen_with(
            plane_set,
            &position,
            Komi::from_half_points(2 * komi),
        ));
    }
    inputs
}

/// The komi at which Black's chances, given for every whole komi from the lowest up, are even. `None` from a network
/// that knows nothing of this board: at the lowest komi Black cannot lose, and at the highest it cannot win.
///
/// Each komi at which Black is the favorite moves the result up from the lowest one. A komi whose chance is close to
/// even counts in part, so the result can lie between two whole komi, and for a network that knows nothing yet it is 0.
fn even(size: Size, chances: &[f32]) -> Option<f64> {
    let sound =
        |least: f32, chance: Option<&f32>| chance.is_some_and(|&chance| chance >= least && chance <= least + 0.75);
    if !sound(0.25, chances.first()) || !sound(0.0, chances.last()) {
        return None;
    }
    let favorite = |&chance: &f32| (0.5 + STEEPNESS * (f64::from(chance) - 0.5)).clamp(0.0, 1.0);
    let area = size.area() as f64;
    Some((chances.iter().map(favorite).sum::<f64>() - area - 0.5).clamp(-area, area))
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

    /// The chances from a network that considers this komi fair and is this sure of it.
    fn sure(size: Size, fair: f64, per_point: f64) -> Vec<f32> {
        let area = size.area() as i32;
        let chance = |komi: i32| (0.5 + per_point * (fair - f64::from(komi))).clamp(0.0, 1.0) as f32;
        (-area..=area).map(chance).collect()
    }

    #[test]
    fn fair_komi_is_where_chances_are_even() {
        let size = Size::square(7).unwrap();
        for fair in [-49.0, -3.5, 0.0, 7.0, 8.9, 9.25, 49.0] {
            for per_point in [0.02, 0.1, 0.3, 2.0] {
                let said = even(size, &sure(size, fair, per_point)).unwrap();
                let near = if f64::abs(fair) == 49.0 { 4.0 } else { 0.51 };
                assert!((said - fair).abs() < near, "{said} instead of {fair}, {per_point}");
            }
        }
        let knows_nothing: Vec<f32> = (0..99).map(|komi| 0.5 + 0.01 * f32::from(komi % 2 == 0)).collect();
        assert!(even(size, &knows_nothing).unwrap().abs() < 5.0);
        for impossible in [0.0, 1.0, f32::NAN] {
            assert_eq!(even(size, &[impossible; 99]), None, "{impossible}");
        }
    }

    #[test]
    fn networks_are_asked_about_every_whole_komi_on_every_board() {
        let sizes = [3, 5].map(|side| Size::square(side).unwrap());
        let fair = FairKomi::according_to(&sizes, Rules::default(), PlaneSet::default(), |questions| {
            let asked = |inputs: &InputBatch| {
                let size = inputs.canvas();
                // The inputs hold the mover's komi. Black is to move and gives komi, so negate it.
                let asked: Vec<f32> = inputs.komi().iter().map(|&points| -points).collect();
                let area = size.area() as i32;
                assert_eq!(asked, (-area..=area).map(|komi| komi as f32).collect::<Vec<_>>());
                sure(size, size.area() as f64 / 2.0, 0.2)
            };
            Ok::<_, ()>(questions.iter().map(asked).collect())
        });
        let fair = fair.unwrap();
        assert!((fair.of(sizes[0]) - 4.5).abs() < 0.01 && (fair.of(sizes[1]) - 12.5).abs() < 0.01);
        assert_eq!(fair.of(Size::square(9).unwrap()), 0.0, "nobody asked");
    }
}
