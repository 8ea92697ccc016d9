//! Fast mirror images of point sets, with one lookup table per board size, built once.

use std::sync::OnceLock;

use crate::point_set::PointSet;
use crate::size::{MAX_SIDE, Size};
use crate::symmetry::Symmetry;

/// The point maps of every symmetry of one grid size.
#[derive(Debug)]
pub struct ImageTable {
    size: Size,
    /// The concatenated maps, in the order of [`Symmetry::all`].
    maps: Box<[u16]>,
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
        ImageTable {
            size,
            maps: Symmetry::all(size).iter().flat_map(map).collect(),
        }
    }

    /// The symmetries of the grid, in the order of [`Symmetry::all`].
    pub fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::all(self.size)
    }

    /// The point map of one symmetry: entry `p` is the index of the image of point `p`. The map of
    /// [`Symmetry::inverse`] undoes it.
    ///
    /// # Panics
    /// If `symmetry` is not a symmetry of this board size.
    #[inline]
    pub fn map_of(&self, symmetry: Symmetry) -> &[u16] {
        assert!(
            self.size.is_square() || !symmetry.swaps_sides(),
            "{symmetry:?} does not map {} onto itself",
            self.size
        );
        self.map(symmetry.index())
    }

    /// The point map of symmetry number `number` in [`ImageTable::symmetries`].
    ///
    /// # Panics
    /// If there is no such symmetry.
    #[inline]
    pub fn map(&self, number: usize) -> &[u16] {
        let area = self.size.area();
        &self.maps[number * area..][..area]
    }
}

/// The image of `set` under a point map.
#[inline]
pub fn image(map: &[u16], set: &PointSet) -> PointSet {
    match map.len() {
        0..=128 => image_in_two_words(map, set),
        _ => image_in_six_words(map, set),
    }
}

/// The image on a board of at most 128 points: both words stay in registers, while the points of larger boards go to
/// memory one by one.
#[inline]
fn image_in_two_words(map: &[u16], set: &PointSet) -> PointSet {
    let [first, second, ..] = *set.words();
    let (mut low, mut high) = (0u64, 0u64);
    for (from, word) in [(0, first), (64, second)] {
        let mut rest = word;
        while rest != 0 {
            let target = map[from + rest.trailing_zeros() as usize];
            let (bit, is_high) = (1u64 << (target & 63), u64::from(target >> 6));
            low |= bit & is_high.wrapping_sub(1);
            high |= bit & is_high.wrapping_neg();
            rest &= rest - 1;
        }
    }
    PointSet::from_words([low, high, 0, 0, 0, 0])
}

fn image_in_six_words(map: &[u16], set: &PointSet) -> PointSet {
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
                assert_eq!(table.map(number), table.map_of(symmetry));
                let back = table.map_of(symmetry.inverse());
                for point in size.points() {
                    let image = table.map_of(symmetry)[point.index()];
                    assert_eq!(usize::from(image), symmetry.compute(size, point).index());
                    assert_eq!(usize::from(back[usize::from(image)]), point.index());
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
