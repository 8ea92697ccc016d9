//! Reads any bytes as an SGF file. Nothing may panic, every tree must round-trip, and every game must be complete.
//! Counterparts in the default tests: `arbitrary_bytes_never_panic` and `sgf_like_input_never_panics` in
//! `crates/sgf/tests/sgf_properties.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

use tengen_sgf::{SgfGames, SgfText, SgfTrees, parse_sgf};

fuzz_target!(|bytes: &[u8]| {
    let decoded = SgfText::decode(bytes);
    for tree in SgfTrees::new(&decoded.text).flatten() {
        assert_eq!(parse_sgf(&tree.to_string()), Ok(vec![tree]));
    }
    for game in SgfGames::new(&decoded.text).flatten() {
        assert_eq!(game.moves.len(), game.places.len());
        let _ = game.start().check(game.size);
    }
});
