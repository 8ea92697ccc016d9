//! Checks a `tt-facts/1` file.

use serde_json::Value;

use tengen_rules::{
    Color, GameEnd, Handicap, Komi, LongCycle, Move, PointSet, Position, Rules, Size, count_games,
    count_games_by_plays, count_legal_positions, perft, solve,
};

use super::keys::{board_text, color_of, moves_of, points_of, rows_text, rules_of_key, size_of, stones_of};
use super::{OracleReport, numbers};

/// Maximum number of positions a solver may search; boards that need more count as too large to check.
const MAX_NODES: u64 = 2_000_000;

/// Checks one entry of a list; `None` if the entry cannot be parsed.
type CheckEntry = fn(&Value, &str, &mut OracleReport) -> Option<()>;

pub(super) fn check(file: &Value, report: &mut OracleReport) {
    let lists: [(&str, CheckEntry); 7] = [
        ("legal_position_counts", position_count),
        ("game_counts", game_count),
        ("perft", perft_counts),
        ("optimal_scores", optimal_score),
        ("cases", case),
        ("random_games", random_game),
        ("numeric_examples", numbers::check),
    ];
    for (name, check_entry) in lists {
        for (number, entry) in file[name].as_array().into_iter().flatten().enumerate() {
            let place = match entry["id"].as_str() {
                Some(id) => format!("{name} {id}"),
                None => format!("{name}[{number}]"),
            };
            if check_entry(entry, &place, report).is_none() {
                report.unreadable(&place, "the entry cannot be parsed");
            }
        }
    }
    for (name, list) in file.as_object().into_iter().flatten() {
        let known = lists.iter().any(|(known, _)| known == name);
        for _ in list.as_array().into_iter().flatten().filter(|_| !known) {
            report.skip(&format!("list {name}"));
        }
    }
}

fn position_count(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let size = size_of(entry)?;
    match count_legal_positions(size) {
        Ok(found) => report.check("legal positions", place, entry["count"].as_str()?.to_owned(), found),
        Err(_) => report.skip("legal positions of boards too large to count"),
    }
    Some(())
}

/// The rules of an entry, with the game ending after two passes.
fn ending_rules(entry: &Value) -> Option<Rules> {
    Some(Rules {
        end: GameEnd::TwoPasses,
        ..rules_of_key(entry["rule"].as_str()?)?
    })
}

fn game_count(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let (size, Some(rules)) = (size_of(entry)?, ending_rules(entry)) else {
        report.skip(&format!("rule {}", entry["rule"]));
        return Some(());
    };
    match count_games(size, rules) {
        Ok(found) => report.check("games", place, entry["count"].as_str()?.to_owned(), found.to_string()),
        Err(_) => report.skip("games without end"),
    }
    if let Some(by_plays) = entry["games_by_number_of_plays"].as_array() {
        let expected: Option<Vec<u128>> = by_plays.iter().map(whole).collect();
        if let Ok(found) = count_games_by_plays(size, rules, usize::MAX) {
            report.check("games by number of plays", place, expected?, found);
        }
    }
    Some(())
}

/// A count, written as a number or, if it is large, as text.
fn whole(count: &Value) -> Option<u128> {
    match count.as_str() {
        Some(text) => text.parse().ok(),
        None => count.as_u64().map(u128::from),
    }
}

fn perft_counts(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let (size, Some(rules)) = (size_of(entry)?, ending_rules(entry)) else {
        report.skip(&format!("rule {}", entry["rule"]));
        return Some(());
    };
    let mut position = Position::with_rules(size, rules);
    for (depth, expected) in entry["counts"].as_array()?.iter().enumerate() {
        report.check(
            &format!("perft {depth}"),
            place,
            expected.as_u64()?,
            perft(&mut position, depth),
        );
    }
    Some(())
}

