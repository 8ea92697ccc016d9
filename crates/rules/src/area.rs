//! Area score: stones and the empty points that reach one color only.

use crate::color::Color;
use crate::geometry::Geometry;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::Position;

/// The points each color owns; a point in neither set is neutral.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Area {
    /// Black's stones and the empty points that reach only Black.
    pub black: PointSet,
    /// White's stones and the empty points that reach only White.
    pub white: PointSet,
}

impl Area {
    /// The owner of a point; `None` if it is neutral.
    #[inline]
    pub fn owner(&self, point: Point) -> Option<Color> {
        if self.black.contains(point) {
            Some(Color::Black)
        } else if self.white.contains(point) {
            Some(Color::White)
        } else {
            None
        }
    }

    /// The points a color owns.
    #[inline]
    pub fn of(&self, color: Color) -> &PointSet {
        match color {
            Color::Black => &self.black,
            Color::White => &self.white,
        }
    }

    /// Black's points minus White's, without komi.
    #[inline]
    pub fn margin(&self) -> i32 {
        self.black.len() as i32 - self.white.len() as i32
    }

    /// The area of a coloring (Tromp-Taylor rule 9: stones, and empty points that reach only one color).
    pub(crate) fn of_stones(geometry: &Geometry, stones: &[PointSet; 2]) -> Area {
        let empty = geometry.all - stones[0] - stones[1];
        let black = geometry.reached(&stones[0], &empty);
        let white = geometry.reached(&stones[1], &empty);
        Area {
            black: stones[0] | (black - white),
            white: stones[1] | (white - black),
        }
    }
}

impl Position {
    /// The area of each color on the current grid: its stones and the empty points that reach only that color.
    pub fn area(&self) -> Area {
        Area::of_stones(self.geometry(), self.stone_sets())
    }

    /// The area after removing some stones, such as chains agreed to be dead; the position itself does not change.
    pub fn area_without(&self, removed: &PointSet) -> Area {
        let [black, white] = *self.stone_sets();
        Area::of_stones(self.geometry(), &[black - *removed, white - *removed])
    }

    /// Black's area minus White's in points, without komi.
    pub fn board_margin(&self) -> i32 {
        self.area().margin()
    }
}
