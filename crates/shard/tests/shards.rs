//! The Parquet format of games: round trips, names, and invalid files.

use proptest::prelude::*;

use tengen_model::sha256_hex;
use tengen_records::{EndReason, GameRecord, RecordError};
use tengen_rules::{Move, Size};
use tengen_shard::{ShardError, ShardName, decode, encode};
use tengen_testing::{random_game, random_games};

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn games_survive_a_round_trip(
        width in 1usize..=9,
        height in 1usize..=9,
        seed in any::<u64>(),
        count in 0u64..6,
        limit in 0usize..90,
    ) {
        let size = Size::new(width, height).unwrap();
        let games: Vec<_> = (0..count).map(|n| random_game(size, seed.wrapping_add(n), limit)).collect();
        for game in &games {
            prop_assert!(game.validate().is_ok(), "{:?}", game.validate());
        }
        let bytes = encode(&games);
        prop_assert_eq!(&decode(&bytes).unwrap(), &games);
        prop_assert_eq!(encode(&games), bytes);
    }
}

#[test]
fn several_row_groups_keep_their_order() {
    let games = random_games(2, 700);
    assert_eq!(decode(&encode(&games)).unwrap(), games);
}

#[test]
fn the_largest_board_and_unusual_texts_survive_a_round_trip() {
    let mut game = random_game(Size::square(19).unwrap(), 5, 250);
    game.black_model = "Ünïcode, \"quotes\" 囲碁".to_owned();
    game.config_id = String::new();
    game.seed = i64::MIN;
    assert_eq!(decode(&encode(std::slice::from_ref(&game))).unwrap(), [game]);
}

/// Maps at every other ply, or wherever `has_map` says so, with numbers that depend on the ply.
fn with_maps(mut game: GameRecord, has_map: impl Fn(usize) -> bool) -> GameRecord {
    let area = game.size.area();
    for (ply, record) in game.plies.iter_mut().enumerate().filter(|(ply, _)| has_map(*ply)) {
        record.expected_ownership = (0..area)
            .map(|point| ((point + 3 * ply) % 201) as u8)
            .map(|n| (n as i16 - 100) as i8)
            .collect();
    }
    game
}

#[test]
fn maps_of_expected_owners_survive_a_round_trip() {
    let sizes = [(1, 1), (5, 3), (9, 9), (19, 19)];
    let game = |(width, height)| random_game(Size::new(width, height).unwrap(), 3, 60);
    let choices: [fn(usize) -> bool; 4] = [|_| true, |ply| ply % 2 == 1, |ply| ply == 0, |_| false];
    let games: Vec<_> = sizes
        .iter()
        .flat_map(|&size| choices.map(|choice| with_maps(game(size), choice)))
        .collect();
    games.iter().for_each(|game| drop(game.validate().unwrap()));
    assert_eq!(decode(&encode(&games)).unwrap(), games);
}

#[test]
fn certain_maps_of_long_games_are_read_back() {
    let mut game = random_game(Size::square(19).unwrap(), 4, 400);
    for ply in &mut game.plies {
        ply.expected_ownership = vec![100; 361];
    }
    let count = 20_000 / game.plies.len() + 1;
    let games: Vec<_> = (0..count)
        .map(|number| GameRecord {
            game_id: format!("label-{number}"),
            ..game.clone()
        })
        .collect();
    let values = 361 * count * game.plies.len();
    assert!(values > 1 << 22, "more than a file of any size may hold: {values}");
    assert!(decode(&encode(&games)).is_ok());
}

#[test]
fn other_files_are_rejected_with_the_reason() {
    let bytes = encode(&random_games(3, 4));
    let parquet = |bytes: &[u8]| matches!(decode(bytes), Err(ShardError::Parquet(_)));
    assert!(parquet(b""));
    assert!(parquet(b"not a Parquet file at all"));
    assert!(parquet(&bytes[..bytes.len() / 2]));
    let mut wrong_magic = bytes.clone();
    let end = wrong_magic.len();
    wrong_magic[end - 1] ^= 1;
    assert!(parquet(&wrong_magic));

    // The version is text in the footer; another major version has the same length.
    let mut newer = bytes.clone();
    let key = b"tengen.format_version";
    let place = newer.windows(key.len()).rposition(|window| window == key).unwrap();
    let digit = newer[place..].windows(3).position(|window| window == b"1.3").unwrap();
    newer[place + digit] = b'7';
    let error = decode(&newer).unwrap_err();
    assert!(
        matches!(&error, ShardError::Version { found } if found == "7.3"),
        "{error}"
    );
    assert!(error.to_string().contains("1.x"), "{error}");
}

#[test]
fn names_describe_the_contents() {
    let games = random_games(3, 4);
    let bytes = encode(&games);
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    let name = ShardName::new(1_790_000_000_123, "host-7.a_b", 42, &games, &bytes).unwrap();
    let text = name.to_string();
    assert_eq!(
        text,
        format!(
            "1790000000123-host-7.a_b-42-4g-{positions}p-{}",
            &sha256_hex(&bytes)[..16]
        )
    );
    assert_eq!(text.parse::<ShardName>().unwrap(), name);
    for worker in ["", "a/b", "a b", ".hidden", "wörker", &"x".repeat(81)] {
        assert!(ShardName::new(0, worker, 0, &games, &bytes).is_err(), "{worker:?}");
    }
}