fn optimal_score(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    match solve(&Position::new(size_of(entry)?), MAX_NODES) {
        Ok(found) => report.check(
            "best play",
            place,
            entry["black_margin"].as_i64()?,
            i64::from(found.margin),
        ),
        Err(_) => report.skip("best play on boards too large to solve"),
    }
    Some(())
}

/// The start position of a case under some rules.
fn start_of(entry: &Value, size: Size, rules: Rules) -> Option<Position> {
    if let Some(stones) = entry["handicap"].as_u64() {
        return Position::with_handicap(size, rules, Handicap::Consecutive(stones.try_into().ok()?)).ok();
    }
    if entry["start"].is_null() {
        return Some(Position::with_rules(size, rules));
    }
    let rows = entry["start"]["board"].as_array()?.iter().filter_map(Value::as_str);
    let [black, white] = stones_of(size, rows)?;
    Position::from_setup(size, rules, &black, &white, color_of(&entry["start"]["to_play"])?).ok()
}

/// A position reached by exactly the given moves, with the number of stones removed so far.
struct Replay {
    position: Position,
    /// Number of black and white stones removed.
    removed: [i64; 2],
    /// Number of consecutive passes at the end of the sequence.
    passes: u32,
}

fn replay(entry: &Value, rules: Rules, count: usize) -> Option<Replay> {
    let size = size_of(entry)?;
    let mut position = start_of(entry, size, rules)?;
    let (mut removed, mut passes) = ([0; 2], 0);
    for (color, mv) in moves_of(size, &entry["moves"])?.into_iter().take(count) {
        let stones = |position: &Position| Color::ALL.map(|color| position.stones(color).len() as i64);
        let before = stones(&position);
        position.play_unchecked(mv);
        let after = stones(&position);
        let placed = |side: Color| i64::from(side == color && mv != Move::Pass);
        for side in Color::ALL {
            removed[side.index()] += before[side.index()] + placed(side) - after[side.index()];
        }
        passes = if mv == Move::Pass { passes + 1 } else { 0 };
    }
    Some(Replay {
        position,
        removed,
        passes,
    })
}

fn plain_rules() -> Rules {
    Rules {
        end: GameEnd::FourPasses,
        ..Rules::tromp_taylor()
    }
}

fn case(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    sequence_legality(entry, place, report)?;
    for check in entry["checks"].as_array()? {
        let after = usize::try_from(check["after"].as_u64()?).ok()?;
        let place = format!("{place} after {after}");
        let state = replay(entry, plain_rules(), after)?;
        match check["type"].as_str()? {
            "legal" => legality(entry, check, after, &place, report)?,
            "points" => legal_points(entry, check, after, &place, report)?,
            "long_cycle" => long_cycle(entry, check, after, &place, report)?,
            kind => board_check(kind, check, &state, &place, report)?,
        }
    }
    Some(())
}

/// Checks under which rule keys all moves are legal.
fn sequence_legality(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let Some(legal_keys) = entry["moves_legal_under"].as_array() else {
        return Some(());
    };
    let columns = ["psk", "ssk", "nssk", "t96", "psk_ns", "ssk_ns", "basic", "fixed"];
    let covered = entry["legal_points_columns"].as_array();
    for key in columns
        .iter()
        .filter(|key| covered.is_none_or(|columns| columns.iter().any(|name| name == *key)))
    {
        let size = size_of(entry)?;
        let mut position = start_of(entry, size, rules_of_key(key)?)?;
        let legal = moves_of(size, &entry["moves"])?.into_iter().all(|(_, mv)| {
            let legal = position.is_over() || position.is_legal(mv);
            position.play_unchecked(mv);
            legal
        });
        let expected = legal_keys.iter().any(|name| name == key);
        report.check(&format!("all moves legal under {key}"), place, expected, legal);
    }
    Some(())
}

