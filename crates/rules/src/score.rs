//! Counting finished games: area, half counting, and territory with prisoners.

use crate::area::Area;
use crate::color::Color;
use crate::komi::{Komi, Margin};
use crate::moves::Move;
use crate::point_set::PointSet;
use crate::position::Position;

/// The Chinese count of both sides: their own points and half of the neutral ones, in half points.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct HalfCount {
    /// Black's count in half points.
    pub black_half_points: i32,
    /// White's count in half points.
    pub white_half_points: i32,
}

impl HalfCount {
    /// The margin from counting Black alone: twice the amount by which Black exceeds half of the grid, minus the komi.
    ///
    /// Chinese texts do the same in zi: Black's points minus half of the area minus the komi in zi, where one zi of
    /// margin or komi equals two points.
    pub fn margin(&self, komi: Komi) -> Margin {
        let area_half_points = self.black_half_points + self.white_half_points;
        Margin::from_half_points(2 * self.black_half_points - area_half_points - i32::from(komi.half_points()))
    }
}

/// The territory score of a finished game, given its independently alive chains.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Territory {
    /// Each color's territory, including the points of opposing stones removed as prisoners.
    pub territory: Area,
    /// Stones removed because they were in opposing territory.
    pub removed: PointSet,
    /// The numbers of black and white stones removed in the whole game, by plays and from territory.
    pub prisoners: [u32; 2],
}

impl Territory {
    /// Black's territory and prisoners minus White's and minus komi.
    pub fn margin(&self, komi: Komi) -> Margin {
        let [black_stones, white_stones] = self.prisoners.map(|n| n as i32);
        let points = self.territory.margin() + white_stones - black_stones;
        Margin::from_half_points(2 * points - i32::from(komi.half_points()))
    }
}

impl Position {
    /// Black minus White after komi by area scoring of the current grid, including the button's half point and the
    /// handicap bonus if the rules have them.
    pub fn margin(&self, komi: Komi) -> Margin {
        self.margin_of(&self.area(), komi)
    }

    /// Like [`Position::margin`], after removing the stones agreed to be dead.
    pub fn margin_without(&self, dead: &PointSet, komi: Komi) -> Margin {
        self.margin_of(&self.area_without(dead), komi)
    }

    fn margin_of(&self, area: &Area, komi: Komi) -> Margin {
        let bonus = self.rules.handicap_bonus.points(self.handicap().stones()) as i32;
        let half_points = 2 * (area.margin() - bonus) - i32::from(komi.half_points());
        Margin::from_half_points(half_points + self.button_half_points())
    }

    /// The player who took the button; `None` before that, or if the rules have no button.
    pub fn button_taker(&self) -> Option<Color> {
        if !self.rules.button {
            return None;
        }
        let first_pass = self.moves.iter().position(|&mv| mv == Move::Pass)?;
        Some(self.turns[first_pass + 1].mover())
    }

    fn button_half_points(&self) -> i32 {
        match self.button_taker() {
            Some(Color::Black) => 1,
            Some(Color::White) => -1,
            None => 0,
        }
    }

    /// Chinese half counting after removing dead stones: each side's own points and half of the neutral points.
    pub fn half_count(&self, dead: &PointSet) -> HalfCount {
        let area = self.area_without(dead);
        let (black, white) = (area.black.len() as i32, area.white.len() as i32);
        let shared = self.size().area() as i32 - black - white;
        HalfCount {
            black_half_points: 2 * black + shared,
            white_half_points: 2 * white + shared,
        }
    }

    /// The territory, removals and prisoners that follow from the independently alive chains, each given by at least
    /// one of its points (Simplified Japanese Rules 2008).
    ///
    /// Removing a player's alive chains divides the grid into connected regions. A region is that player's territory if
    /// it touches those chains and contains neither a stone of the player nor an independently alive stone of the
    /// opponent; opposing stones in it are removed. Chains that are not independently alive do not surround territory,
    /// so eyes in seki do not count.
    pub fn territory(&self, alive: &PointSet) -> Territory {
        let alive_of = |color: Color| {
            let points = *alive & self.stones(color);
            points.iter().fold(
                PointSet::new(),
                |all, p| if all.contains(p) { all } else { all | self.chain(p) },
            )
        };
        let alive = Color::ALL.map(alive_of);
        let of = |color: Color| {
            let own = alive[color.index()];
            let parts = self.geometry().components(&(self.geometry().all - own));
            parts
                .filter(|part| {
                    self.geometry().adjacent(part).intersects(&own)
                        && !part.intersects(&self.stones(color))
                        && !part.intersects(&alive[color.opposite().index()])
                })
                .fold(PointSet::new(), |all, part| all | part)
        };
        let territory = Area {
            black: of(Color::Black),
            white: of(Color::White),
        };
        let taken = [
            self.stones(Color::Black) & territory.white,
            self.stones(Color::White) & territory.black,
        ];
        Territory {
            territory,
            removed: taken[0] | taken[1],
            prisoners: Color::ALL.map(|c| self.prisoners(c) + taken[c.index()].len() as u32),
        }
    }
}
