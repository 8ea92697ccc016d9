//! Checks a `tt-facts/1` file.

use serde_json::Value;

use tengen_counts::{count_games_watched, count_legal_positions, perft};
use tengen_rules::{
    Color, GameEnd, Handicap, KoRule, Komi, LongCycle, MAX_SIDE, Move, PointSet, Position, Rules, Size, solve,
};

use super::keys::{
    board_text, color_of, half_points, is_too_large, komi_of, moves_of, points_of, rows_text, rules_of_key, size_of,
    stones_of,
};
use super::{CheckRun, OracleReport, TOO_MANY_GAMES, numbers};

/// Maximum number of positions a solver may search; boards that need more count as too large to check.
const MAX_NODES: u64 = 2_000_000;

/// Checks one entry of a list; `None` if the entry cannot be parsed.
type CheckEntry = fn(&Value, &str, &mut OracleReport) -> Option<()>;

pub(super) fn check(file: &Value, report: &mut OracleReport, run: &mut CheckRun<'_>) {
    let lists: [(&str, Option<CheckEntry>); 7] = [
        ("legal_position_counts", Some(position_count)),
        // Counted separately, because it can take hours.
        ("game_counts", None),
        ("perft", Some(perft_counts)),
        ("optimal_scores", Some(optimal_score)),
        ("cases", Some(case)),
        ("random_games", Some(random_game)),
        ("numeric_examples", Some(numbers::check)),
    ];
    let entries = |name: &str| file[name].as_array().map_or(0, Vec::len);
    run.expect(lists.iter().map(|(name, _)| entries(name)).sum());
    for (name, check_entry) in lists {
        for (number, entry) in file[name].as_array().into_iter().flatten().enumerate() {
            if run.next().is_break() {
                return;
            }
            let place = match entry["id"].as_str() {
                Some(id) => format!("{name} {id}"),
                None => format!("{name}[{number}]"),
            };
            if is_too_large(&[&entry["width"], &entry["height"]]) {
                report.skip(&format!("list {name}: boards with a side longer than {MAX_SIDE}"));
                continue;
            }
            let checked = match check_entry {
                Some(check_entry) => check_entry(entry, &place, report),
                None => game_count(entry, &place, report, run),
            };
            if checked.is_none() {
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
    let turned = Size::new(size.height(), size.width()).ok()?;
    let expected = entry["count"].as_str()?;
    for (kind, size) in [
        ("legal positions", size),
        ("legal positions of the turned board", turned),
    ] {
        match count_legal_positions(size) {
            Ok(found) => report.check(kind, place, expected, &found),
            Err(_) => report.skip("legal positions of boards too large to count"),
        }
    }
    Some(())
}

/// Whether the games of a board can be counted within a minute: boards of up to 3 points, and 1x4 under positional
/// superko, which has two billion games.
fn has_few_games(size: Size, rules: Rules) -> bool {
    size.area() <= 3 || (size.area() == 4 && size.width() != size.height() && rules.ko == KoRule::PositionalSuperko)
}

/// The rules of an entry, with the game ending after two passes.
fn ending_rules(entry: &Value) -> Option<Rules> {
    Some(Rules {
        end: GameEnd::TwoPasses,
        ..rules_of_key(entry["rule"].as_str()?)?
    })
}

fn game_count(entry: &Value, place: &str, report: &mut OracleReport, run: &mut CheckRun<'_>) -> Option<()> {
    let (size, Some(rules)) = (size_of(entry)?, ending_rules(entry)) else {
        report.skip(&format!("rule {}", entry["rule"]));
        return Some(());
    };
    if rules.ko == KoRule::Basic {
        report.skip("games without end");
        return Some(());
    }
    if !run.options.all_games && !has_few_games(size, rules) {
        report.skip(TOO_MANY_GAMES);
        return Some(());
    }
    let expected = whole(&entry["count"])?;
    let counting = &mut |games| run.counting(size, games, expected);
    let Some(found) = count_games_watched(size, rules, usize::MAX, counting).ok()? else {
        return Some(());
    };
    report.check("games", place, expected, found.iter().sum());
    if let Some(by_plays) = entry["games_by_number_of_plays"].as_array() {
        let expected: Option<Vec<u128>> = by_plays.iter().map(whole).collect();
        report.check("games by number of plays", place, expected?, found);
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

/// Checks the margin with best play, and that the solver's own line of play ends with it.
fn optimal_score(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let mut position = Position::new(size_of(entry)?);
    let Ok(found) = solve(&position, MAX_NODES) else {
        report.skip("best play on boards too large to solve");
        return Some(());
    };
    let expected = entry["black_margin"].as_i64()?;
    report.check("best play", place, expected, i64::from(found.margin));
    found.line.iter().for_each(|&mv| position.play(mv));
    let end = (position.is_over(), i64::from(position.board_margin()));
    report.check("end of the best line", place, (true, expected), end);
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
    Position::from_setup(
        size,
        rules,
        &black,
        &white,
        color_of(entry["start"]["to_play"].as_str()?)?,
    )
    .ok()
}

/// The position after the first `count` moves, or after all of them; `None` if the sequence cannot be parsed.
fn replay(entry: &Value, rules: Rules, count: usize) -> Option<Position> {
    let size = size_of(entry)?;
    let mut position = start_of(entry, size, rules)?;
    for (_, mv) in moves_of(size, &entry["moves"])?.into_iter().take(count) {
        position.play_unchecked(mv);
    }
    if cfg!(debug_assertions) {
        position.assert_valid();
    }
    Some(position)
}

/// The stones removed so far, Black's first.
fn removed(position: &Position) -> [i64; 2] {
    Color::ALL.map(|color| position.prisoners(color).into())
}

/// The stones an entry says were removed, Black's first.
fn stated_removed(entry: &Value) -> Option<[i64; 2]> {
    Some([
        entry["black_stones_removed"].as_i64()?,
        entry["white_stones_removed"].as_i64()?,
    ])
}

fn plain_rules() -> Rules {
    Rules {
        end: GameEnd::FourPasses,
        ..Rules::tromp_taylor()
    }
}

fn case(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    sequence(entry, place, report)?;
    let moves = entry["moves"].as_array()?.len();
    for (number, check) in entry["checks"].as_array()?.iter().enumerate() {
        let Some(after) = check["after"].as_u64().and_then(|after| usize::try_from(after).ok()) else {
            report.unreadable(place, &format!("check {number} has no number \"after\""));
            continue;
        };
        let place = format!("{place} after {after}");
        if after > moves {
            report.unreadable(&place, &format!("the sequence has only {moves} moves"));
        } else if case_check(entry, check, after, &place, report).is_none() {
            report.unreadable(&place, &format!("check {number} cannot be parsed"));
        }
    }
    Some(())
}

fn case_check(entry: &Value, check: &Value, after: usize, place: &str, report: &mut OracleReport) -> Option<()> {
    let position = replay(entry, plain_rules(), after)?;
    match check["type"].as_str()? {
        "legal" => {
            side_to_move(check, &position, place, report)?;
            legality(entry, check, after, place, report)
        }
        "points" => {
            side_to_move(check, &position, place, report)?;
            legal_points(entry, check, after, place, report)
        }
        "next" => side_to_move(check, &position, place, report),
        "end" => end(entry, check, after, place, report),
        "long_cycle" => long_cycle(entry, check, after, place, report),
        kind => board_check(kind, check, &position, place, report),
    }
}

fn side_to_move(check: &Value, position: &Position, place: &str, report: &mut OracleReport) -> Option<()> {
    report.check(
        "side to move",
        place,
        color_of(check["player"].as_str()?)?,
        position.to_move(),
    );
    Some(())
}

/// Checks the colors of the moves, and under which rule keys all of them are legal.
fn sequence(entry: &Value, place: &str, report: &mut OracleReport) -> Option<()> {
    let size = size_of(entry)?;
    let moves = moves_of(size, &entry["moves"])?;
    let mut position = start_of(entry, size, plain_rules())?;
    for (number, &(color, mv)) in moves.iter().enumerate() {
        let place = format!("{place} move {number}");
        report.check("color of a move", &place, color, position.to_move());
        position.play_unchecked(mv);
    }
    sequence_legality(entry, &moves, place, report)
}

/// Checks under which rule keys all moves are legal.
fn sequence_legality(entry: &Value, moves: &[(Color, Move)], place: &str, report: &mut OracleReport) -> Option<()> {
    let Some(legal_keys) = entry["moves_legal_under"].as_array() else {
        return Some(());
    };
    let columns = ["psk", "ssk", "nssk", "t96", "psk_ns", "ssk_ns", "basic", "fixed"];
    let covered = entry["legal_points_columns"].as_array();
    for key in columns
        .iter()
        .filter(|key| covered.is_none_or(|columns| columns.iter().any(|name| name == *key)))
    {
        let mut position = start_of(entry, size_of(entry)?, rules_of_key(key)?)?;
        let legal = moves.iter().all(|&(_, mv)| {
            let legal = position.is_legal(mv);
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
        let position = replay(entry, rules_of_key(key)?, after)?;
        report.check(
            &format!("legal under {key}"),
            place,
            expected.as_bool()?,
            position.is_legal(mv),
        );
    }
    Some(())
}

fn legal_points(entry: &Value, check: &Value, after: usize, place: &str, report: &mut OracleReport) -> Option<()> {
    let size = size_of(entry)?;
    for (key, expected) in check["points"].as_object()? {
        let position = replay(entry, rules_of_key(key)?, after)?;
        let expected: PointSet = set_of(points_of(size, expected)?);
        report.check(
            &format!("legal points under {key}"),
            place,
            expected,
            position.legal_points(),
        );
    }
    Some(())
}

fn set_of(points: Vec<tengen_rules::Point>) -> PointSet {
    let mut set = PointSet::new();
    points.into_iter().for_each(|point| set.insert(point));
    set
}

/// Checks whether two passes end the game, and four.
fn end(entry: &Value, check: &Value, after: usize, place: &str, report: &mut OracleReport) -> Option<()> {
    let two_passes = Rules {
        end: GameEnd::TwoPasses,
        ..plain_rules()
    };
    let expected = [check["two_pass"].as_bool()?, check["four_pass"].as_bool()?];
    let is_over = |rules| Some(replay(entry, rules, after)?.is_over());
    report.check("end", place, expected, [is_over(two_passes)?, is_over(plain_rules())?]);
    Some(())
}

/// Checks whether a cycle that removes equally many stones of both sides ties the game under basic ko, and not before
/// its last move.
fn long_cycle(entry: &Value, check: &Value, after: usize, place: &str, report: &mut OracleReport) -> Option<()> {
    let rules = |long_cycle| {
        Some(Rules {
            long_cycle,
            ..rules_of_key("basic")?
        })
    };
    let tie_if_equal = rules(LongCycle::TieIfEqual)?;
    let now = replay(entry, tie_if_equal, after)?;
    let first = usize::try_from(check["repeats_position_after"].as_u64()?).ok()?;
    let then = replay(entry, tie_if_equal, first)?;
    report.check("repeated board", place, board_text(&then), board_text(&now));
    let [now_removed, then_removed] = [removed(&now), removed(&then)];
    let in_cycle = [0, 1].map(|side: usize| now_removed[side] - then_removed[side]);
    report.check("stones removed in the cycle", place, stated_removed(check)?, in_cycle);
    let tie = check["tie"].as_bool()?;
    report.check("tie by cycle", place, [tie; 2], [now.is_tied_by_cycle(), now.is_over()]);
    let mut ended_before = false;
    for turn in 0..after {
        ended_before |= replay(entry, tie_if_equal, turn)?.is_over();
    }
    report.check("tie before the end of the cycle", place, false, ended_before);
    let in_practice = replay(entry, rules(LongCycle::PracticeTie)?, after)?;
    report.check("tie of any cycle", place, true, in_practice.is_tied_by_cycle());
    Some(())
}

fn board_check(kind: &str, check: &Value, position: &Position, place: &str, report: &mut OracleReport) -> Option<()> {
    match kind {
        "board" => report.check(kind, place, rows_text(&check["board"]), board_text(position)),
        "prisoners" => report.check(kind, place, stated_removed(check)?, removed(position)),
        "area" => area(kind, check, position, &PointSet::new(), place, report)?,
        "area_after_removal" => {
            let chains = points_of(position.size(), &check["dead"])?;
            let dead = chains
                .iter()
                .fold(PointSet::new(), |all, &point| all | position.chain(point));
            area(kind, check, position, &dead, place, report)?;
        }
        "result" => {
            let margin = position.margin(komi_of(&check["komi"])?);
            report.check(kind, place, check["result"].as_str()?.to_owned(), margin.to_string());
        }
        "half_count" => half_count(check, position, place, report)?,
        "territory" => territory(check, position, place, report)?,
        other => report.skip(&format!("check {other}")),
    }
    Some(())
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
        half_points(&check["margin_points"])?,
    ];
    // One zi is one point of one side's count or two points of margin; these values are in quarters of a zi.
    let found = [
        2 * position.size().area() as i64,
        2 * i64::from(count.black_half_points),
        2 * i64::from(count.white_half_points),
        i64::from(margin),
        i64::from(margin),
        i64::from(position.margin(komi).half_points()),
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
    sequence(entry, place, report)?;
    let last = replay(entry, plain_rules(), usize::MAX)?;
    report.check(
        "final board",
        place,
        rows_text(&entry["final_board"]),
        board_text(&last),
    );
    report.check("stones removed", place, stated_removed(entry)?, removed(&last));
    area("area", entry, &last, &PointSet::new(), place, report)?;
    let rows = entry["legal_points"].as_array()?;
    for row in rows
        .iter()
        .filter(|row| turn_of(row).is_none_or(|turn| turn > last.ply()))
    {
        report.unreadable(place, &format!("no turn {} in the game", row[0]));
    }
    for (column, key) in entry["legal_points_columns"].as_array()?.iter().enumerate().skip(1) {
        let counts = legal_counts(entry, rules_of_key(key.as_str()?)?)?;
        let kind = format!("legal points under {}", key.as_str()?);
        for row in rows {
            let Some((turn, &found)) = turn_of(row).and_then(|turn| Some((turn, counts.get(turn)?))) else {
                continue;
            };
            let place = format!("{place} turn {turn}");
            match row[column].as_u64() {
                Some(expected) => report.check(&kind, &place, expected, found),
                None => report.unreadable(&place, &format!("no number of {kind}")),
            }
        }
    }
    Some(())
}

/// The turn of a row of `legal_points`.
fn turn_of(row: &Value) -> Option<usize> {
    row[0].as_u64().and_then(|turn| usize::try_from(turn).ok())
}

/// The number of legal points before each move and at the end.
fn legal_counts(entry: &Value, rules: Rules) -> Option<Vec<u64>> {
    let size = size_of(entry)?;
    let mut position = start_of(entry, size, rules)?;
    let mut counts = vec![position.legal_points().len() as u64];
    for (_, mv) in moves_of(size, &entry["moves"])? {
        position.play_unchecked(mv);
        counts.push(position.legal_points().len() as u64);
    }
    Some(counts)
}
