//! Passes any text to every parser: boards, points, moves, komi, and names of rule sets. Nothing may panic, and
//! accepted values must round-trip. Counterpart in the default tests: `parsers_survive_any_text` in
//! `crates/rules/tests/properties.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

use tengen_rules::{Komi, Move, Rules, Size, format_point, parse_point};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[width, height], text)) = bytes.split_first_chunk() else {
        return;
    };
    let sides = [width, height].map(|side| 1 + usize::from(side) % 19);
    let size = Size::new(sides[0], sides[1]).expect("the sides are from 1 to 19");
    let text = String::from_utf8_lossy(text);
    if let Ok(point) = parse_point(size, &text) {
        assert_eq!(parse_point(size, &format_point(size, point)), Ok(point));
    }
    if let Ok(mv) = Move::parse(size, &text) {
        assert_eq!(Move::parse(size, &mv.format(size)), Ok(mv));
    }
    if let Ok(size) = text.parse::<Size>() {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
    if let Ok(komi) = text.parse::<Komi>() {
        assert_eq!(komi.to_string().parse(), Ok(komi));
    }
    match text.parse::<Rules>() {
        Ok(rules) => assert_eq!(rules.to_string().parse(), Ok(rules)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
