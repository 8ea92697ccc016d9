//! Recognizes positions that are mirror images of each other by a common key, and games by their ids; only the first
//! one is kept.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use sha2::{Digest, Sha256};

use tengen_rules::{Color, ImageTable, Komi, Move, Position, Scoring};

/// A key of everything that two positions must share to count as equal: board size, rules, komi, side to move,
/// consecutive passes, whether a pass is legal, prisoners if the rules count them and, up to one symmetry of the board,
/// the stones of both colors and the points banned by the ko rule. It consists of the first 16 bytes of a SHA-256.
pub(crate) fn position_key(position: &Position, rules: &str, komi: Komi) -> u128 {
    let size = position.size();
    let table = ImageTable::of(size);
    let sets = [
        position.stones(Color::Black),
        position.stones(Color::White),
        position.superko_banned(),
    ];
    let image_of = |number: usize| {
        let map = table.map(number);
        sets.map(|set| *map.image(&set).words())
    };
    let smallest = (0..table.symmetries().len()).map(image_of).min();
    let smallest = smallest.expect("every board has the identity symmetry");
    let mut hash = Sha256::new();
    hash.update(rules.as_bytes());
    hash.update([0, size.width() as u8, size.height() as u8]);
    hash.update(komi.half_points().to_le_bytes());
    hash.update([
        position.to_move().index() as u8,
        position.consecutive_passes() as u8,
        position.is_legal(Move::Pass).into(),
    ]);
    if position.rules().scoring == Scoring::Territory {
        let [black, white] = [Color::Black, Color::White].map(|color| i64::from(position.prisoners(color)));
        hash.update((black - white).to_le_bytes());
    }
    let words = size.area().div_ceil(64);
    for set in &smallest {
        set[..words].iter().for_each(|word| hash.update(word.to_le_bytes()));
    }
    let bytes: [u8; 16] = hash.finalize()[..16].try_into().expect("a SHA-256 has 32 bytes");
    u128::from_le_bytes(bytes)
}

/// The key of a game: the first 16 bytes of the SHA-256 of its id.
pub(crate) fn game_key(game_id: &str) -> u128 {
    let bytes: [u8; 16] = Sha256::digest(game_id)[..16]
        .try_into()
        .expect("a SHA-256 has 32 bytes");
    u128::from_le_bytes(bytes)
}

/// The keys seen so far.
#[derive(Default)]
pub(crate) struct Seen(HashSet<u128, BuildHasherDefault<LowHalf>>);

impl Seen {
    /// Adds a key; returns whether it is new.
    pub(crate) fn insert(&mut self, key: u128) -> bool {
        self.0.insert(key)
    }

    /// Memory of the keys in bytes: 16 plus one byte of the table per slot.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.capacity() as u64 * 8 / 7 * 17
    }
}

/// Hashes a key to its low half, since the keys are already random.
#[derive(Default)]
pub(crate) struct LowHalf(u64);

impl Hasher for LowHalf {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("all keys have 128 bits");
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_rules::{Size, Symmetry, parse_point};

    fn played(size: Size, moves: &[&str]) -> Position {
        let mut position = Position::new(size);
        for text in moves {
            position.play(Move::parse(size, text).unwrap());
        }
        position
    }

    #[test]
    fn only_mirror_images_share_a_key() {
        let size = Size::new(5, 5).unwrap();
        let position = played(size, &["B2", "C4", "A1", "pass"]);
        let key = |position: &Position| position_key(position, "tromp_taylor", Komi::ZERO);
        for &symmetry in Symmetry::all(size) {
            assert_eq!(key(&position.transformed(symmetry)), key(&position), "{symmetry:?}");
        }
        let others = [
            played(size, &["B2", "C4", "A1"]),
            played(size, &["B2", "C4", "A1", "pass", "pass"]),
            played(size, &["C4", "B2", "pass", "A1"]),
            played(size, &["B2", "C4", "B1", "pass"]),
        ];
        for other in &others {
            assert_ne!(key(other), key(&position));
        }
        assert_ne!(
            position_key(&position, "tromp_taylor", Komi::from_half_points(1)),
            key(&position)
        );
        assert_ne!(position_key(&position, "aga", Komi::ZERO), key(&position));
    }

    #[test]
    fn a_ko_ban_distinguishes_positions() {
        let size = Size::new(4, 3).unwrap();
        // The same stones with White to move: Black has just taken the ko at B2, or nothing was ever taken.
        let taken = played(size, &["B3", "C3", "A2", "D2", "B1", "C1", "A3", "B2", "C2"]);
        let quiet = played(size, &["B3", "C3", "A2", "D2", "B1", "C1", "A3", "pass", "C2"]);
        assert_eq!((taken.hash(), taken.to_move()), (quiet.hash(), quiet.to_move()));
        let ko = parse_point(size, "B2").unwrap();
        assert!(taken.superko_banned().contains(ko) && !quiet.superko_banned().contains(ko));
        let key = |position: &Position| position_key(position, "tromp_taylor", Komi::ZERO);
        assert_ne!(key(&taken), key(&quiet));
    }
}
