//! Area score: stones and the empty points that reach one color only.

use crate::color::Color;
use crate::geometry::Geometry;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::Position;

/// The points each color owns; a point in neither set is neutral.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Area {
    /// Points of Black.
    pub black: PointSet,
    /// Points of White.
    pub white: PointSet,
}

impl Area {
    /// Who owns a point.
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

    /// The points of a color.
    #[inline]
    pub fn of(&self, color: Color) -> &PointSet {
        match color {
            Color::Black => &self.black,
            Color::White => &self.white,
        }
    }

    /// Points of Black minus points of White, without komi.
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
    /// The area of each color on the grid as it stands: its stones and the empty points that reach only it.
    pub fn area(&self) -> Area {
        Area::of_stones(self.geometry(), self.stone_sets())
    }

    /// The area after some points have been emptied, such as chains agreed to be dead; the position stays as it is.
    pub fn area_without(&self, removed: &PointSet) -> Area {
        let [black, white] = *self.stone_sets();
        Area::of_stones(self.geometry(), &[black - *removed, white - *removed])
    }

    /// Area of Black minus area of White in points, without komi.
    pub fn board_margin(&self) -> i32 {
        self.area().margin()
    }
}
