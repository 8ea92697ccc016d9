//! The symmetries of a grid.

use crate::images::{ImageTable, image};
use crate::moves::Move;
use crate::point::Point;
use crate::point_set::PointSet;
use crate::position::Position;
use crate::setup::Setup;
use crate::size::Size;

/// A symmetry of the square: first an optional exchange of columns and rows, then optional mirrors.
///
/// On a grid that is not square only the four that keep columns and rows apart map the grid onto itself.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Symmetry {
    /// Leaves every point where it is.
    Identity = 0,
    /// Mirrors left and right.
    MirrorColumns = 1,
    /// Mirrors top and bottom.
    MirrorRows = 2,
    /// Turns by half a circle.
    Rotate180 = 3,
    /// Exchanges columns and rows: mirrors at the diagonal through the top left corner.
    Transpose = 4,
    /// Turns by a quarter, clockwise.
    Rotate90 = 5,
    /// Turns by a quarter, counterclockwise.
    Rotate270 = 6,
    /// Mirrors at the diagonal through the top right corner.
    AntiTranspose = 7,
}

const MIRROR_COLUMNS: u8 = 1;
const MIRROR_ROWS: u8 = 2;
const TRANSPOSE: u8 = 4;

impl Symmetry {
    /// The eight symmetries of the square, the four of a rectangle first.
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

    /// Position in [`Symmetry::ALL`], 0 to 7.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    #[inline]
    const fn has(self, bit: u8) -> bool {
        self as u8 & bit != 0
    }

    /// Whether columns become rows; only square grids allow that.
    #[inline]
    pub const fn swaps_sides(self) -> bool {
        self.has(TRANSPOSE)
    }

    /// The point that a point of the grid is mapped to.
    ///
    /// # Panics
    /// If the point is off the grid, or the symmetry swaps the sides of a grid that is not square.
    #[inline]
    pub fn apply(self, size: Size, point: Point) -> Point {
        Point::from_raw(ImageTable::of(size).map_of(self)[point.index()])
    }

    /// The image of a point, computed.
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

    /// The move that a move is mapped to; a pass stays a pass.
    #[inline]
    pub fn apply_move(self, size: Size, mv: Move) -> Move {
        match mv {
            Move::Play(point) => Move::Play(self.apply(size, point)),
            Move::Pass => Move::Pass,
        }
    }

    /// The set of the points that the points of a set are mapped to.
    pub fn apply_set(self, size: Size, set: &PointSet) -> PointSet {
        if self == Symmetry::Identity {
            return *set;
        }
        image(ImageTable::of(size).map_of(self), set)
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

    /// The symmetry that applies this one first and `then` afterwards.
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
    /// The image of the position and of its whole history, so that superko refuses the images of the same plays.
    ///
    /// # Panics
    /// If the symmetry swaps the sides of a grid that is not square.
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
    fn inverse_and_composition_are_those_of_the_maps() {
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
    fn names_say_what_happens_to_the_top_left_corner_row() {
        let size = Size::square(3).unwrap();
        let image = |s: Symmetry| s.apply(size, size.point(1, 0).unwrap());
        assert_eq!(Some(image(Symmetry::Rotate90)), size.point(2, 1));
        assert_eq!(Some(image(Symmetry::Rotate270)), size.point(0, 1));
        assert_eq!(Some(image(Symmetry::Transpose)), size.point(0, 1));
        assert_eq!(Some(image(Symmetry::AntiTranspose)), size.point(2, 1));
        assert_eq!(Some(image(Symmetry::MirrorRows)), size.point(1, 2));
    }
}
