//! Plays bytes as moves, legal or not, under any combination of rules. Nothing may panic, the fast board must agree
//! with the literal rules on every move, an illegal move must change nothing, and undo must lead back to the start.
//! Counterpart in the default tests: `fast_equals_slow` in `crates/rules/tests/properties.rs`.
#![no_main]

mod games;

use libfuzzer_sys::fuzz_target;

use tengen_rules::Position;

use games::slow::SlowGame;

/// The literal rules would be too slow for longer games.
const MOST_TURNS: usize = 100;

fuzz_target!(|bytes: &[u8]| {
    let Some((header, moves)) = bytes.split_first_chunk() else {
        return;
    };
    let (size, rules) = games::start(header, 5);
    let mut fast = Position::with_rules(size, rules);
    let mut slow = SlowGame::new(size, rules);
    games::check_same(&fast, &slow);
    for &byte in moves.iter().take(MOST_TURNS) {
        let mv = games::turn(size, byte);
        let before = fast.clone();
        let result = fast.try_play(mv);
        assert_eq!(result, slow.legality(mv));
        if result.is_err() {
            assert!(fast == before, "an illegal move changed the position");
            continue;
        }
        slow.play(mv);
        games::check_same(&fast, &slow);
        fast.assert_valid();
    }
    while fast.undo().is_some() {}
    assert!(fast == Position::with_rules(size, rules), "undo does not restore the start");
});
