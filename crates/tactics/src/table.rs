//! What a search remembers: proof numbers, and proofs with the histories for which they hold.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use tengen_rules::{Color, PointSet};

/// The proof numbers of a position: the smallest number of further positions that have to be decided favorably for the
/// player to move to win (`phi`) or to lose (`delta`); 0 and [`NEVER`] once the position is decided.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) phi: u32,
    pub(crate) delta: u32,
}

pub(crate) const NEVER: u32 = u32::MAX / 2;

impl Numbers {
    pub(crate) const WON: Numbers = Numbers { phi: 0, delta: NEVER };
    pub(crate) const LOST: Numbers = Numbers { phi: NEVER, delta: 0 };
    pub(crate) const NO_LIMIT: Numbers = Numbers {
        phi: NEVER,
        delta: NEVER,
    };

    pub(crate) fn decided(winner: Color, to_move: Color) -> Numbers {
        match winner == to_move {
            true => Numbers::WON,
            false => Numbers::LOST,
        }
    }

    pub(crate) fn below(&self, limits: Numbers) -> bool {
        self.phi < limits.phi && self.delta < limits.delta
    }
}

/// The winner of a position with a particular history, and what of that history the proof depends on.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Proof {
    pub(crate) winner: Color,
    /// The points of all plays of the winner in the proof.
    pub(crate) plays: PointSet,
    /// The number of the oldest turn whose grid matters to the proof because it bans a play of the loser.
    pub(crate) oldest_ban: i64,
}

impl Proof {
    /// No grid bans a play of the loser.
    pub(crate) const NO_BAN: i64 = i64::MAX;
    /// The proof holds only for exactly this history.
    pub(crate) const WHOLE_HISTORY: i64 = -1;

    /// The proof for a position in which nothing has to be played.
    pub(crate) const fn immediate(winner: Color) -> Proof {
        Proof {
            winner,
            plays: PointSet::new(),
            oldest_ban: Proof::NO_BAN,
        }
    }
}

/// A proof that holds for every history in which the winner has never had a stone on any of the points.
#[derive(Copy, Clone, Debug)]
struct FreeProof {
    winner: Color,
    plays: PointSet,
}

/// What is known about a position regardless of its history.
#[derive(Copy, Clone, Debug)]
struct Slot {
    /// An estimate, never a decision.
    numbers: Option<Numbers>,
    proof: Option<FreeProof>,
}

/// Proof numbers and proofs by position, and the proofs that need their exact history.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: HashMap<u128, Slot, BuildHasherDefault<LowHalf>>,
    /// Proofs by the path from the first position of the current question.
    bound: HashMap<u128, Proof, BuildHasherDefault<LowHalf>>,
    /// Estimates by path.
    numbers: HashMap<u128, Numbers, BuildHasherDefault<LowHalf>>,
}

impl Table {
    /// Forgets what belongs to the histories of the last question.
    pub(crate) fn next_question(&mut self) {
        self.bound.clear();
        self.numbers.clear();
    }

    /// A proof for a position that was reached by this path, by a player who had stones on the points `had`.
    pub(crate) fn proof(&self, key: u128, path: u128, had: &[PointSet; 2]) -> Option<Proof> {
        let free = self.slots.get(&key).and_then(|slot| slot.proof);
        let free = free.filter(|proof| !proof.plays.intersects(&had[proof.winner.index()]));
        match free {
            Some(FreeProof { winner, plays }) => Some(Proof {
                winner,
                plays,
                oldest_ban: Proof::NO_BAN,
            }),
            None => self.bound.get(&path).copied(),
        }
    }

    /// The last estimate for a path or, for a new path, for its position.
    ///
    /// A search that took all its estimates from other paths might never make progress.
    pub(crate) fn estimate(&self, key: u128, path: u128) -> Option<Numbers> {
        // Positions recur, and so would their estimates within their own estimates, up to infinity.
        const MOST: u32 = 1000;
        let capped = |numbers: Numbers| Numbers {
            phi: numbers.phi.min(MOST),
            delta: numbers.delta.min(MOST),
        };
        let own = self.numbers.get(&path).copied();
        own.or_else(|| self.slots.get(&key)?.numbers.map(capped))
    }

    pub(crate) fn set_estimate(&mut self, key: u128, path: u128, numbers: Numbers) {
        self.numbers.insert(path, numbers);
        self.slot(key).numbers = Some(numbers);
    }

    /// Keeps a proof that holds for every history in which its plays are new.
    ///
    /// It replaces an older one only if it holds wherever that one does; otherwise two histories that need different
    /// proofs could take them from each other for ever.
    pub(crate) fn set_free(&mut self, key: u128, path: u128, proof: Proof) {
        let Proof { winner, plays, .. } = proof;
        let slot = self.slot(key);
        match slot.proof {
            Some(old) if old.winner != winner || !plays.is_subset(&old.plays) => self.set_bound(path, proof),
            _ => slot.proof = Some(FreeProof { winner, plays }),
        }
    }

    /// Keeps a proof for exactly this path.
    pub(crate) fn set_bound(&mut self, path: u128, proof: Proof) {
        self.bound.insert(path, proof);
    }

    fn slot(&mut self, key: u128) -> &mut Slot {
        self.slots.entry(key).or_insert(Slot {
            numbers: None,
            proof: None,
        })
    }
}

/// A hasher that uses the low half of a key, which is already random.
#[derive(Default)]
struct LowHalf(u64);

impl Hasher for LowHalf {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}
