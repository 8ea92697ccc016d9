//! Helpers for several test programs: rule keys of the suites, boards as text, and the slow rules.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod slow;

use std::path::PathBuf;

use serde_json::Value;

use tengen_rules::{Color, KoRule, Move, PointSet, Position, Rules, Size, Suicide};

pub fn suite(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/suites")
        .join(name)
}

pub fn facts() -> Value {
    let text = std::fs::read_to_string(suite("tt-facts.json")).expect("the suite is part of the repository");
    serde_json::from_str(&text).expect("the suite is JSON")
}

pub fn rows<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key}"))
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no text {key} in {value}"))
}

pub fn number(value: &Value, key: &str) -> i64 {
    value[key]
        .as_i64()
        .unwrap_or_else(|| panic!("no number {key} in {value}"))
}

pub fn size_of(value: &Value) -> Size {
    Size::new(number(value, "width") as usize, number(value, "height") as usize).unwrap()
}

/// The rules for a key such as `psk` or `ssk_ns`.
pub fn rules_of(key: &str) -> Rules {
    let (ko, suicide) = match key.strip_suffix("_ns") {
        Some(ko) => (ko, Suicide::Forbidden),
        None if key == "basic" || key == "fixed" => (key, Suicide::Forbidden),
        None => (key, Suicide::Allowed),
    };
    let ko = match ko {
        "psk" => KoRule::PositionalSuperko,
        "ssk" => KoRule::SituationalSuperko,
        "t96" => KoRule::Superko1996,
        "nssk" => KoRule::NaturalSituationalSuperko,
        "basic" => KoRule::Basic,
        "fixed" => KoRule::Fixed,
        _ => panic!("unknown rule key {key}"),
    };
    Rules {
        ko,
        suicide,
        ..Rules::tromp_taylor()
    }
}

pub fn color_of(letter: &str) -> Color {
    match letter {
        "B" => Color::Black,
        "W" => Color::White,
        _ => panic!("no color {letter}"),
    }
}

/// Parses `B C3` or `W pass`.
pub fn turn_of(size: Size, text: &str) -> (Color, Move) {
    let (color, mv) = text.split_once(' ').expect("color and move");
    (color_of(color), Move::parse(size, mv).unwrap())
}

/// Rows of `X`, `O` and `.`, top row first.
pub fn rows_of(position: &Position) -> Vec<String> {
    let size = position.size();
    let symbol = |p| match position.at(p) {
        Some(Color::Black) => 'X',
        Some(Color::White) => 'O',
        None => '.',
    };
    (0..size.height())
        .map(|row| {
            (0..size.width())
                .map(|column| symbol(size.point(column, row).unwrap()))
                .collect()
        })
        .collect()
}

/// The black and white stones of a board given as rows.
pub fn stones_of(rows: &[&str]) -> [PointSet; 2] {
    let size = Size::new(rows[0].len(), rows.len()).unwrap();
    let all: String = rows.concat();
    ['X', 'O'].map(|symbol| {
        size.points()
            .filter(|p| all.as_bytes()[p.index()] == symbol as u8)
            .collect()
    })
}

pub fn setup(rows: &[&str], rules: Rules, to_move: Color) -> Position {
    let [black, white] = stones_of(rows);
    let size = Size::new(rows[0].len(), rows.len()).unwrap();
    Position::from_setup(size, rules, &black, &white, to_move).unwrap()
}

/// A small generator (xorshift64*) for repeatable random games.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n
    }
}
