//! The lists of `data/suites/tt-facts.json`: turn sequences, counts, cases, random games, arithmetic.
#![allow(missing_docs, clippy::print_stdout)]

mod support;

use serde_json::Value;

use tengen_rules::{
    Color, GameEnd, Handicap, HandicapBonus, Komi, LongCycle, Move, PointSet, Position, Rules, Scoring, Size,
    parse_point, perft,
};

use support::{color_of, facts, number, rows, rows_of, rules_of, size_of, stones_of, text, turn_of};

#[test]
fn perft_rows() {
    for row in rows(&facts(), "perft") {
        let mut position = Position::with_rules(size_of(row), rules_of(text(row, "rule")));
        for (depth, count) in rows(row, "counts").iter().enumerate() {
            assert_eq!(
                perft(&mut position, depth),
                count.as_u64().unwrap(),
                "{row} depth {depth}"
            );
            assert_eq!(position.ply(), 0);
        }
    }
}

const KEYS: [&str; 8] = ["psk", "ssk", "nssk", "t96", "psk_ns", "ssk_ns", "basic", "fixed"];

/// The position of a case after `turns` turns, under the given rules.
fn position_of(case: &Value, rules: Rules, turns: usize) -> Position {
    let size = size_of(case);
    let mut position = match (&case["start"], case["handicap"].as_u64()) {
        (Value::Null, None) => Position::with_rules(size, rules),
        (Value::Null, Some(n)) => Position::with_handicap(size, rules, Handicap::Consecutive(n as u16)).unwrap(),
        (start, _) => {
            let board: Vec<&str> = rows(start, "board").iter().map(|r| r.as_str().unwrap()).collect();
            let [black, white] = stones_of(&board);
            Position::from_setup(size, rules, &black, &white, color_of(text(start, "to_play"))).unwrap()
        }
    };
    for turn in &rows(case, "moves")[..turns] {
        let (color, mv) = turn_of(size, turn.as_str().unwrap());
        assert_eq!(position.to_move(), color, "{}", case["id"]);
        position.play_unchecked(mv);
    }
    position.assert_valid();
    position
}

/// Whether every move of a case is legal under the rules, except that four passes end the game.
fn all_legal(case: &Value, key: &str) -> bool {
    let rules = Rules {
        end: GameEnd::FourPasses,
        ..rules_of(key)
    };
    (0..rows(case, "moves").len()).all(|turn| {
        let position = position_of(case, rules, turn);
        let (_, mv) = turn_of(size_of(case), rows(case, "moves")[turn].as_str().unwrap());
        position.is_legal(mv)
    })
}

fn points(size: Size, names: &Value) -> PointSet {
    let names = names.as_array().expect("a list of points");
    names
        .iter()
        .map(|n| parse_point(size, n.as_str().unwrap()).unwrap())
        .collect()
}

fn points_of_number(value: &Value) -> Option<i32> {
    value.as_f64().map(|v| (v * 2.0) as i32)
}

fn check_area(check: &Value, area: tengen_rules::Area, size: Size) {
    let (black, white) = (area.black.len() as i64, area.white.len() as i64);
    assert_eq!(black, number(check, "black"));
    assert_eq!(white, number(check, "white"));
    assert_eq!(size.area() as i64 - black - white, number(check, "neutral"));
    assert_eq!(i64::from(area.margin()), number(check, "margin"));
}

