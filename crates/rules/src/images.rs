//! Fast mirror images of point sets, with one lookup table per board size, built once.

use std::sync::OnceLock;

use crate::point_set::PointSet;
use crate::size::{MAX_SIDE, Size};
use crate::symmetry::Symmetry;

/// Boards of at most this many points have their images looked up four points at a time.
const SMALL: usize = 128;

/// The images of four neighboring points: entry `i` is the set of the images of those whose bit is 1 in `i`.
type Quad = [u128; 16];

/// The point maps of every symmetry of one grid size.
#[derive(Debug)]
pub struct ImageTable {
    size: Size,
    /// The concatenated maps, in the order of [`Symmetry::all`].
    points: Box<[u16]>,
    /// The same for sets; empty for large boards.
    quads: Box<[Quad]>,
}

/// What one symmetry does to the points of a grid.
#[derive(Copy, Clone, Debug)]
pub struct PointMap<'a> {
    points: &'a [u16],
    quads: &'a [Quad],
}

impl ImageTable {
    /// The table of `size`, built on first use.
    #[inline]
    pub fn of(size: Size) -> &'static ImageTable {
        static TABLES: [[OnceLock<ImageTable>; MAX_SIDE]; MAX_SIDE] =
            [const { [const { OnceLock::new() }; MAX_SIDE] }; MAX_SIDE];
        TABLES[size.height() - 1][size.width() - 1].get_or_init(|| ImageTable::build(size))
    }

    fn build(size: Size) -> ImageTable {
        let map = |symmetry: &Symmetry| {
            let symmetry = *symmetry;
            size.points()
                .map(move |point| symmetry.compute(size, point).index() as u16)
        };
        let points: Box<[u16]> = Symmetry::all(size).iter().flat_map(map).collect();
        let small = size.area() <= SMALL;
        let quads = points
            .chunks(size.area())
            .filter(|_| small)
            .flat_map(|map| map.chunks(4));
        ImageTable {
            size,
            quads: quads.map(quad).collect(),
            points,
        }
    }

    /// The symmetries of the grid, in the order of [`Symmetry::all`].
    pub fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::all(self.size)
    }

    /// The map of one symmetry. The map of [`Symmetry::inverse`] undoes it.
    ///
    /// # Panics
    /// If `symmetry` is not a symmetry of this board size.
    #[inline]
    pub fn map_of(&self, symmetry: Symmetry) -> PointMap<'_> {
        assert!(
            self.size.is_square() || !symmetry.swaps_sides(),
            "{symmetry:?} does not map {} onto itself",
            self.size
        );
        self.map(symmetry.index())
    }

    /// The map of symmetry number `number` in [`ImageTable::symmetries`].
    ///
    /// # Panics
    /// If there is no such symmetry.
    #[inline]
    pub fn map(&self, number: usize) -> PointMap<'_> {
        let area = self.size.area();
        let quads = if area <= SMALL { area.div_ceil(4) } else { 0 };
        PointMap {
            points: &self.points[number * area..][..area],
            quads: &self.quads[number * quads..][..quads],
        }
    }
}

impl<'a> PointMap<'a> {
    /// Entry `p` is the index of the image of point `p`.
    #[inline]
    pub fn points(self) -> &'a [u16] {
        self.points
    }

    /// The image of a set of points.
    #[inline]
    pub fn image(self, set: &PointSet) -> PointSet {
        match self.quads {
            [] => image_point_by_point(self.points, set),
            quads => image_by_quads(quads, set),
        }
    }
}

/// The images of up to four points.
fn quad(points: &[u16]) -> Quad {
    std::array::from_fn(|chosen| {
        let images = points.iter().enumerate();
        images.fold(0, |set, (bit, &image)| set | ((chosen as u128 >> bit & 1) << image))
    })
}

/// The image on a small board, without a branch that depends on the set.
#[inline]
fn image_by_quads(quads: &[Quad], set: &PointSet) -> PointSet {
    let [low, high, ..] = *set.words();
    let (first, second) = quads.split_at(quads.len().min(16));
    let image = gather(first, low) | gather(second, high);
    PointSet::from_words([image as u64, (image >> 64) as u64, 0, 0, 0, 0])
}

/// The images of the points of one word.
#[inline]
fn gather(quads: &[Quad], mut word: u64) -> u128 {
    let mut images = 0;
    for quad in quads {
        images |= quad[(word & 15) as usize];
        word >>= 4;
    }
    images
}

fn image_point_by_point(map: &[u16], set: &PointSet) -> PointSet {
    let mut words = [0u64; 6];
    for (number, &word) in set.words()[..map.len().div_ceil(64)].iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            let target = usize::from(map[number * 64 + rest.trailing_zeros() as usize]);
            words[target >> 6] |= 1 << (target & 63);
            rest &= rest - 1;
        }
    }
    PointSet::from_words(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_of_the_inverse_undoes_a_map() {
        for (width, height) in [(1, 1), (3, 3), (4, 2), (1, 5), (19, 19), (19, 7)] {
            let size = Size::new(width, height).unwrap();
            let table = ImageTable::of(size);
            for (number, &symmetry) in table.symmetries().iter().enumerate() {
                let map = table.map_of(symmetry).points();
                assert_eq!(table.map(number).points(), map);
                let back = table.map_of(symmetry.inverse()).points();
                for point in size.points() {
                    let image = usize::from(map[point.index()]);
                    assert_eq!(image, symmetry.compute(size, point).index());
                    assert_eq!(usize::from(back[image]), point.index());
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "Rotate90 does not map 3x2 onto itself")]
    fn rectangles_have_no_90_degree_rotation() {
        ImageTable::of(Size::new(3, 2).unwrap()).map_of(Symmetry::Rotate90);
    }
}
