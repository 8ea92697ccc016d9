//! Positions that KataGo has answered questions about.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value;
use tengen_encoding::{Features, PlaneSet};
use tengen_rules::{Color, Handicap, Komi, Move, Point, PointSet, Position, Rules, Setup, Size};

/// The folder of the facts, or the one that `TENGEN_KATAGO_FACTS` names.
pub(crate) fn folder() -> PathBuf {
    let shipped = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../katago/tests/facts");
    std::env::var_os("TENGEN_KATAGO_FACTS").map_or(shipped, PathBuf::from)
}

/// The lines of a compressed file of facts.
pub(crate) fn facts(name: &str) -> Vec<Value> {
    let file = std::fs::File::open(folder().join(name)).unwrap();
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

fn numbers(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

/// The points with these indices.
pub(crate) fn points(size: Size, list: &Value) -> PointSet {
    let point = |index: i64| Point::from_index(size, index as usize).unwrap();
    numbers(list).into_iter().map(point).collect()
}

/// The position that a fact is about, and its komi.
pub(crate) fn position(fact: &Value) -> (Position, Komi) {
    let [width, height] = numbers(&fact["size"])[..] else {
        panic!("no size")
    };
    let size = Size::new(width as usize, height as usize).unwrap();
    let rules: Rules = fact["rules"].as_str().unwrap().parse().unwrap();
    let stones = ["black", "white"].map(|color| points(size, &fact["setup"][color]));
    let handicap = match stones[0].len() {
        0 => Handicap::Even,
        count => Handicap::Fixed(count as u16),
    };
    let to_move = match fact["first"].as_str() {
        Some("white") => Color::White,
        _ => Color::Black,
    };
    let setup = Setup {
        stones,
        to_move,
        handicap,
    };
    let mut position = Position::starting(size, rules, &setup).unwrap();
    for index in numbers(&fact["moves"]) {
        position.play(match index {
            -1 => Move::Pass,
            _ => Move::Play(Point::from_index(size, index as usize).unwrap()),
        });
    }
    let komi = Komi::from_half_points((fact["komi"].as_f64().unwrap() * 2.0) as i16);
    (position, komi)
}

/// What a network sees of the position that a fact is about.
pub(crate) fn features(fact: &Value) -> Features {
    let (position, komi) = position(fact);
    Features::seen_with(PlaneSet::TRAIL, &position, komi)
}