fn check_case(case: &Value, check: &Value) {
    let size = size_of(case);
    let after = number(check, "after") as usize;
    let at = |key: &str| {
        let rules = Rules {
            end: GameEnd::FourPasses,
            ..rules_of(key)
        };
        position_of(case, rules, after)
    };
    let position = at("psk");
    let komi = |key: &str| Komi::from_half_points(points_of_number(&check[key]).unwrap() as i16);
    match text(check, "type") {
        "board" => {
            let board: Vec<_> = rows(check, "board").iter().map(|r| r.as_str().unwrap()).collect();
            assert_eq!(rows_of(&position), board);
        }
        "next" => assert_eq!(position.to_move(), color_of(text(check, "player"))),
        "legal" => {
            assert_eq!(position.to_move(), color_of(text(check, "player")));
            let point = parse_point(size, text(check, "point")).unwrap();
            for (key, legal) in check["legal"].as_object().unwrap() {
                assert_eq!(at(key).is_legal(Move::Play(point)), legal.as_bool().unwrap(), "{key}");
            }
        }
        "points" => {
            for (key, legal) in check["points"].as_object().unwrap() {
                assert_eq!(at(key).legal_points(), points(size, legal), "{key}");
            }
        }
        "area" => check_area(check, position.area(), size),
        "area_after_removal" => {
            let dead = points(size, &check["dead"])
                .iter()
                .fold(PointSet::new(), |a, p| a | position.chain(p));
            check_area(check, position.area_without(&dead), size);
        }
        "result" => assert_eq!(position.margin(komi("komi")).to_string(), text(check, "result")),
        "half_count" => check_half_count(check, &position),
        "territory" => {
            let result = position.territory(&points(size, &check["independently_alive"]));
            assert_eq!(result.territory.black.len() as i64, number(check, "black_territory"));
            assert_eq!(result.territory.white.len() as i64, number(check, "white_territory"));
            let score = result.margin(komi("komi")).half_points();
            assert_eq!(Some(score), points_of_number(&check["score"]));
        }
        "prisoners" => {
            assert_eq!(
                i64::from(position.prisoners(Color::Black)),
                number(check, "black_stones_removed")
            );
            assert_eq!(
                i64::from(position.prisoners(Color::White)),
                number(check, "white_stones_removed")
            );
        }
        "end" => {
            let two = position_of(case, rules_of("psk"), after);
            assert_eq!(two.is_over(), check["two_pass"].as_bool().unwrap());
            assert_eq!(position.is_over(), check["four_pass"].as_bool().unwrap());
        }
        "long_cycle" => check_long_cycle(case, check, after),
        other => panic!("unknown check {other}"),
    }
}

fn check_half_count(check: &Value, position: &Position) {
    let zi = |key: &str| (check[key].as_f64().unwrap() * 4.0) as i32;
    let count = position.half_count(&PointSet::new());
    assert_eq!(2 * count.black_half_points, zi("black_zi"));
    assert_eq!(2 * count.white_half_points, zi("white_zi"));
    let komi = Komi::from_half_points(zi("komi_zi") as i16);
    assert_eq!(count.margin(komi).half_points(), zi("black_margin_zi"));
    assert_eq!(
        Some(count.margin(komi).half_points()),
        points_of_number(&check["margin_points"])
    );
    assert_eq!(count.margin(komi), position.margin(komi));
}

fn check_long_cycle(case: &Value, check: &Value, after: usize) {
    let rules = Rules {
        long_cycle: LongCycle::TieIfEqual,
        ..rules_of("basic")
    };
    let earlier = position_of(case, rules, number(check, "repeats_position_after") as usize);
    let position = position_of(case, rules, after);
    assert_eq!(rows_of(&earlier), rows_of(&position));
    for (color, key) in [
        (Color::Black, "black_stones_removed"),
        (Color::White, "white_stones_removed"),
    ] {
        assert_eq!(
            i64::from(position.prisoners(color) - earlier.prisoners(color)),
            number(check, key)
        );
    }
    assert_eq!(position.is_tied_by_cycle(), check["tie"].as_bool().unwrap());
    assert_eq!(position.is_over(), position.is_tied_by_cycle());
    assert!((0..after).all(|turn| !position_of(case, rules, turn).is_over()));
    let practice = Rules {
        long_cycle: LongCycle::PracticeTie,
        ..rules
    };
    assert!(position_of(case, practice, after).is_tied_by_cycle());
}

#[test]
fn cases() {
    let facts = facts();
    assert_eq!(rows(&facts, "cases").len(), 77);
    for case in rows(&facts, "cases") {
        println!("case {} {}", case["id"], case["title"]);
        let legal_under: Vec<_> = rows(case, "moves_legal_under")
            .iter()
            .map(|k| k.as_str().unwrap())
            .collect();
        for key in KEYS {
            assert_eq!(
                all_legal(case, key),
                legal_under.contains(&key),
                "moves of {} under {key}",
                case["id"]
            );
        }
        for check in rows(case, "checks") {
            check_case(case, check);
        }
    }
}

