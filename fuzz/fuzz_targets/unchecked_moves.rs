//! Plays bytes as passes and unchecked plays on empty points. The state must remain valid and agree with the literal
//! rules about what follows. Counterpart in the default tests: `unchecked_plays_follow_the_record` in
//! `crates/rules/tests/properties.rs`.
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
    let (size, rules) = games::start(header, 4);
    let mut fast = Position::with_rules(size, rules);
    let mut slow = SlowGame::new(size, rules);
    for &byte in moves.iter().take(MOST_TURNS) {
        let mv = games::turn(size, byte);
        if mv.point().is_some_and(|point| fast.at(point).is_some()) {
            continue;
        }
        fast.play_unchecked(mv);
        slow.play(mv);
        games::check_same(&fast, &slow);
        fast.assert_valid();
    }
    while fast.undo().is_some() {}
    assert!(fast == Position::with_rules(size, rules), "undo does not restore the start");
});
