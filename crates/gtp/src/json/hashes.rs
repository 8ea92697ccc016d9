//! Hashes of positions for clients that look for repetitions.

use tengen_rules::{Color, PointSet, Position, Size, Symmetry};

/// A hash of the coloring, the side to move and the points forbidden by the ko rule, and a second hash shared by the
/// position's images under all symmetries; 32 hexadecimal digits each, the same in every session.
pub(super) fn names(position: &Position) -> [String; 2] {
    let size = position.size();
    let sets = [
        position.stones(Color::Black),
        position.stones(Color::White),
        position.superko_banned(),
    ];
    let name = |symmetry: &Symmetry| {
        let image = sets.map(|set| symmetry.apply_set(size, &set));
        hash(size, position.to_move(), &image)
    };
    let images = Symmetry::all(size).iter().map(name);
    let shared = images.min().expect("every board has the identity");
    [hash(size, position.to_move(), &sets), shared].map(|hash| format!("{hash:032X}"))
}

/// 128-bit FNV-1a (Fowler, Noll and Vo) over bytes.
fn hash(size: Size, to_move: Color, sets: &[PointSet; 3]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let words = sets
        .iter()
        .flat_map(|set| set.words())
        .flat_map(|word| word.to_le_bytes());
    let head = [size.width() as u8, size.height() as u8, to_move.index() as u8];
    let bytes = head.into_iter().chain(words);
    bytes.fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_rules::Move;

    fn names_after(moves: &str) -> [String; 2] {
        let size = Size::square(5).expect("a size");
        let mut position = Position::new(size);
        for text in moves.split_whitespace() {
            position.play(Move::parse(size, text).expect("a move"));
        }
        names(&position)
    }

    #[test]
    fn images_share_one_hash_and_transpositions_both() {
        let [one, shared] = names_after("A1 B2");
        assert_eq!(one.len(), 32);
        let [image, image_shared] = names_after("E5 D4");
        assert_eq!(shared, image_shared);
        assert_ne!(one, image);
        assert_eq!(names_after("A1 B2 C3 D4"), names_after("C3 D4 A1 B2"));
        assert_ne!(names_after("A1 B2")[1], names_after("B2 A1")[1], "colors count");
        assert_ne!(
            names_after("A1")[1],
            names_after("A1 pass")[1],
            "the side to move counts"
        );
    }
}