#[test]
fn random_games() {
    for game in rows(&facts(), "random_games") {
        let size = size_of(game);
        let columns: Vec<_> = rows(game, "legal_points_columns")[1..]
            .iter()
            .map(|c| c.as_str().unwrap())
            .collect();
        let mut positions: Vec<_> = columns
            .iter()
            .map(|key| Position::with_rules(size, rules_of(key)))
            .collect();
        let mut legal_under = vec![true; columns.len()];
        for (ply, turn) in rows(game, "moves").iter().enumerate() {
            let (_, mv) = turn_of(size, turn.as_str().unwrap());
            let counts = rows(game, "legal_points").iter().find(|row| row[0] == ply);
            for (i, position) in positions.iter_mut().enumerate() {
                if let Some(counts) = counts {
                    let count = counts[i + 1].as_u64().unwrap();
                    assert_eq!(
                        position.legal_points().len() as u64,
                        count,
                        "{} {counts} {}",
                        game["id"],
                        columns[i]
                    );
                }
                legal_under[i] &= position.is_legal(mv);
                position.play_unchecked(mv);
            }
        }
        check_end(game, &positions[0]);
        let listed = rows(game, "moves_legal_under");
        for (key, legal) in columns.iter().zip(legal_under) {
            assert_eq!(legal, listed.iter().any(|k| k == key), "{} {key}", game["id"]);
        }
    }
}

fn check_end(game: &Value, position: &Position) {
    position.assert_valid();
    let board: Vec<_> = rows(game, "final_board").iter().map(|r| r.as_str().unwrap()).collect();
    assert_eq!(rows_of(position), board);
    check_area(game, position.area(), position.size());
    assert_eq!(
        i64::from(position.prisoners(Color::Black)),
        number(game, "black_stones_removed")
    );
    assert_eq!(
        i64::from(position.prisoners(Color::White)),
        number(game, "white_stones_removed")
    );
}

/// The margin in half points by half counting, for a grid with this Black count where White owns the rest.
fn half_count_margin(size: Size, black_half_points: i32, komi_half_points: i32) -> i32 {
    let count = tengen_rules::HalfCount {
        black_half_points,
        white_half_points: 2 * size.area() as i32 - black_half_points,
    };
    count
        .margin(Komi::from_half_points(komi_half_points as i16))
        .half_points()
}

#[test]
fn numeric_examples() {
    let facts = facts();
    let size = Size::square(19).unwrap();
    for row in rows(&facts, "numeric_examples") {
        let quarter = |key: &str| (row[key].as_f64().unwrap() * 4.0) as i32;
        match text(row, "kind") {
            "half_count" => {
                let counted = quarter("count_zi") / 2;
                let black = if text(row, "counted") == "black" {
                    counted
                } else {
                    2 * 361 - counted
                };
                let margin = half_count_margin(size, black, quarter("komi_zi"));
                assert_eq!(margin, quarter("black_margin_zi"), "{row}");
                assert_eq!(2 * margin, quarter("black_margin_points"), "{row}");
            }
            "area_equals_half" => {
                let black = 2 * number(row, "black") as i32 + number(row, "neutral") as i32;
                let margin = half_count_margin(size, black, quarter("komi_points") / 2);
                assert_eq!(2 * margin, quarter("black_margin_points"), "{row}");
            }
            "handicap_bonus" => {
                let bonus = match text(row, "mode") {
                    "none" => HandicapBonus::Nothing,
                    "N" => HandicapBonus::Stones,
                    "N-1" => HandicapBonus::StonesButOne,
                    other => panic!("unknown mode {other}"),
                };
                let points = bonus.points(number(row, "stones") as u32);
                assert_eq!(i64::from(points), number(row, "white_bonus"), "{row}");
            }
            "button" => check_button(row),
            other => panic!("unknown kind {other}"),
        }
    }
}

/// Checks the button's half point on a full 19x19 grid with the given areas.
fn check_button(row: &Value) {
    let size = Size::square(19).unwrap();
    let rules = Rules {
        button: true,
        scoring: Scoring::Area,
        ..Rules::tromp_taylor()
    };
    // White owns the top rows, Black the rest; one empty point inside each area keeps both alive.
    let white_points = number(row, "white") as usize;
    let white: PointSet = size.points().take(white_points).skip(1).collect();
    let black: PointSet = size
        .points()
        .skip(white_points)
        .take(number(row, "black") as usize - 1)
        .collect();
    let first = color_of(text(row, "first_passer"));
    let mut position = Position::from_setup(size, rules, &black, &white, first).unwrap();
    for passes in 0..3 {
        assert!(!position.is_over(), "after {passes} passes");
        position.play(Move::Pass);
    }
    assert!(position.is_over());
    assert_eq!(position.button_taker(), Some(first));
    let komi = Komi::from_half_points(points_of_number(&row["komi_points"]).unwrap() as i16);
    assert_eq!(
        Some(position.margin(komi).half_points()),
        points_of_number(&row["black_margin_points"])
    );
}
