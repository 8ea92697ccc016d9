//! Games that do not start on the empty board with Black to move: round trips, samples, rejections.

use tengen_records::{GameRecord, RecordError};
use tengen_rules::{Color, Handicap, PointSet, Position, Rules, Setup, SetupError, Size, parse_point};
use tengen_samples::{SampleConfig, SampleSource, SymmetryMode};
use tengen_sgf::write_sgf;
use tengen_store::{decode, encode};
use tengen_testing::{Random, random_game, random_game_from};

fn points(size: Size, names: &str) -> PointSet {
    names
        .split_whitespace()
        .map(|name| parse_point(size, name).unwrap())
        .collect()
}

fn setup(size: Size, black: &str, white: &str, to_move: Color, handicap: Handicap) -> Setup {
    Setup {
        stones: [points(size, black), points(size, white)],
        to_move,
        handicap,
    }
}

/// One of each kind of start.
fn starts(size: Size) -> Vec<Setup> {
    vec![
        setup(size, "", "", Color::White, Handicap::Even),
        setup(size, "B2 C2", "C4", Color::Black, Handicap::Even),
        setup(size, "B2 D4", "", Color::White, Handicap::Fixed(2)),
        setup(size, "", "", Color::Black, Handicap::Consecutive(3)),
        setup(size, "A1", "B3", Color::Black, Handicap::WhitePasses(2)),
    ]
}

fn games() -> Vec<GameRecord> {
    let size = Size::square(5).unwrap();
    let seeded = starts(size).into_iter().zip(0..);
    seeded
        .map(|(start, seed)| random_game_from(size, start, seed, 90))
        .collect()
}

#[test]
fn every_start_survives_a_round_trip() {
    let games = games();
    for game in &games {
        let last = game.validate().unwrap();
        assert_eq!(last.start(), game.setup);
        game.replay_with(|position, ply, _| assert_eq!(game.mover(ply), position.to_move()))
            .unwrap();
    }
    let bytes = encode(&games);
    assert_eq!(decode(&bytes).unwrap(), games);
}

#[test]
fn impossible_setups_are_rejected() {
    let size = Size::square(5).unwrap();
    let check = |start: Setup, expected: RecordError| {
        let game = GameRecord {
            setup: start,
            ..random_game(size, 1, 0)
        };
        assert_eq!(game.validate().unwrap_err(), expected);
        let again = decode(&encode(std::slice::from_ref(&game))).unwrap();
        assert_eq!(again, [game]);
    };
    let no_liberty = setup(size, "A1", "A2 B1", Color::Black, Handicap::Even);
    let corner = parse_point(size, "A1").unwrap();
    check(no_liberty, SetupError::NoLiberty(corner).into());
    let few = setup(size, "C3", "", Color::White, Handicap::Fixed(2));
    check(few, SetupError::HandicapStones { stated: 2, found: 1 }.into());
    let turn = setup(size, "", "", Color::White, Handicap::Consecutive(2));
    check(turn, SetupError::HandicapTurn.into());
    let both = setup(size, "C3", "C3", Color::White, Handicap::Even);
    let both = GameRecord {
        setup: both,
        ..random_game(size, 1, 0)
    };
    assert!(matches!(
        both.validate(),
        Err(RecordError::Setup(SetupError::BothColors(_)))
    ));
    let many = GameRecord {
        setup: setup(size, "", "", Color::Black, Handicap::Consecutive(256)),
        ..random_game(size, 1, 0)
    };
    assert_eq!(many.validate().unwrap_err(), RecordError::Handicap(256));
}

/// Samples use the correct side to move, with and without precomputed planes.
#[test]
fn samples_are_seen_from_the_correct_side() {
    for planes in [false, true] {
        let config = SampleConfig {
            planes,
            ..SampleConfig::default()
        };
        for game in games().into_iter().filter(GameRecord::is_finished) {
            let mut source = SampleSource::new(config.clone());
            source.add_games("one", std::slice::from_ref(&game)).unwrap();
            let margin: i32 = game.ownership.iter().map(|&owner| i32::from(owner)).sum();
            for sample in source.draw_samples(40, 3, SymmetryMode::Canonical).unwrap_or_default() {
                // The komi of these games is never 0, and the mover receives it only as White.
                let black = (sample.features.komi > 0.0) != (game.komi.points() > 0.0);
                assert_eq!(sample.board_margin, if black { margin } else { -margin });
            }
        }
    }
}

#[test]
fn the_handicap_bonus_is_counted() {
    let size = Size::square(5).unwrap();
    let mut game = GameRecord {
        rules: Rules {
            handicap_bonus: tengen_rules::HandicapBonus::Stones,
            ..Rules::tromp_taylor()
        }
        .to_string(),
        ..random_game_from(size, starts(size)[2], 4, 0)
    };
    let mut random = Random::new(4);
    let mut position: Position = game.start().unwrap();
    while !position.is_over() {
        let mv = tengen_testing::random_move(&position, &mut random, 8);
        position.play(mv);
        game.plies.push(tengen_records::PlyRecord::bare(mv));
    }
    game.set_end(&position, tengen_records::EndReason::TwoPasses);
    game.validate().unwrap();
    let area = 2 * position.board_margin() - i32::from(game.komi.half_points());
    assert_eq!(game.score_half_points, Some(area - 4));
}

#[test]
fn sgf_contains_the_start() {
    let texts: Vec<String> = games().iter().map(write_sgf).collect();
    assert!(texts[0].contains("PL[W]\n;W["), "{}", texts[0]);
    assert!(texts[1].contains("AB[bd][cd]AW[cb]\n;B["), "{}", texts[1]);
    assert!(texts[2].contains("HA[2]AB[db][bd]PL[W]\n;W["), "{}", texts[2]);
    assert!(texts[3].contains("HA[3]\n;B["), "{}", texts[3]);
}