#[test]
fn invalid_shard_names_are_rejected() {
    let good = "1790000000123-w-0-4g-40p-0123456789abcdef";
    assert!(good.parse::<ShardName>().is_ok());
    for bad in [
        "",
        "1790000000123",
        "1790000000123-w-0-4g-40p-0123456789abcde",
        "1790000000123-w-0-4g-40p-0123456789ABCDEF",
        "1790000000123-w-0-4-40p-0123456789abcdef",
        "1790000000123-w-00-4g-40p-0123456789abcdef",
        "1790000000123--0-4g-40p-0123456789abcdef",
        "x-w-0-4g-40p-0123456789abcdef",
        "1790000000123-w-0-4g-40p-0123456789abcdef#1",
        "1790000000123-w/x-0-4g-40p-0123456789abcdef",
    ] {
        assert!(bad.parse::<ShardName>().is_err(), "{bad:?}");
    }
}

/// Checks that a finished game altered by `change` is rejected with an error that contains `words`.
fn check_rejected(change: impl Fn(&mut GameRecord), words: &str) {
    let size = Size::square(4).unwrap();
    let finished = (0..)
        .map(|seed| random_game(size, seed, 64))
        .find(|game| game.is_finished() && game.plies.len() > 12 && game.plies.iter().any(|ply| ply.policy.len() > 2));
    let mut game = finished.unwrap();
    game.validate().unwrap();
    change(&mut game);
    let error = game.validate().unwrap_err();
    assert!(error.to_string().contains(words), "expected {words:?} in: {error}");
}

#[test]
fn every_false_record_is_reported() {
    check_rejected(
        |game| game.score_half_points = game.score_half_points.map(|score| score + 2),
        "the score after komi counts to",
    );
    check_rejected(|game| game.score_half_points = None, "the score after komi counts to");
    check_rejected(
        |game| game.komi = tengen_rules::Komi::from_half_points(99),
        "the score after komi counts to",
    );
    check_rejected(
        |game| game.ownership[3] = if game.ownership[3] == 1 { -1 } else { 1 },
        "point 3",
    );
    check_rejected(|game| game.ownership.truncate(5), "16 entries");
    check_rejected(|game| game.end_reason = EndReason::PlyLimit, "is over");
    check_rejected(|game| game.rules = "chess".to_owned(), "no rules named 'chess'");
    check_rejected(|game| game.rules = "japanese".to_owned(), "japanese2008");
    check_rejected(|game| game.rules = "aga".to_owned(), "suicide is forbidden");
    check_rejected(|game| game.opening_plies = 1000, "opening");
    check_rejected(|game| game.plies[5].root_value = 1.25, "root_value");
    check_rejected(|game| game.plies[5].network_value = f32::NAN, "network_value");
    check_rejected(|game| game.plies[5].root_margin = f32::INFINITY, "root_margin");
    check_rejected(|game| game.plies[5].weight = -1.0, "weight");
    check_rejected(|game| game.plies[5].expected_ownership = vec![0; 15], "no entry or 16");
    check_rejected(|game| game.plies[5].expected_ownership = vec![101; 16], "-100 to 100");
    check_rejected(
        |game| game.plies[5].expected_ownership = vec![i8::MIN; 16],
        "-100 to 100",
    );
    check_rejected(
        |game| {
            game.plies.pop();
        },
        "not over",
    );
}

#[test]
fn illegal_turns_are_reported_with_their_ply() {
    let mut game = random_game(Size::square(4).unwrap(), 1, 20);
    let first = game.plies.iter().position(|ply| ply.mv != Move::Pass).unwrap();
    let again = game.plies[first].clone();
    game.plies.insert(first + 1, again);
    let error = game.validate().unwrap_err();
    assert!(
        matches!(error, RecordError::IllegalMove { ply, .. } if ply == first + 1),
        "{error}"
    );
}

#[test]
fn invalid_policy_targets_are_rejected() {
    let policy = |game: &mut GameRecord, change: fn(&mut Vec<(u16, f32)>)| {
        let ply = game.plies.iter_mut().find(|ply| ply.policy.len() > 2).unwrap();
        change(&mut ply.policy);
    };
    check_rejected(|game| policy(game, |entries| entries[0].0 = 17), "the index of a pass");
    check_rejected(|game| policy(game, |entries| entries[0].0 = entries[1].0), "twice");
    check_rejected(
        |game| policy(game, |entries| entries.iter_mut().for_each(|entry| entry.1 *= 0.5)),
        "sum to",
    );
    check_rejected(|game| policy(game, |entries| entries[0].1 = -0.5), "between 0 and 1");
    check_rejected(
        |game| {
            let stone = game.plies[0].mv.index(game.size) as u16;
            let late = game
                .plies
                .iter_mut()
                .skip(1)
                .find(|ply| !ply.policy.is_empty())
                .unwrap();
            late.policy = vec![(stone, 1.0)];
        },
        "illegal in this position",
    );
}

#[test]
fn results_are_formatted_as_text() {
    let mut game = random_game(Size::square(3).unwrap(), 1, 4);
    game.plies.truncate(3);
    game.score_half_points = None;
    for (reason, text) in [
        (EndReason::PlyLimit, "Void"),
        (EndReason::Resign, "B+R"),
        (EndReason::Forfeit, "B+F"),
    ] {
        game.end_reason = reason;
        assert_eq!(game.result_text(), text);
    }
    game.end_reason = EndReason::TwoPasses;
    for (score, text) in [(7, "B+3.5"), (-14, "W+7"), (0, "0")] {
        game.score_half_points = Some(score);
        assert_eq!(game.result_text(), text);
    }
}
