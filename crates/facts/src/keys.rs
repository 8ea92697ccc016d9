//! Converts the fact files' notation for rules, boards, moves and colors to our types.

use serde_json::Value;

use tengen_rules::{Color, GameEnd, KoRule, Komi, MAX_SIDE, Move, Point, PointSet, Position, Rules, Size, Suicide};

/// The rules of a rule key. Games continue until four passes so that legality can be checked after two.
pub(super) fn rules_of_key(key: &str) -> Option<Rules> {
    let (ko, suicide) = match key {
        "psk" => (KoRule::PositionalSuperko, Suicide::Allowed),
        "ssk" => (KoRule::SituationalSuperko, Suicide::Allowed),
        "nssk" => (KoRule::NaturalSituationalSuperko, Suicide::Allowed),
        "t96" => (KoRule::Superko1996, Suicide::Allowed),
        "psk_ns" => (KoRule::PositionalSuperko, Suicide::Forbidden),
        "ssk_ns" => (KoRule::SituationalSuperko, Suicide::Forbidden),
        "nssk_ns" => (KoRule::NaturalSituationalSuperko, Suicide::Forbidden),
        "t96_ns" => (KoRule::Superko1996, Suicide::Forbidden),
        "basic" => (KoRule::Basic, Suicide::Forbidden),
        "fixed" => (KoRule::Fixed, Suicide::Forbidden),
        _ => return None,
    };
    Some(Rules {
        ko,
        suicide,
        end: GameEnd::FourPasses,
        ..Rules::tromp_taylor()
    })
}

pub(super) fn size_of(entry: &Value) -> Option<Size> {
    let side = |key: &str| entry[key].as_u64().and_then(|side| usize::try_from(side).ok());
    Size::new(side("width")?, side("height")?).ok()
}

/// Whether one of the sides is longer than our boards can be.
pub(super) fn is_too_large(sides: &[&Value]) -> bool {
    sides
        .iter()
        .any(|side| side.as_u64().is_some_and(|side| side > MAX_SIDE as u64))
}

pub(super) fn color_of(letter: &str) -> Option<Color> {
    match letter {
        "B" => Some(Color::Black),
        "W" => Some(Color::White),
        _ => None,
    }
}

/// Parses moves such as `"B C3"` and `"W pass"`.
pub(super) fn moves_of(size: Size, list: &Value) -> Option<Vec<(Color, Move)>> {
    let turn = |text: &Value| {
        let (color, mv) = text.as_str()?.split_once(' ')?;
        Some((color_of(color)?, Move::parse(size, mv).ok()?))
    };
    list.as_array()?.iter().map(turn).collect()
}

/// The stones of both colors on a board given as rows from top to bottom.
pub(super) fn stones_of<'a>(size: Size, rows: impl Iterator<Item = &'a str>) -> Option<[PointSet; 2]> {
    let mut stones = [PointSet::new(); 2];
    let letters: Vec<char> = rows.flat_map(str::chars).collect();
    if letters.len() != size.area() {
        return None;
    }
    for (point, letter) in size.points().zip(letters) {
        match letter {
            'X' => stones[0].insert(point),
            'O' => stones[1].insert(point),
            '.' => {}
            _ => return None,
        }
    }
    Some(stones)
}

/// The board of a position as rows from top to bottom, joined by `/`.
pub(super) fn board_text(position: &Position) -> String {
    let width = position.size().width();
    let mut text = String::new();
    for (number, point) in position.size().points().enumerate() {
        if number > 0 && number % width == 0 {
            text.push('/');
        }
        text.push(match position.at(point) {
            Some(Color::Black) => 'X',
            Some(Color::White) => 'O',
            None => '.',
        });
    }
    text
}

/// The rows in a JSON list of strings, joined by `/`.
pub(super) fn rows_text(rows: &Value) -> String {
    let rows: Vec<&str> = rows
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    rows.join("/")
}

/// Parses point names.
pub(super) fn points_of(size: Size, names: &Value) -> Option<Vec<Point>> {
    let point = |name: &Value| match Move::parse(size, name.as_str()?).ok()? {
        Move::Play(point) => Some(point),
        Move::Pass => None,
    };
    names.as_array()?.iter().map(point).collect()
}

pub(super) fn half_points(points: &Value) -> Option<i64> {
    Some((points.as_f64()? * 2.0).round() as i64)
}

pub(super) fn komi_of(points: &Value) -> Option<Komi> {
    Some(Komi::from_half_points(half_points(points)?.try_into().ok()?))
}

pub(super) fn quarters(number: &Value) -> Option<i64> {
    Some((number.as_f64()? * 4.0).round() as i64)
}
