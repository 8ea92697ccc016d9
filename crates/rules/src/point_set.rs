//! Sets of points as bit sets.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, Sub, SubAssign};

use crate::point::Point;

/// The number of 64-bit words of a set.
const WORDS: usize = 6;

/// A set of points; bit `i % 64` of word `i / 64` represents the point with index `i`.
///
/// ```
/// use tengen_rules::{PointSet, Size};
/// let size = Size::square(9).unwrap();
/// let mut set = PointSet::new();
/// set.insert(size.point(3, 4).unwrap());
/// assert_eq!(set.len(), 1);
/// assert_eq!(set.iter().next(), size.point(3, 4));
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Default, Ord, PartialOrd)]
pub struct PointSet([u64; WORDS]);

impl PointSet {
    /// Creates an empty set.
    #[inline]
    pub const fn new() -> PointSet {
        PointSet([0; WORDS])
    }

    /// Makes a set from its words; the bits of points outside the grid must be 0.
    #[inline]
    pub const fn from_words(words: [u64; WORDS]) -> PointSet {
        PointSet(words)
    }

    /// The words of the set; see [`PointSet`] for the order of the bits.
    #[inline]
    pub const fn words(&self) -> &[u64; WORDS] {
        &self.0
    }

    /// The words of the set for bit operations within the crate.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64; WORDS] {
        &mut self.0
    }

    /// Adds a point to the set.
    #[inline]
    pub fn insert(&mut self, point: Point) {
        self.set(point.index());
    }

    /// Removes a point from the set.
    #[inline]
    pub fn remove(&mut self, point: Point) {
        self.clear(point.index());
    }

    /// Whether the point is in the set.
    #[inline]
    pub const fn contains(&self, point: Point) -> bool {
        self.has(point.index())
    }

    #[inline]
    pub(crate) fn set(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    #[inline]
    pub(crate) fn clear(&mut self, index: usize) {
        self.0[index / 64] &= !(1 << (index % 64));
    }

    #[inline]
    pub(crate) const fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 != 0
    }

    /// The number of points in the set.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether the set has no points.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, w| all | w) == 0
    }

    /// Iterates over the points in ascending order.
    #[inline]
    pub fn iter(&self) -> Points {
        Points { words: self.0, word: 0 }
    }

    /// The point that has exactly `rank` smaller points in the set; `None` if the set has at most `rank` points.
    pub fn nth(&self, rank: usize) -> Option<Point> {
        let mut left = rank;
        for (index, &word) in self.0.iter().enumerate() {
            let ones = word.count_ones() as usize;
            if left < ones {
                return Some(Point::from_raw((index * 64 + select(word, left as u32)) as u16));
            }
            left -= ones;
        }
        None
    }

    /// The first point in the set with an index of at least `from`.
    #[inline]
    pub fn next_from(&self, from: usize) -> Option<Point> {
        let mut index = from / 64;
        let mut word = *self.0.get(index)? & (!0 << (from % 64));
        loop {
            if word != 0 {
                return Some(Point::from_raw((index * 64) as u16 + word.trailing_zeros() as u16));
            }
            index += 1;
            word = *self.0.get(index)?;
        }
    }

    /// The points in this set or the other.
    #[inline]
    pub fn union(&self, other: &PointSet) -> PointSet {
        *self | *other
    }

    /// The points in this set but not in the other.
    #[inline]
    pub fn difference(&self, other: &PointSet) -> PointSet {
        *self - *other
    }

    /// Whether every point of this set is in the other.
    #[inline]
    pub fn is_subset(&self, other: &PointSet) -> bool {
        (*self - *other).is_empty()
    }

    /// Whether the sets have a point in common.
    #[inline]
    pub fn intersects(&self, other: &PointSet) -> bool {
        !(*self & *other).is_empty()
    }
}

/// The position of the set bit of `word` that has `rank` set bits below it.
fn select(mut word: u64, rank: u32) -> usize {
    let mut left = rank;
    let mut base = 0;
    for width in [32, 16, 8, 4] {
        let low = (word & ((1 << width) - 1)).count_ones();
        if left >= low {
            left -= low;
            word >>= width;
            base += width;
        }
    }
    for _ in 0..left {
        word &= word - 1;
    }
    base + word.trailing_zeros() as usize
}

macro_rules! word_by_word {
    ($trait:ident, $method:ident, |$a:ident, $b:ident| $result:expr) => {
        impl $trait for PointSet {
            type Output = PointSet;

            #[inline]
            fn $method(self, other: PointSet) -> PointSet {
                let mut words = self.0;
                for (left, right) in words.iter_mut().zip(other.0) {
                    let ($a, $b) = (*left, right);
                    *left = $result;
                }
                PointSet(words)
            }
        }
    };
}

word_by_word!(BitOr, bitor, |a, b| a | b);
word_by_word!(BitAnd, bitand, |a, b| a & b);
word_by_word!(BitXor, bitxor, |a, b| a ^ b);
word_by_word!(Sub, sub, |a, b| a & !b);

impl BitOrAssign for PointSet {
    #[inline]
    fn bitor_assign(&mut self, other: PointSet) {
        *self = *self | other;
    }
}

impl BitAndAssign for PointSet {
    #[inline]
    fn bitand_assign(&mut self, other: PointSet) {
        *self = *self & other;
    }
}

impl SubAssign for PointSet {
    #[inline]
    fn sub_assign(&mut self, other: PointSet) {
        *self = *self - other;
    }
}

impl FromIterator<Point> for PointSet {
    fn from_iter<I: IntoIterator<Item = Point>>(points: I) -> PointSet {
        let mut set = PointSet::new();
        set.extend(points);
        set
    }
}

impl Extend<Point> for PointSet {
    fn extend<I: IntoIterator<Item = Point>>(&mut self, points: I) {
        for point in points {
            self.insert(point);
        }
    }
}

impl IntoIterator for PointSet {
    type Item = Point;
    type IntoIter = Points;

    fn into_iter(self) -> Points {
        self.iter()
    }
}

impl fmt::Debug for PointSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Point::index)).finish()
    }
}

/// The points of a [`PointSet`] in ascending order.
#[derive(Clone, Debug)]
pub struct Points {
    words: [u64; WORDS],
    word: usize,
}

impl Iterator for Points {
    type Item = Point;

    #[inline]
    fn next(&mut self) -> Option<Point> {
        while self.word < WORDS {
            let bits = self.words[self.word];
            if bits != 0 {
                self.words[self.word] = bits & (bits - 1);
                let index = self.word * 64 + bits.trailing_zeros() as usize;
                return Some(Point::from_raw(index as u16));
            }
            self.word += 1;
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.words[self.word.min(WORDS)..]
            .iter()
            .map(|w| w.count_ones() as usize)
            .sum();
        (left, Some(left))
    }
}

impl ExactSizeIterator for Points {}
