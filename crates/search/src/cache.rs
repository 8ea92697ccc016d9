//! A cache of predictions for positions that recur in the same search, game or group.

use std::hash::{BuildHasherDefault, Hasher};

use tengen_rules::Judge;

/// A cache of predictions by position, in bounded memory.
///
/// Keys are [`Features::key`](tengen_encoding::Features::key) of the image that the network sees, mixed with the rule
/// set and the number of images. There are two generations: when the younger one is full, the older one is evicted and
/// the younger takes its place, so recently used entries remain. Entries are valid only for the network that filled the
/// cache: call [`clear`](Self::clear) before using another one.
#[derive(Debug)]
pub struct EvaluationCache {
    young: Generation,
    old: Generation,
    values_per_generation: usize,
    hits: u64,
    judge: Judge,
}

/// The cached values of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evaluation {
    /// P(win) − P(loss), from the viewpoint of the side to move.
    pub(crate) value: f32,
    /// Expected margin after komi in points, from the viewpoint of the side to move.
    pub(crate) margin: f32,
}

/// The cached part of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CachedPrediction<'a> {
    /// The predicted value and margin.
    pub(crate) evaluation: Evaluation,
    /// The probability of every legal move.
    pub(crate) priors: &'a [f32],
    /// The ownership of every point of the image, empty if the network does not predict it; `None` if not requested.
    pub(crate) ownership: Option<&'a [f32]>,
}

impl EvaluationCache {
    /// A cache that uses at most about this many bytes; with 0, it stores nothing.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
            values_per_generation: max_bytes / 2 / size_of::<f32>(),
            hits: 0,
            judge: Judge::default(),
        }
    }

    /// Removes every prediction but keeps the allocated memory and the hit count.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    /// The judge that counts finished games; its memory does not depend on the network.
    pub(crate) fn judge(&mut self) -> &mut Judge {
        &mut self.judge
    }

    /// The number of cached predictions.
    pub fn len(&self) -> usize {
        self.young.places.len() + self.old.places.len()
    }

    /// Whether the cache has no predictions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of successful lookups since the cache was created.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// The prediction of a position with `moves` legal moves; if `ownership` is set, only one stored with ownership.
    pub(crate) fn get(&mut self, key: u128, moves: usize, ownership: bool) -> Option<CachedPrediction<'_>> {
        let fits = |kept: &CachedPrediction<'_>| kept.priors.len() == moves && (kept.ownership.is_some() || !ownership);
        if !self.young.places.contains_key(&key) {
            let kept = self.old.get(key).filter(fits)?;
            if self.has_room(&kept) {
                self.young.insert(key, kept);
            } else {
                // Copy first: making room evicts the generation that holds the entry.
                let (priors, ownership) = (kept.priors.to_vec(), kept.ownership.map(<[f32]>::to_vec));
                self.insert(
                    key,
                    CachedPrediction {
                        priors: &priors,
                        ownership: ownership.as_deref(),
                        ..kept
                    },
                );
            }
        }
        let found = self.young.get(key).filter(fits)?;
        self.hits += 1;
        Some(found)
    }

    pub(crate) fn insert(&mut self, key: u128, kept: CachedPrediction<'_>) {
        if Generation::cost_of(&kept) > self.values_per_generation {
            return;
        }
        if !self.has_room(&kept) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, kept);
    }

    fn has_room(&self, kept: &CachedPrediction<'_>) -> bool {
        self.young.cost() + Generation::cost_of(kept) <= self.values_per_generation
    }
}

type Places = std::collections::HashMap<u128, Place, BuildHasherDefault<KeyHasher>>;

/// One generation: a map into a single pool of numbers, so that entries need no allocations of their own.
#[derive(Debug, Default)]
struct Generation {
    places: Places,
    /// For each entry the priors, followed by the ownership if stored.
    pool: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    moves: u16,
    /// The number of points whose ownership follows the priors; `None` if not stored.
    points: Option<u16>,
    evaluation: Evaluation,
}

impl Generation {
    /// The memory of an entry outside the pool (key, place and spare capacity of the map), in units of pool numbers.
    const OVERHEAD: usize = 16;

    /// The memory of an entry, in units of pool numbers.
    fn cost_of(kept: &CachedPrediction<'_>) -> usize {
        kept.priors.len() + kept.ownership.map_or(0, <[f32]>::len) + Self::OVERHEAD
    }

    fn cost(&self) -> usize {
        self.pool.len() + self.places.len() * Self::OVERHEAD
    }

    fn clear(&mut self) {
        self.places.clear();
        self.pool.clear();
    }

    fn get(&self, key: u128) -> Option<CachedPrediction<'_>> {
        let place = self.places.get(&key)?;
        let (priors, rest) = self.pool[place.start as usize..].split_at(usize::from(place.moves));
        Some(CachedPrediction {
            evaluation: place.evaluation,
            priors,
            ownership: place.points.map(|points| &rest[..usize::from(points)]),
        })
    }

    fn insert(&mut self, key: u128, kept: CachedPrediction<'_>) {
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

/// A hasher that uses the low half of a key, since keys are already hashes.
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

    fn kept(n: u128, priors: &[f32]) -> CachedPrediction<'_> {
        CachedPrediction {
            evaluation: Evaluation {
                value: n as f32,
                margin: -(n as f32),
            },
            priors,
            ownership: None,
        }
    }

    #[test]
    fn predictions_are_returned_until_cleared() {
        let mut cache = EvaluationCache::new(1 << 16);
        assert!(cache.get(5, 2, false).is_none());
        let one = kept(5, &[0.25, 0.75]);
        cache.insert(5, one);
        assert_eq!(cache.get(5, 2, false), Some(one));
        assert!(
            cache.get(5, 3, false).is_none(),
            "a different number of legal moves means a different position"
        );
        assert_eq!(cache.hits(), 1);
        cache.clear();
        assert!(cache.is_empty() && cache.get(5, 2, false).is_none());
    }

    #[test]
    fn ownership_is_returned_only_if_stored() {
        let mut cache = EvaluationCache::new(1 << 16);
        let plain = kept(1, &[0.5, 0.5]);
        cache.insert(1, plain);
        assert_eq!(cache.get(1, 2, true), None);
        let owned = CachedPrediction {
            ownership: Some(&[1.0, -1.0, 0.5]),
            ..plain
        };
        let without_any = CachedPrediction {
            ownership: Some(&[]),
            ..kept(2, &[1.0])
        };
        cache.insert(1, owned);
        cache.insert(2, without_any);
        assert_eq!(cache.get(1, 2, true), Some(owned));
        assert_eq!(
            cache.get(1, 2, false),
            Some(owned),
            "ownership is returned even if not requested"
        );
        assert_eq!(cache.get(2, 1, true), Some(without_any));
    }

    #[test]
    fn memory_is_bounded_and_recent_entries_remain() {
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
        for key in (0..10_000).rev() {
            let found = cache.get(key, 34, false);
            assert!(found.is_none_or(|found| found.evaluation.value == key as f32), "{key}");
            assert!(cache.len() <= 2 * (1000 / 50 + 1), "{}", cache.len());
        }
        let mut nothing = EvaluationCache::new(0);
        nothing.insert(1, kept(1, &[1.0]));
        assert!(nothing.is_empty());
    }
}
