//! Reads any bytes as lines of GTP in a session whose engine plays the first legal point. Every answer must be
//! well-formed and the game must remain valid. Counterparts in the default tests: `any_bytes_are_answered` and
//! `any_words_are_answered` in `crates/gtp/tests/session/robust.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

use tengen_gtp::{CommandLine, Engine, EngineError, Genmove, Session, Turn, Watcher};
use tengen_rules::{Komi, Move, Size};

struct FirstPoint;

impl Engine for FirstPoint {
    fn name(&self) -> String {
        "First".to_owned()
    }

    fn version(&self) -> String {
        "1".to_owned()
    }

    fn genmove(&mut self, turn: &Turn<'_>, _watcher: Option<Watcher<'_>>) -> Result<Genmove, EngineError> {
        let _ = turn.clock.budget(turn.color(), 10);
        let point = turn.position.legal_points().iter().next();
        Ok(Genmove::plain(point.map_or(Move::Pass, Move::Play)))
    }

    fn ownership(&mut self, turn: &Turn<'_>) -> Result<Option<Vec<f32>>, EngineError> {
        Ok(Some(vec![0.9; turn.position.size().area()]))
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = text.parse::<CommandLine>();
    }
    let size = Size::square(5).expect("5x5 is a board");
    let mut session = Session::new(FirstPoint, size, Komi::from_half_points(15));
    for line in bytes.split(|&byte| byte == b'\n') {
        let text = session.handle_bytes(line).text;
        assert!(text.is_empty() || text.ends_with('\n'));
    }
});
