//! Fast mirror images of point sets, with one lookup table per board size, built once.

use std::sync::OnceLock;

use crate::point_set::PointSet;
use crate::size::{MAX_SIDE, Size};
use crate::symmetry::Symmetry;

/// The point maps of every symmetry of one board size.
pub struct ImageTable {
    symmetries: &'static [Symmetry],
    /// `maps[s][p]` is the index of the point that symmetry number `s` sends point `p` to.
    maps: Vec<Vec<u16>>,
}

impl ImageTable {
    /// The table of `size`, built on first use.
    pub fn of(size: Size) -> &'static ImageTable {
        static TABLES: [[OnceLock<ImageTable>; MAX_SIDE]; MAX_SIDE] =
            [const { [const { OnceLock::new() }; MAX_SIDE] }; MAX_SIDE];
        TABLES[size.height() - 1][size.width() - 1].get_or_init(|| ImageTable::build(size))
    }

    fn build(size: Size) -> ImageTable {
        let symmetries = Symmetry::all(size);
        let maps = symmetries
            .iter()
            .map(|symmetry| {
                size.points()
                    .map(|point| symmetry.apply(size, point).index() as u16)
                    .collect()
            })
            .collect();
        ImageTable { symmetries, maps }
    }

    /// The symmetries of the board size, in the order of [`Symmetry::all`].
    pub fn symmetries(&self) -> &'static [Symmetry] {
        self.symmetries
    }

    /// The point map of one symmetry.
    ///
    /// # Panics
    /// If `symmetry` is not a symmetry of this board size.
    pub fn map_of(&self, symmetry: Symmetry) -> &[u16] {
        let number = self.symmetries.iter().position(|&s| s == symmetry);
        &self.maps[number.expect("the symmetry belongs to the board size")]
    }

    /// The point map of symmetry number `number`.
    pub fn map(&self, number: usize) -> &[u16] {
        &self.maps[number]
    }
}

/// The image of `set` under a point map.
pub fn image(map: &[u16], set: &PointSet) -> PointSet {
    let mut words = [0u64; 6];
    for (number, &word) in set.words().iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            let target = usize::from(map[number * 64 + rest.trailing_zeros() as usize]);
            words[target >> 6] |= 1 << (target & 63);
            rest &= rest - 1;
        }
    }
    PointSet::from_words(words)
}
