//! Selects the held-out games, which are never trained on.

use std::borrow::Cow;

use serde_json::Value;
use sha2::{Digest, Sha256};

use tengen_records::GameRecord;

/// Whether a game is in the held-out share, 0 to 1, that is never trained on, so that the losses on it tell learning
/// from memorization.
///
/// The game's id alone decides: with u = the first 8 bytes, big-endian, of SHA-256("held_out" LF game_id), divided by
/// 2^64 (LF is the byte 10), the game is held out if u < share. So the choice is the same in every process, and a
/// larger share contains a smaller one.
pub fn is_held_out(game_id: &str, share: f64) -> bool {
    if share <= 0.0 {
        return false;
    }
    let hash = Sha256::new()
        .chain_update(b"held_out\n")
        .chain_update(game_id)
        .finalize();
    let (first, _) = hash.split_first_chunk::<8>().expect("a SHA-256 has 32 bytes");
    (u64::from_be_bytes(*first) as f64) < share * 2f64.powi(64)
}

/// The id that decides whether a game is held out: its own, or that of the game of which it is a labelled copy, so that
/// both are held out or neither is. Copies that early versions labelled do not name their original.
pub(crate) fn deciding_id(record: &GameRecord) -> Cow<'_, str> {
    let teacher = record.origin.as_ref().and_then(|origin| origin.teacher.as_deref());
    let original = teacher.and_then(
        |teacher| match serde_json::from_str::<Value>(teacher).ok()?.get_mut("game")? {
            Value::String(id) => Some(std::mem::take(id)),
            _ => None,
        },
    );
    original.map_or(Cow::Borrowed(&record.game_id), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_labelled_copy_is_held_out_with_its_original() {
        let mut game = tengen_testing::random_games(3, 1).remove(0);
        let id = game.game_id.clone();
        assert_eq!(deciding_id(&game), id);
        game.game_id = "label-1".to_owned();
        for (teacher, expected) in [
            (r#"{"game":"first","name":"g000001-0123456789ab"}"#, "first"),
            (r#"{"name":"g000001-0123456789ab"}"#, "label-1"),
            ("no JSON", "label-1"),
        ] {
            game.origin.get_or_insert_default().teacher = Some(teacher.to_owned());
            assert_eq!(deciding_id(&game), expected);
        }
    }

    #[test]
    fn the_share_is_held_out_and_a_larger_one_contains_it() {
        let ids: Vec<String> = (0..20_000).map(|number| format!("run-{number}")).collect();
        let count = |share| ids.iter().filter(|id| is_held_out(id, share)).count();
        assert_eq!((count(0.0), count(1.0)), (0, ids.len()));
        let (small, large) = (count(0.02), count(0.1));
        // Four standard deviations around 400 and 2,000.
        assert!((320..=480).contains(&small), "{small}");
        assert!((1830..=2170).contains(&large), "{large}");
        assert!(ids.iter().all(|id| !is_held_out(id, 0.02) || is_held_out(id, 0.1)));
    }

    #[test]
    fn the_choice_follows_the_documented_formula() {
        // printf 'held_out\na' | sha256sum begins with the hexadecimal digits below.
        let u = u64::from_str_radix(U_OF_A, 16).unwrap() as f64 / 2f64.powi(64);
        assert!(is_held_out("a", u + 1e-9) && !is_held_out("a", u - 1e-9));
    }

    const U_OF_A: &str = "d4e298d744be7458";
}
