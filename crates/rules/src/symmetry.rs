//! The symmetries of a grid: rotations and reflections.

use crate::images::ImageTable;
use crate::moves::Move;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::setup::Setup;
use crate::size::Size;

/// A symmetry of the square: first an optional swap of columns and rows, then optional reflections.
///
/// Only the four that do not swap columns and rows map a non-square grid onto itself.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Symmetry {
    /// Leaves every point where it is.
    Identity = 0,
    /// Swaps left and right.
    MirrorColumns = 1,
    /// Swaps top and bottom.
    MirrorRows = 2,
    /// Rotates by 180 degrees.
    Rotate180 = 3,
    /// Swaps columns and rows: reflects across the diagonal through the top left corner.
    Transpose = 4,
    /// Rotates by 90 degrees clockwise.
    Rotate90 = 5,
    /// Rotates by 90 degrees counterclockwise.
    Rotate270 = 6,
    /// Reflects across the diagonal through the top right corner.
    AntiTranspose = 7,
}

const MIRROR_COLUMNS: u8 = 1;
const MIRROR_ROWS: u8 = 2;
const TRANSPOSE: u8 = 4;

impl Symmetry {
    /// The eight symmetries of the square, starting with the four of a rectangle.
    pub const ALL: [Symmetry; 8] = [
        Symmetry::Identity,
        Symmetry::MirrorColumns,
        Symmetry::MirrorRows,
        Symmetry::Rotate180,
        Symmetry::Transpose,
        Symmetry::Rotate90,
        Symmetry::Rotate270,
        Symmetry::AntiTranspose,
    ];

    /// The symmetries that map a grid onto itself: eight for a square, four otherwise.
    #[inline]
    pub fn all(size: Size) -> &'static [Symmetry] {
        if size.is_square() {
            &Symmetry::ALL
        } else {
            &Symmetry::ALL[..4]
        }
    }

    /// The index in [`Symmetry::ALL`], 0 to 7.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    #[inline]
    const fn has(self, bit: u8) -> bool {
        self as u8 & bit != 0
    }

    /// Whether columns become rows, which only square grids allow.
    #[inline]
    pub const fn swaps_sides(self) -> bool {
        self.has(TRANSPOSE)
    }

    /// The image of a point of the grid.
    ///
    /// # Panics
    /// If the point is off the grid, or the symmetry swaps the sides of a non-square grid.
    #[inline]
    pub fn apply(self, size: Size, point: Point) -> Point {
        Point::from_raw(ImageTable::of(size).map_of(self).points()[point.index()])
    }

    /// The image of a point, computed without the tables.
    pub(crate) fn compute(self, size: Size, point: Point) -> Point {
        let (mut column, mut row) = (point.column(size), point.row(size));
        if self.has(TRANSPOSE) {
            std::mem::swap(&mut column, &mut row);
        }
        if self.has(MIRROR_COLUMNS) {
            column = size.width() - 1 - column;
        }
        if self.has(MIRROR_ROWS) {
            row = size.height() - 1 - row;
        }
        Point::from_raw((row * size.width() + column) as u16)
    }

    /// The image of a move; a pass remains a pass.
    #[inline]
    pub fn apply_move(self, size: Size, mv: Move) -> Move {
        match mv {
            Move::Play(point) => Move::Play(self.apply(size, point)),
            Move::Pass => Move::Pass,
        }
    }

    /// The image of a set of points.
    pub fn apply_set(self, size: Size, set: &PointSet) -> PointSet {
        if self == Symmetry::Identity {
            return *set;
        }
        ImageTable::of(size).map_of(self).image(set)
    }

    /// The symmetry that undoes this one.
    #[inline]
    pub const fn inverse(self) -> Symmetry {
        match self {
            Symmetry::Rotate90 => Symmetry::Rotate270,
            Symmetry::Rotate270 => Symmetry::Rotate90,
            own => own,
        }
    }

    /// The composition that applies this symmetry first and then `then`.
    pub const fn then(self, then: Symmetry) -> Symmetry {
        let own = self as u8;
        let mirrors = own & (MIRROR_COLUMNS | MIRROR_ROWS);
        let carried = if then.has(TRANSPOSE) {
            (mirrors & MIRROR_COLUMNS) << 1 | (mirrors & MIRROR_ROWS) >> 1
        } else {
            mirrors
        };
        let bits =
            (own & TRANSPOSE) ^ (then as u8 & TRANSPOSE) | carried ^ (then as u8 & (MIRROR_COLUMNS | MIRROR_ROWS));
        Symmetry::ALL[bits as usize]
    }
}

impl Position {
    /// The image of the position and its whole history, so that superko forbids the images of the same plays.
    ///
    /// # Panics
    /// If the symmetry swaps the sides of a non-square grid.
    pub fn transformed(&self, symmetry: Symmetry) -> Position {
        let size = self.size();
        assert!(
            size.is_square() || !symmetry.swaps_sides(),
            "{symmetry:?} does not map {size} onto itself"
        );
        let start = Setup {
            stones: self.start.stones.map(|set| symmetry.apply_set(size, &set)),
            ..self.start
        };
        let mut image = Position::from_start(size, self.rules(), start);
        image.machines_from = self.machines_from;
        for &mv in self.moves() {
            image.play_unchecked(symmetry.apply_move(size, mv));
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_and_composition_match_the_point_maps() {
        let size = Size::square(4).unwrap();
        for a in Symmetry::ALL {
            for p in size.points() {
                assert_eq!(a.inverse().apply(size, a.apply(size, p)), p);
                for b in Symmetry::ALL {
                    assert_eq!(a.then(b).apply(size, p), b.apply(size, a.apply(size, p)), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn names_match_the_image_of_a_point_in_the_top_row() {
        let size = Size::square(3).unwrap();
        let image = |s: Symmetry| s.apply(size, size.point(1, 0).unwrap());
        assert_eq!(Some(image(Symmetry::Rotate90)), size.point(2, 1));
        assert_eq!(Some(image(Symmetry::Rotate270)), size.point(0, 1));
        assert_eq!(Some(image(Symmetry::Transpose)), size.point(0, 1));
        assert_eq!(Some(image(Symmetry::AntiTranspose)), size.point(2, 1));
        assert_eq!(Some(image(Symmetry::MirrorRows)), size.point(1, 2));
    }
}