fn legality(entry: &Value, check: &Value, after: usize, place: &str, report: &mut OracleReport) -> Option<()> {
    let mv = Move::parse(size_of(entry)?, check["point"].as_str()?).ok()?;
    for (key, expected) in check["legal"].as_object()? {
        let state = replay(entry, rules_of_key(key)?, after)?;
        report.check(
            &format!("legal under {key}"),
            place,
            expected.as_bool()?,
            state.position.is_legal(mv),
        );
    }
    Some(())
}

fn legal_points(entry: &Value, check: &Value, after: usize, place: &str, report: &mut OracleReport) -> Option<()> {
    let size = size_of(entry)?;
    for (key, expected) in check["points"].as_object()? {
        let state = replay(entry, rules_of_key(key)?, after)?;
        let expected: PointSet = set_of(points_of(size, expected)?);
        report.check(
            &format!("legal points under {key}"),
            place,
            expected,
            state.position.legal_points(),
        );
    }
    Some(())
}

fn set_of(points: Vec<tengen_rules::Point>) -> PointSet {
    let mut set = PointSet::new();
    points.into_iter().for_each(|point| set.insert(point));
    set
}

/// Checks whether a cycle that removes equally many stones of both sides ties the game under basic ko.
fn long_cycle(entry: &Value, check: &Value, after: usize, place: &str, report: &mut OracleReport) -> Option<()> {
    let rules = Rules {
        long_cycle: LongCycle::TieIfEqual,
        ..rules_of_key("basic")?
    };
    let now = replay(entry, rules, after)?;
    let first = usize::try_from(check["repeats_position_after"].as_u64()?).ok()?;
    let then = replay(entry, rules, first)?;
    report.check(
        "repeated board",
        place,
        board_text(&then.position),
        board_text(&now.position),
    );
    let removed = [0, 1].map(|side: usize| now.removed[side] - then.removed[side]);
    let expected = [
        check["black_stones_removed"].as_i64()?,
        check["white_stones_removed"].as_i64()?,
    ];
    report.check("stones removed in the cycle", place, expected, removed);
    report.check("tie by cycle", place, check["tie"].as_bool()?, now.position.is_over());
    Some(())
}

pub(super) fn half_points(points: &Value) -> Option<i64> {
    Some((points.as_f64()? * 2.0).round() as i64)
}

pub(super) fn komi_of(points: &Value) -> Option<Komi> {
    Some(Komi::from_half_points(half_points(points)?.try_into().ok()?))
}

fn board_check(kind: &str, check: &Value, state: &Replay, place: &str, report: &mut OracleReport) -> Option<()> {
    let position = &state.position;
    match kind {
        "board" => report.check(kind, place, rows_text(&check["board"]), board_text(position)),
        "next" => report.check(kind, place, color_of(&check["player"])?, position.to_move()),
        "prisoners" => {
            let expected = [
                check["black_stones_removed"].as_i64()?,
                check["white_stones_removed"].as_i64()?,
            ];
            report.check(kind, place, expected, state.removed);
        }
        "end" => {
            let expected = [check["two_pass"].as_bool()?, check["four_pass"].as_bool()?];
            report.check(kind, place, expected, [state.passes >= 2, state.passes >= 4]);
        }
        "area" => area(kind, check, position, &PointSet::new(), place, report)?,
        "area_after_removal" => {
            let chains = points_of(position.size(), &check["dead"])?;
            let dead = chains
                .iter()
                .fold(PointSet::new(), |all, &point| all | position.chain(point));
            area(kind, check, position, &dead, place, report)?;
        }
        "result" => {
            let half = position.margin(komi_of(&check["komi"])?).half_points();
            report.check(kind, place, check["result"].as_str()?.to_owned(), result_text(half));
        }
        "half_count" => half_count(check, position, place, report)?,
        "territory" => territory(check, position, place, report)?,
        other => report.skip(&format!("check {other}")),
    }
    Some(())
}

