//! Which optional planes a network sees, and where they lie among its inputs.

use tengen_rules::PointSet;

use crate::features::{BIT_PLANES, Features};

/// The optional bit planes that a network sees besides the [`BIT_PLANES`] planes of [`Features`]; none by default.
///
/// The network's configuration says which it sees. Predictors and trainers make their batches accordingly, so no other
/// code has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneSet {
    /// The two planes of [`Features::pass_alive`].
    pub pass_alive: bool,
    /// The two planes of [`Features::ladders`].
    pub ladders: bool,
    /// No planes, but the [`Trail`](crate::Trail) of every position, from which a predictor makes its own inputs.
    pub trail: bool,
}

/// The pairs of optional planes of a position, in the order of [`PlaneSet::pairs`].
const PAIRS: [fn(&Features) -> [PointSet; 2]; 2] = [Features::pass_alive, |features| {
    let found = features.ladders();
    [found.stones, found.plays]
}];

impl PlaneSet {
    /// All optional planes.
    pub const ALL: PlaneSet = PlaneSet {
        pass_alive: true,
        ladders: true,
        trail: false,
    };

    /// No optional planes, but the trail of every position.
    pub const TRAIL: PlaneSet = PlaneSet {
        pass_alive: false,
        ladders: false,
        trail: true,
    };

    /// Number of bit planes, with those of [`Features`].
    pub const fn bit_planes(self) -> usize {
        let [pass_alive, ladders] = self.pairs();
        BIT_PLANES + 2 * (pass_alive as usize + ladders as usize)
    }

    /// For each bit plane, its place among those of a network that sees these planes and more.
    pub fn places_in(self, more: PlaneSet) -> Vec<usize> {
        let mut places: Vec<usize> = (0..BIT_PLANES).collect();
        let mut next = BIT_PLANES;
        for (had, has) in self.pairs().into_iter().zip(more.pairs()) {
            if had {
                places.extend([next, next + 1]);
            }
            if has {
                next += 2;
            }
        }
        places
    }

    /// The optional planes of a position, in their order.
    pub(crate) fn optional(self, features: &Features) -> impl Iterator<Item = PointSet> {
        let pairs = self.pairs().into_iter().zip(PAIRS);
        pairs.filter(|(has, _)| *has).flat_map(|(_, planes)| planes(features))
    }

    /// Whether a network sees each pair of optional planes, in the order in which they follow the others.
    const fn pairs(self) -> [bool; 2] {
        [self.pass_alive, self.ladders]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_keep_their_order_among_more() {
        let set = |pass_alive, ladders| PlaneSet {
            pass_alive,
            ladders,
            trail: false,
        };
        let first: Vec<usize> = (0..8).collect();
        let places = |old: PlaneSet, new| old.places_in(new)[8..].to_vec();
        assert_eq!(set(false, false).places_in(set(false, true)), first);
        assert_eq!(places(set(false, true), set(true, true)), [10, 11]);
        assert_eq!(places(set(true, false), set(true, true)), [8, 9]);
        assert_eq!(places(set(true, true), set(true, true)), [8, 9, 10, 11]);
    }
}
