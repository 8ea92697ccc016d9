//! Neighbor tables and bit masks of each grid size, built once per process.

use std::sync::OnceLock;

use crate::point_set::PointSet;
use crate::size::{MAX_AREA, MAX_SIDE, Size};

/// The tables of one grid size. The index `area` represents everything outside the grid.
#[derive(Debug)]
pub(crate) struct Geometry {
    pub(crate) size: Size,
    pub(crate) area: usize,
    /// The number of words of a [`PointSet`] that hold points of this grid.
    words: usize,
    /// The four orthogonal neighbors of each point (right, left, below, above); `area` if outside the grid.
    pub(crate) neighbors: Box<[[u16; 4]]>,
    /// The four diagonal neighbors of each point; `area` if outside the grid.
    pub(crate) diagonals: Box<[[u16; 4]]>,
    /// All points of the grid.
    pub(crate) all: PointSet,
    not_left: PointSet,
    not_right: PointSet,
}

static TABLES: [OnceLock<Box<Geometry>>; MAX_AREA] = [const { OnceLock::new() }; MAX_AREA];

impl Geometry {
    /// The tables of a size, built on first use.
    pub(crate) fn of(size: Size) -> &'static Geometry {
        let slot = (size.width() - 1) * MAX_SIDE + size.height() - 1;
        TABLES[slot].get_or_init(|| Box::new(Geometry::build(size)))
    }

    fn build(size: Size) -> Geometry {
        let area = size.area();
        let shifted = |column: usize, row: usize, (dx, dy): (isize, isize)| {
            let column = column.checked_add_signed(dx);
            let row = row.checked_add_signed(dy);
            match (column, row) {
                (Some(column), Some(row)) => size.point(column, row).map_or(area, |p| p.index()) as u16,
                _ => area as u16,
            }
        };
        let table = |steps: [(isize, isize); 4]| -> Box<[[u16; 4]]> {
            size.points()
                .map(|p| steps.map(|step| shifted(p.column(size), p.row(size), step)))
                .collect()
        };
        Geometry {
            size,
            area,
            words: area.div_ceil(64),
            neighbors: table([(1, 0), (-1, 0), (0, 1), (0, -1)]),
            diagonals: table([(1, 1), (-1, 1), (1, -1), (-1, -1)]),
            all: size.points().collect(),
            not_left: size.points().filter(|p| p.column(size) > 0).collect(),
            not_right: size.points().filter(|p| p.column(size) + 1 < size.width()).collect(),
        }
    }

    /// The points adjacent to a point of `set`, including members of `set` that are adjacent to another member.
    #[inline]
    pub(crate) fn adjacent(&self, set: &PointSet) -> PointSet {
        let source = set.words();
        let not_left = self.not_left.words();
        let not_right = self.not_right.words();
        let width = self.size.width() as u32;
        let mut result = PointSet::new();
        let out = result.words_mut();
        let (mut before, mut before_right) = (0u64, 0u64);
        for i in 0..self.words {
            let here = source[i];
            let after = if i + 1 < self.words { source[i + 1] } else { 0 };
            let after_left = if i + 1 < self.words { after & not_left[i + 1] } else { 0 };
            let right = here & not_right[i];
            let left = here & not_left[i];
            let rightward = right << 1 | before_right >> 63;
            let leftward = left >> 1 | after_left << 63;
            let down = here << width | before >> (64 - width);
            let up = here >> width | after << (64 - width);
            out[i] = rightward | leftward | down | up;
            before = here;
            before_right = right;
        }
        result & self.all
    }

    /// All points of `area` that a path of adjacent points within `area` connects to a point adjacent to `seed`.
    pub(crate) fn reached(&self, seed: &PointSet, area: &PointSet) -> PointSet {
        let mut reached = self.adjacent(seed) & *area;
        let mut front = reached;
        while !front.is_empty() {
            front = (self.adjacent(&front) & *area) - reached;
            reached |= front;
        }
        reached
    }

    /// The connected component of `area` that contains the point `index`, a member of `area`.
    pub(crate) fn component(&self, index: usize, area: &PointSet) -> PointSet {
        let mut front = PointSet::new();
        front.set(index);
        let mut component = front;
        while !front.is_empty() {
            front = (self.adjacent(&front) & *area) - component;
            component |= front;
        }
        component
    }

    /// The connected components of `area`, ordered by their first points.
    pub(crate) fn components<'a>(&'a self, area: &PointSet) -> impl Iterator<Item = PointSet> + use<'a> {
        let mut left = *area;
        std::iter::from_fn(move || {
            let first = left.next_from(0)?;
            let component = self.component(first.index(), &left);
            left -= component;
            Some(component)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_shifts_agree_with_the_neighbor_tables() {
        for (width, height) in [
            (1, 1),
            (1, 19),
            (19, 1),
            (2, 3),
            (5, 5),
            (8, 8),
            (9, 9),
            (13, 17),
            (19, 19),
        ] {
            let geometry = Geometry::of(Size::new(width, height).unwrap());
            for point in geometry.size.points() {
                let single: PointSet = [point].into_iter().collect();
                let mut expected = PointSet::new();
                for &n in &geometry.neighbors[point.index()] {
                    if usize::from(n) < geometry.area {
                        expected.set(n.into());
                    }
                }
                assert_eq!(geometry.adjacent(&single), expected, "{width}x{height} {point:?}");
            }
        }
    }
}
