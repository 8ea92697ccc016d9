//! Predictions kept for positions that come up again, in the same search, game or group.

use std::hash::{BuildHasherDefault, Hasher};

use tengen_rules::Judge;

/// Predictions by position, in bounded memory.
///
/// Keys are [`Features::key`](tengen_records::Features::key) of the canonical image, mixed with the rule set. Two
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

/// What is kept of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evaluation {
    /// P(win) − P(loss), viewpoint of the side to move.
    pub(crate) value: f32,
    /// Expected margin after komi in points, viewpoint of the side to move.
    pub(crate) margin: f32,
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

    /// The prediction of a position with `moves` legal moves: its priors and values.
    pub(crate) fn get(&mut self, key: u128, moves: usize) -> Option<(Evaluation, &[f32])> {
        self.lookups += 1;
        if !self.young.places.contains_key(&key) {
            let (evaluation, priors) = self.old.get(key)?;
            if priors.len() != moves {
                return None;
            }
            self.young.insert(key, evaluation, priors);
        }
        let found = self.young.get(key).filter(|(_, priors)| priors.len() == moves)?;
        self.hits += 1;
        Some(found)
    }

    /// Keeps a prediction.
    pub(crate) fn insert(&mut self, key: u128, evaluation: Evaluation, priors: &[f32]) {
        let needed = priors.len() + Generation::OVERHEAD;
        if needed > self.values_per_generation {
            return;
        }
        if self.young.cost() + needed > self.values_per_generation {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, evaluation, priors);
    }
}

type Places = std::collections::HashMap<u128, Place, BuildHasherDefault<KeyHasher>>;

/// One generation: a map into one pool of priors, so that no entry allocates.
#[derive(Debug, Default)]
struct Generation {
    places: Places,
    priors: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    moves: u16,
    evaluation: Evaluation,
}

impl Generation {
    /// Memory of an entry besides its priors, in units of one prior (key, place and slack of the map).
    const OVERHEAD: usize = 16;

    fn cost(&self) -> usize {
        self.priors.len() + self.places.len() * Self::OVERHEAD
    }

    fn clear(&mut self) {
        self.places.clear();
        self.priors.clear();
    }

    fn get(&self, key: u128) -> Option<(Evaluation, &[f32])> {
        let place = self.places.get(&key)?;
        let start = place.start as usize;
        Some((place.evaluation, &self.priors[start..start + usize::from(place.moves)]))
    }

    fn insert(&mut self, key: u128, evaluation: Evaluation, priors: &[f32]) {
        let Ok(start) = u32::try_from(self.priors.len()) else {
            return;
        };
        let moves = u16::try_from(priors.len()).expect("a board has at most 362 moves");
        self.priors.extend_from_slice(priors);
        self.places.insert(
            key,
            Place {
                start,
                moves,
                evaluation,
            },
        );
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

    fn evaluation(n: u128) -> Evaluation {
        Evaluation {
            value: n as f32,
            margin: -(n as f32),
        }
    }

    #[test]
    fn what_goes_in_comes_out_until_cleared() {
        let mut cache = EvaluationCache::new(1 << 16);
        assert!(cache.get(5, 2).is_none());
        cache.insert(5, evaluation(5), &[0.25, 0.75]);
        assert_eq!(cache.get(5, 2), Some((evaluation(5), &[0.25, 0.75][..])));
        assert!(
            cache.get(5, 3).is_none(),
            "another number of legal moves is another position"
        );
        assert_eq!((cache.hits(), cache.lookups()), (1, 3));
        cache.clear();
        assert!(cache.is_empty() && cache.get(5, 2).is_none());
    }

    #[test]
    fn memory_is_bounded_and_recent_entries_stay() {
        let mut cache = EvaluationCache::new(8000);
        for key in 0..10_000u128 {
            cache.insert(key, evaluation(key), &[1.0; 34]);
            assert!(cache.get(0, 34).is_some(), "an entry in constant use is never dropped");
        }
        assert!(cache.len() <= 2 * (1000 / 50 + 1), "{}", cache.len());
        assert!(cache.get(9_999, 34).is_some() && cache.get(5_000, 34).is_none());
        let mut nothing = EvaluationCache::new(0);
        nothing.insert(1, evaluation(1), &[1.0]);
        assert!(nothing.is_empty());
    }
}
