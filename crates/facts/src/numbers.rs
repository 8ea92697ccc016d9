//! Checks the arithmetic examples of a `tt-facts/1` file: half counting, handicap bonus, button.

use serde_json::Value;

use tengen_rules::{HalfCount, HandicapBonus, Komi, Move, PointSet, Position, Rules, Scoring, Size};

use super::OracleReport;
use super::keys::{color_of, half_points, komi_of, quarters};

/// Checks one example, on the 19x19 board unless it names another area; `None` if it cannot be parsed.
pub(super) fn check(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    match entry["kind"].as_str()? {
        "half_count" => half_count(entry, place, report),
        "area_equals_half" => area_equals_half(entry, place, report),
        "handicap_bonus" => handicap_bonus(entry, place, report),
        "button" => button(entry, place, report),
        other => {
            report.skip(&format!("numeric example {other}"));
            Some(())
        }
    }
}

fn board() -> Option<Size> {
    Size::square(19).ok()
}

/// The number of points of the board of an example: its `area`, or 361 if it has none.
fn area_of(entry: &Value) -> Option<i64> {
    match &entry["area"] {
        Value::Null => Some(board()?.area() as i64),
        area => area.as_i64(),
    }
}

/// Black's margin in half points, from the area of the board, one side's count in half points, and a komi in quarters
/// of a zi.
fn margin_of(area: i64, counted: i64, counts_black: bool, komi_quarters: i64) -> Option<i64> {
    let all = 2 * area;
    let [black, white] = match counts_black {
        true => [counted, all - counted],
        false => [all - counted, counted],
    };
    let count = HalfCount {
        black_half_points: black.try_into().ok()?,
        white_half_points: white.try_into().ok()?,
    };
    let komi = Komi::from_half_points(komi_quarters.try_into().ok()?);
    Some(count.margin(komi).half_points().into())
}

fn half_count(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let counts_black = match entry["counted"].as_str()? {
        "black" => true,
        "white" => false,
        _ => return None,
    };
    let margin = margin_of(
        area_of(entry)?,
        quarters(&entry["count_zi"])? / 2,
        counts_black,
        quarters(&entry["komi_zi"])?,
    )?;
    let expected = [
        quarters(&entry["black_margin_zi"])?,
        half_points(&entry["black_margin_points"])?,
    ];
    report.check("half counting", place, expected, [margin, margin]);
    Some(())
}

fn area_equals_half(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let [black, white, neutral] = ["black", "white", "neutral"].map(|key| entry[key].as_i64());
    let (black, white, neutral) = (black?, white?, neutral?);
    let area = area_of(entry)?;
    report.check("points on the board", place, black + white + neutral, area);
    let komi = half_points(&entry["komi_points"])?;
    let by_half = margin_of(area, 2 * black + neutral, true, komi)?;
    let expected = [
        quarters(&entry["black_margin_zi"])?,
        half_points(&entry["black_margin_points"])?,
    ];
    report.check(
        "half counting equals area",
        place,
        expected,
        [by_half, 2 * (black - white) - komi],
    );
    Some(())
}

fn handicap_bonus(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let bonus = match entry["mode"].as_str()? {
        "none" => HandicapBonus::Nothing,
        "N" => HandicapBonus::Stones,
        "N-1" => HandicapBonus::StonesButOne,
        _ => return None,
    };
    let points = bonus.points(entry["stones"].as_u64()?.try_into().ok()?);
    report.check("handicap bonus", place, entry["white_bonus"].as_i64()?, points.into());
    Some(())
}

/// Fills a board with the given areas, White's in the top rows, lets both sides pass, and scores it.
fn button(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let size = board()?;
    let rules = Rules {
        button: true,
        scoring: Scoring::Area,
        ..Rules::tromp_taylor()
    };
    let [black, white] = ["black", "white"].map(|key| entry[key].as_u64());
    let (black, white) = (usize::try_from(black?).ok()?, usize::try_from(white?).ok()?);
    report.check("points on the board", place, black + white, size.area());
    // One empty point inside each area keeps both sides alive.
    let white_stones: PointSet = size.points().take(white).skip(1).collect();
    let black_stones: PointSet = size.points().skip(white).take(black.checked_sub(1)?).collect();
    let first = color_of(entry["first_passer"].as_str()?)?;
    let mut position = Position::from_setup(size, rules, &black_stones, &white_stones, first).ok()?;
    while !position.is_over() {
        position.play(Move::Pass);
    }
    // The first pass takes the button and does not count as one of the two that end the game.
    report.check("passes with the button", place, 3, position.ply());
    report.check("taker of the button", place, Some(first), position.button_taker());
    let margin = position.margin(komi_of(&entry["komi_points"])?).half_points();
    report.check(
        "margin with the button",
        place,
        half_points(&entry["black_margin_points"])?,
        margin.into(),
    );
    Some(())
}