fn result_text(half_points: i32) -> String {
    let points = f64::from(half_points.abs()) / 2.0;
    match half_points.signum() {
        1 => format!("B+{points}"),
        -1 => format!("W+{points}"),
        _ => "0".to_owned(),
    }
}

fn area(
    kind: &str,
    check: &Value,
    position: &Position,
    dead: &PointSet,
    place: &str,
    report: &mut OracleReport,
) -> Option<()> {
    let area = position.area_without(dead);
    let (black, white) = (area.black.len() as i64, area.white.len() as i64);
    let neutral = position.size().area() as i64 - black - white;
    let number = |key: &str| check[key].as_i64();
    let expected = [
        number("black")?,
        number("white")?,
        number("neutral")?,
        number("margin")?,
    ];
    report.check(kind, place, expected, [black, white, neutral, black - white]);
    Some(())
}

fn half_count(check: &Value, position: &Position, place: &str, report: &mut OracleReport) -> Option<()> {
    let count = position.half_count(&PointSet::new());
    let komi = Komi::from_half_points((check["komi_zi"].as_f64()? * 4.0).round() as i16);
    let margin = count.margin(komi).half_points();
    let quarters = |key: &str| Some((check[key].as_f64()? * 4.0).round() as i64);
    let expected = [
        quarters("reference_zi")?,
        quarters("black_zi")?,
        quarters("white_zi")?,
        quarters("black_margin_zi")?,
        half_points(&check["margin_points"])?,
    ];
    // One zi is one point of one side's count or two points of margin; these values are in quarters of a zi.
    let found = [
        2 * position.size().area() as i64,
        2 * i64::from(count.black_half_points),
        2 * i64::from(count.white_half_points),
        i64::from(margin),
        i64::from(margin),
    ];
    report.check("half_count", place, expected, found);
    Some(())
}

fn territory(check: &Value, position: &Position, place: &str, report: &mut OracleReport) -> Option<()> {
    let alive = set_of(points_of(position.size(), &check["independently_alive"])?);
    let found = position.territory(&alive);
    let number = |key: &str| check[key].as_i64();
    let expected = [
        number("black_territory")?,
        number("white_territory")?,
        number("black_prisoners")?,
        number("white_prisoners")?,
        half_points(&check["score"])?,
    ];
    // A player's prisoners are the removed stones of the other color.
    let [black_removed, white_removed] = found.prisoners.map(i64::from);
    let counts = [
        found.territory.black.len() as i64,
        found.territory.white.len() as i64,
        white_removed,
        black_removed,
        i64::from(found.margin(komi_of(&check["komi"])?).half_points()),
    ];
    report.check("territory", place, expected, counts);
    Some(())
}

fn random_game(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    sequence_legality(entry, place, report)?;
    let last = replay(entry, plain_rules(), usize::MAX)?;
    report.check(
        "final board",
        place,
        rows_text(&entry["final_board"]),
        board_text(&last.position),
    );
    let removed = [
        entry["black_stones_removed"].as_i64()?,
        entry["white_stones_removed"].as_i64()?,
    ];
    report.check("stones removed", place, removed, last.removed);
    area("area", entry, &last.position, &PointSet::new(), place, report)?;
    let columns = entry["legal_points_columns"].as_array()?;
    for (column, key) in columns.iter().enumerate().skip(1) {
        let key = key.as_str()?;
        let mut position = start_of(entry, size_of(entry)?, rules_of_key(key)?)?;
        let moves = moves_of(position.size(), &entry["moves"])?;
        let mut rows = entry["legal_points"].as_array()?.iter().peekable();
        for (turn, (_, mv)) in moves.into_iter().enumerate() {
            if let Some(row) = rows.next_if(|row| row[0].as_u64() == Some(turn as u64)) {
                let found = position.legal_points().len() as u64;
                report.check(
                    &format!("legal points under {key}"),
                    place,
                    row[column].as_u64()?,
                    found,
                );
            }
            position.play_unchecked(mv);
        }
    }
    Some(())
}
