//! Finds the komi that gives Black a certain chance of winning.

use tengen_rules::{Komi, Size};

use crate::setup::KomiPlan;

/// How close to the target chance is close enough.
const TOLERANCE: f64 = 0.03;

/// A bisection for the komi at which a network gives Black a certain chance of winning a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KomiSearch {
    /// The target chance, 0 to 1, with half of the chance of a tie.
    chance: f64,
    /// Komi in half points; Black's chance there is assumed to be above the target.
    low: i16,
    /// Komi in half points, above `low`; Black's chance there is assumed to be below the target.
    high: i16,
}

impl KomiSearch {
    /// A search among all komi that matter on a board of this size.
    pub(crate) fn new(size: Size, chance: f64) -> Self {
        let half_points = 2 * size.area() as i16;
        Self {
            chance,
            low: -half_points,
            high: half_points,
        }
    }

    /// A search between these komi in half points; `None` if they are invalid.
    pub(crate) fn between(chance: f64, low: i16, high: i16) -> Option<Self> {
        let sound = (0.0..=1.0).contains(&chance) && low < high && low > i16::MIN / 2 && high < i16::MAX / 2;
        sound.then_some(Self { chance, low, high })
    }

    pub(crate) fn chance(&self) -> f64 {
        self.chance
    }

    /// The komi in half points that bracket the target.
    pub(crate) fn bounds(&self) -> (i16, i16) {
        (self.low, self.high)
    }

    /// The komi to ask the network about next.
    pub(crate) fn next(&self) -> Komi {
        Komi::from_half_points(self.low + (self.high - self.low) / 2)
    }

    /// Narrows the search by Black's chance at the komi asked about: the game's komi, or another question.
    pub(crate) fn after(mut self, asked: Komi, chance: f64) -> KomiPlan {
        let asked_half_points = asked.half_points();
        match chance > self.chance {
            true => self.low = asked_half_points,
            false => self.high = asked_half_points,
        }
        // Adjacent komi are close enough: take the last one asked about.
        if (chance - self.chance).abs() < TOLERANCE || self.high - self.low <= 1 {
            KomiPlan::Known(asked)
        } else {
            KomiPlan::ByChance(self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The komi found on a 5x5 board where Black's chance falls by `per_point` around a fair komi, and the number of
    /// questions.
    fn found(fair: f64, per_point: f64, wanted: f64) -> (f64, u32) {
        let chance = |komi: Komi| (0.5 + per_point * (fair - f64::from(komi.points()))).clamp(0.0, 1.0);
        let mut search = KomiSearch::new(Size::square(5).unwrap(), wanted);
        for questions in 1.. {
            let asked = search.next();
            match search.after(asked, chance(asked)) {
                KomiPlan::Known(komi) => return (f64::from(komi.points()), questions),
                KomiPlan::ByChance(next) => search = next,
                KomiPlan::AroundNetwork { .. } => unreachable!("chances were asked for"),
            }
        }
        unreachable!("the search ends")
    }

    #[test]
    fn the_komi_gives_the_wanted_chance() {
        for fair in [-20.0, -3.5, 0.0, 9.0, 20.5] {
            for per_point in [0.05, 0.1, 0.25] {
                for wanted in [0.2, 0.5, 0.7] {
                    let (komi, questions) = found(fair, per_point, wanted);
                    let chance: f64 = 0.5 + per_point * (fair - komi);
                    let near = TOLERANCE + 0.5 * per_point;
                    assert!(
                        (chance - wanted).abs() < near || komi.abs() > 24.0,
                        "{fair} {per_point} {wanted}: {komi}"
                    );
                    assert!(questions <= 7, "{questions}");
                }
            }
        }
    }

    #[test]
    fn a_search_ends_whatever_the_network_says() {
        for chance in [0.0, 1.0, f64::NAN] {
            let mut search = KomiSearch::new(Size::square(19).unwrap(), 0.5);
            let mut questions = 1;
            while let KomiPlan::ByChance(next) = search.after(search.next(), chance) {
                search = next;
                questions += 1;
            }
            assert!(questions <= 11, "{questions}");
        }
    }

    #[test]
    fn only_sound_bounds_are_taken() {
        assert_eq!(
            KomiSearch::between(0.5, -50, 50),
            Some(KomiSearch::new(Size::square(5).unwrap(), 0.5))
        );
        for (chance, low, high) in [(f64::NAN, 0, 9), (1.5, 0, 9), (0.5, 9, 9), (0.5, i16::MIN, i16::MAX)] {
            assert_eq!(KomiSearch::between(chance, low, high), None);
        }
    }
}
