//! Predictions kept for positions that come up again, in the same search, game or group.

use std::hash::{BuildHasherDefault, Hasher};

use tengen_rules::Judge;

/// Predictions by position, in bounded memory.
///
/// Keys are [`Features::key`](tengen_encoding::Features::key) of the canonical image, mixed with the rule set. Two
/// generations are kept: when the younger is full the older is dropped and the younger takes its place, so that
/// what was used lately stays. It answers only for the network that filled it: [`clear`](Self::clear) it when
/// another one takes over.
#[derive(Debug)]
pub struct EvaluationCache {
    young: Generation,
    old: Generation,
    values_per_generation: usize,
    hits: u64,
    lookups: u64,
    judge: Judge,
}

/// The values that are kept of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evaluation {
    /// P(win) − P(loss), viewpoint of the side to move.
    pub(crate) value: f32,
    /// Expected margin after komi in points, viewpoint of the side to move.
    pub(crate) margin: f32,
}

/// All that is kept of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kept<'a> {
    /// The values.
    pub(crate) evaluation: Evaluation,
    /// The probability of every legal move.
    pub(crate) priors: &'a [f32],
    /// The ownership of every point of the image, empty where the network predicts none; `None` where nobody asked.
    pub(crate) ownership: Option<&'a [f32]>,
}

impl EvaluationCache {
    /// A cache that takes at most about this many bytes; 0 keeps nothing.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
            values_per_generation: max_bytes / 2 / size_of::<f32>(),
            hits: 0,
            lookups: 0,
            judge: Judge::default(),
        }
    }

    /// Forgets every prediction (the memory stays) and keeps the counts.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    /// Who counts finished games; what it remembers depends on no network.
    pub(crate) fn judge(&mut self) -> &mut Judge {
        &mut self.judge
    }

    /// Positions held.
    pub fn len(&self) -> usize {
        self.young.places.len() + self.old.places.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Look-ups that were answered since the cache was made.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Look-ups since the cache was made.
    pub fn lookups(&self) -> u64 {
        self.lookups
    }

    /// The prediction of a position with `moves` legal moves; where `ownership` is wanted, only one that was kept with it.
    pub(crate) fn get(&mut self, key: u128, moves: usize, ownership: bool) -> Option<Kept<'_>> {
        self.lookups += 1;
        let fits = |kept: &Kept<'_>| kept.priors.len() == moves && (kept.ownership.is_some() || !ownership);
        if !self.young.places.contains_key(&key) {
            let kept = self.old.get(key).filter(fits)?;
            self.young.insert(key, kept);
        }
        let found = self.young.get(key).filter(fits)?;
        self.hits += 1;
        Some(found)
    }

    /// Keeps a prediction.
    pub(crate) fn insert(&mut self, key: u128, kept: Kept<'_>) {
        let needed = kept.priors.len() + kept.ownership.map_or(0, <[f32]>::len) + Generation::OVERHEAD;
        if needed > self.values_per_generation {
            return;
        }
        if self.young.cost() + needed > self.values_per_generation {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, kept);
    }
}

type Places = std::collections::HashMap<u128, Place, BuildHasherDefault<KeyHasher>>;

/// One generation: a map into one pool of numbers, so that no entry allocates.
#[derive(Debug, Default)]
struct Generation {
    places: Places,
    /// Of each entry the priors, then the ownership if it is kept.
    pool: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    moves: u16,
    /// Points whose ownership follows the priors; `None` where it is not kept.
    points: Option<u16>,
    evaluation: Evaluation,
}

impl Generation {
    /// Memory of an entry besides its part of the pool, in numbers of the pool (key, place and slack of the map).
    const OVERHEAD: usize = 16;

    fn cost(&self) -> usize {
        self.pool.len() + self.places.len() * Self::OVERHEAD
    }

    fn clear(&mut self) {
        self.places.clear();
        self.pool.clear();
    }

    fn get(&self, key: u128) -> Option<Kept<'_>> {
        let place = self.places.get(&key)?;
        let (priors, rest) = self.pool[place.start as usize..].split_at(usize::from(place.moves));
        Some(Kept {
            evaluation: place.evaluation,
            priors,
            ownership: place.points.map(|points| &rest[..usize::from(points)]),
        })
    }

    fn insert(&mut self, key: u128, kept: Kept<'_>) {
        let Ok(start) = u32::try_from(self.pool.len()) else {
            return;
        };
        let count = |values: &[f32]| u16::try_from(values.len()).expect("a board has at most 362 moves");
        self.pool.extend_from_slice(kept.priors);
        self.pool.extend_from_slice(kept.ownership.unwrap_or_default());
        let place = Place {
            start,
            moves: count(kept.priors),
            points: kept.ownership.map(count),
            evaluation: kept.evaluation,
        };
        self.places.insert(key, place);
    }
}

/// Takes the low half of a key as its hash: keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(n: u128, priors: &[f32]) -> Kept<'_> {
        Kept {
            evaluation: Evaluation {
                value: n as f32,
                margin: -(n as f32),
            },
            priors,
            ownership: None,
        }
    }

    #[test]
    fn what_goes_in_comes_out_until_cleared() {
        let mut cache = EvaluationCache::new(1 << 16);
        assert!(cache.get(5, 2, false).is_none());
        let one = kept(5, &[0.25, 0.75]);
        cache.insert(5, one);
        assert_eq!(cache.get(5, 2, false), Some(one));
        assert!(
            cache.get(5, 3, false).is_none(),
            "another number of legal moves is another position"
        );
        assert_eq!((cache.hits(), cache.lookups()), (1, 3));
        cache.clear();
        assert!(cache.is_empty() && cache.get(5, 2, false).is_none());
    }

    #[test]
    fn ownership_is_answered_only_where_it_was_kept() {
        let mut cache = EvaluationCache::new(1 << 16);
        let plain = kept(1, &[0.5, 0.5]);
        cache.insert(1, plain);
        assert_eq!(cache.get(1, 2, true), None);
        let owned = Kept {
            ownership: Some(&[1.0, -1.0, 0.5]),
            ..plain
        };
        let without_any = Kept {
            ownership: Some(&[]),
            ..kept(2, &[1.0])
        };
        cache.insert(1, owned);
        cache.insert(2, without_any);
        assert_eq!(cache.get(1, 2, true), Some(owned));
        assert_eq!(
            cache.get(1, 2, false),
            Some(owned),
            "more than was asked for does no harm"
        );
        assert_eq!(cache.get(2, 1, true), Some(without_any));
    }

    #[test]
    fn memory_is_bounded_and_recent_entries_stay() {
        let mut cache = EvaluationCache::new(8000);
        for key in 0..10_000u128 {
            cache.insert(key, kept(key, &[1.0; 34]));
            assert!(
                cache.get(0, 34, false).is_some(),
                "an entry in constant use is never dropped"
            );
        }
        assert!(cache.len() <= 2 * (1000 / 50 + 1), "{}", cache.len());
        assert!(cache.get(9_999, 34, false).is_some() && cache.get(5_000, 34, false).is_none());
        let mut nothing = EvaluationCache::new(0);
        nothing.insert(1, kept(1, &[1.0]));
        assert!(nothing.is_empty());
    }
}
