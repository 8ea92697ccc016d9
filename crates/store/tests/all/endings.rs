//! How games end under rules other than Tromp-Taylor: ties by long cycles, undecided life, territory; and false records
//! of such endings.

use tengen_records::{EndReason, GameRecord, PlyRecord, RecordError};
use tengen_rules::{Color, Handicap, Komi, Move, Outcome, PointSet, Setup, Size};
use tengen_samples::{SampleConfig, SampleSource, SymmetryMode};
use tengen_store::{decode, encode};
use tengen_testing::random_game;

/// A game from a diagram, with its end set according to the rules.
fn game(rules: &str, rows: &[&str], to_move: Color, komi: i16, moves: &str) -> GameRecord {
    let size = Size::new(rows[0].len(), rows.len()).unwrap();
    let stones = |letter: char| -> PointSet {
        let text = rows.concat();
        size.points()
            .zip(text.chars())
            .filter(|(_, c)| *c == letter)
            .map(|(point, _)| point)
            .collect()
    };
    let plies = moves.split_whitespace().map(|text| PlyRecord {
        weight: 1.0,
        ..PlyRecord::bare(Move::parse(size, text).unwrap())
    });
    let mut game = GameRecord {
        rules: rules.to_owned(),
        komi: Komi::from_half_points(komi),
        setup: Setup {
            stones: [stones('X'), stones('O')],
            to_move,
            handicap: Handicap::Even,
        },
        plies: plies.collect(),
        opening_plies: 0,
        ..random_game(size, 1, 0)
    };
    let last = game.replay().unwrap();
    game.set_end(&last, EndReason::PlyLimit);
    game.validate().unwrap();
    assert_eq!(
        decode(&encode(std::slice::from_ref(&game))).unwrap(),
        std::slice::from_ref(&game)
    );
    game
}

/// A triple ko and an eternal life from the oracle's cases.
const TRIPLE_KO: [&str; 3] = [".XO..XO..XO.", "XO.OX..OX.XO", ".XO..XO..XO."];
const TRIPLE_KO_MOVES: &str = "F2 C2 K2 G2 B2 L2 F2";
const ETERNAL_LIFE: [&str; 3] = [".X.O", "OOXX", "...."];
const ETERNAL_LIFE_MOVES: &str = "A3 C3 B3 D3 A3";

fn cycles(rules: &str) -> [GameRecord; 2] {
    [
        game(rules, &TRIPLE_KO, Color::White, 15, TRIPLE_KO_MOVES),
        game(rules, &ETERNAL_LIFE, Color::Black, -9, ETERNAL_LIFE_MOVES),
    ]
}

#[test]
fn a_long_cycle_ties_the_game_regardless_of_komi() {
    for rules in ["japanese2008", "chinese_practice"] {
        for game in cycles(rules) {
            assert_eq!(game.end_reason, EndReason::LongCycle, "{rules}");
            assert_eq!((game.outcome(), game.score_half_points), (Some(Outcome::Tie), None));
            assert!(game.is_finished() && game.ownership.is_empty());
            assert_eq!(game.result_text(), "0");
        }
    }
    // Without such a rule the game continues.
    for game in cycles("ko=basic") {
        assert_eq!((game.end_reason, game.outcome()), (EndReason::PlyLimit, None));
    }
}

#[test]
fn superko_forbids_the_cycle() {
    let mut game = cycles("ko=basic")[0].clone();
    game.rules = "chinese_written".to_owned();
    assert!(matches!(game.validate(), Err(RecordError::IllegalMove { ply: 6, .. })));
}

#[test]
fn a_tie_without_a_score_trains_only_the_policy() {
    let [game, _] = cycles("chinese_practice");
    let mut source = SampleSource::new(SampleConfig::default());
    source.add_games("cycle", &[game]).unwrap();
    let samples = source.draw_samples(20, 1, SymmetryMode::Canonical).unwrap();
    assert!(samples.iter().all(|sample| sample.result_weight == 0.0));
}

#[test]
fn undecided_life_gives_no_result() {
    // A lone stone on a wide board: no quick search can decide whether it lives.
    let empty = ["........."; 9];
    let game = game("japanese2008", &empty, Color::Black, 13, "E5 pass pass");
    assert_eq!(game.end_reason, EndReason::UndecidedLife);
    assert_eq!((game.outcome(), game.score_half_points), (None, None));
    assert!(!game.is_finished() && game.ownership.is_empty());
    assert_eq!(game.result_text(), "Void");
    let mut source = SampleSource::new(SampleConfig::default());
    source.add_games("undecided", &[game]).unwrap();
    assert_eq!(source.games(), 0);
}

#[test]
fn territory_and_prisoners_are_counted() {
    // Two points each, with a neutral point between them.
    let rows = [".X.X.O.O.", "XXXXXOOOO"];
    let board = game("japanese2008", &rows, Color::Black, 0, "pass pass");
    assert_eq!(board.end_reason, EndReason::TwoPasses);
    assert_eq!(&board.ownership[..9], [1, 1, 1, 1, 0, -1, -1, -1, -1]);
    assert_eq!(board.score_half_points, Some(0));
    // Playing the neutral point changes nothing.
    let filled = game("japanese2008", &rows, Color::Black, 1, "E2 pass pass");
    assert_eq!(filled.score_half_points, Some(-1));
    // White throws in a stone and Black captures it: a prisoner for the point that Black fills.
    let rows = ["..X.X.O.O..", "XXXXXOOOOOO"];
    let taken = game("japanese2008", &rows, Color::White, 0, "B2 A2 pass pass");
    assert_eq!((taken.score_half_points, taken.ownership[1]), (Some(0), 1));
    // If Black ignores it, the stone is dead, removed, and still a prisoner.
    let left = game("japanese2008", &rows, Color::White, 0, "B2 F2 pass pass");
    assert_eq!((left.score_half_points, left.ownership[1]), (Some(2), 1));
}

#[test]
fn false_endings_are_reported() {
    let [cycle, _] = cycles("japanese2008");
    let undecided = game("japanese2008", &["........."; 9], Color::Black, 13, "E5 pass pass");
    let counted = game("aga", &["....."; 5], Color::Black, 13, "C3 pass pass");
    let check = |game: &GameRecord, reason: EndReason, words: &str| {
        let lie = GameRecord {
            end_reason: reason,
            ..game.clone()
        };
        let error = lie.validate().unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(reason.name()), "{error}");
    };
    check(&cycle, EndReason::TwoPasses, "a long cycle has tied the game");
    check(&cycle, EndReason::PlyLimit, "a long cycle has tied the game");
    check(&undecided, EndReason::TwoPasses, "life of some chains is undecided");
    check(&undecided, EndReason::Resign, "life of some chains is undecided");
    check(&counted, EndReason::LongCycle, "is over and scored");
    check(&counted, EndReason::UndecidedLife, "is over and scored");
    let mut open = counted.clone();
    open.plies.pop();
    check(&open, EndReason::UndecidedLife, "is not over");
    let invented = GameRecord {
        score_half_points: Some(3),
        ..undecided
    };
    assert!(matches!(
        invented.validate(),
        Err(RecordError::WrongScore { expected: None, .. })
    ));
}

/// Two areas with two eyes each and no point between them once Black has played `E3`.
const ALMOST_SETTLED: [&str; 3] = [".X.X.O.O.", "XXXXXOOOO", "XXXXXOOOO"];

fn settled(rules: &str) -> GameRecord {
    let mut game = game(rules, &ALMOST_SETTLED, Color::Black, 13, "E3");
    assert_eq!(game.end_reason, EndReason::PlyLimit, "only if it is requested");
    let last = game.replay().unwrap();
    game.set_end(&last, EndReason::Settled);
    game
}

#[test]
fn a_settled_game_is_scored_by_its_current_grid() {
    for rules in ["tromp_taylor", "aga", "chinese_practice"] {
        let game = settled(rules);
        let last = game.validate().unwrap();
        assert!(!last.is_over());
        assert_eq!(
            (game.end_reason, game.score_half_points),
            (EndReason::Settled, Some(2 * 3 - 13))
        );
        assert_eq!(game.ownership[..9], [1, 1, 1, 1, 1, -1, -1, -1, -1]);
        assert_eq!((game.outcome(), game.is_finished()), (Some(Outcome::WhiteWins), true));
        assert_eq!(game.result_text(), "W+3.5");
        let bytes = encode(std::slice::from_ref(&game));
        assert_eq!(decode(&bytes).unwrap(), std::slice::from_ref(&game));
        let mut source = SampleSource::new(SampleConfig::default());
        source.add_games("settled", std::slice::from_ref(&game)).unwrap();
        let samples = source.draw_samples(4, 1, SymmetryMode::Canonical).unwrap();
        assert!(samples.iter().all(|sample| sample.result_weight > 0.0));
        // Two more passes give the same score under the rules, whatever the record claims.
        let mut passed = game.clone();
        passed
            .plies
            .extend([PlyRecord::bare(Move::Pass), PlyRecord::bare(Move::Pass)]);
        passed.set_end(&passed.replay().unwrap(), EndReason::Settled);
        assert_eq!(passed.end_reason, EndReason::TwoPasses);
        assert_eq!(
            (passed.score_half_points, &passed.ownership),
            (game.score_half_points, &game.ownership)
        );
    }
}

#[test]
fn false_settled_games_are_reported() {
    let game = settled("tromp_taylor");
    let refused = |change: &dyn Fn(&mut GameRecord)| {
        let mut lie = game.clone();
        change(&mut lie);
        lie.validate().unwrap_err().to_string()
    };
    let not_settled = "is neither over nor settled";
    assert!(refused(&|lie| lie.plies.clear()).contains(not_settled));
    assert!(refused(&|lie| lie.plies[0] = PlyRecord::bare(Move::Pass)).contains(not_settled));
    assert!(refused(&|lie| lie.rules = "japanese2008".to_owned()).contains(not_settled));
    assert!(refused(&|lie| lie.plies.extend(vec![PlyRecord::bare(Move::Pass); 2])).contains("over and scored"));
    assert!(refused(&|lie| lie.end_reason = EndReason::TwoPasses).contains("is not over"));
    assert!(refused(&|lie| lie.end_reason = EndReason::PlyLimit).contains("counts to None half points"));
    assert!(refused(&|lie| lie.score_half_points = Some(-6)).contains("counts to Some(-7) half points"));
    assert!(refused(&|lie| lie.score_half_points = None).contains("counts to Some(-7) half points"));
    assert!(refused(&|lie| lie.ownership[4] = -1).contains("ownership of point 4"));
    assert!(refused(&|lie| lie.ownership.clear()).contains("ownership must have 27"));
    // A claim does not give a score to a position that is not settled.
    let mut open = game.clone();
    open.plies.clear();
    open.set_end(&open.replay().unwrap(), EndReason::Settled);
    assert_eq!((open.score_half_points, open.ownership.len()), (None, 0));
    assert!(open.validate().is_err());
}

/// Between programs, two passes end the game under all rules; what human players could do afterward does not matter.
#[test]
fn nothing_follows_two_passes() {
    for rules in tengen_rules::Rules::names() {
        let mut game = game(rules, &["..."; 3], Color::Black, 0, "B2 pass pass");
        game.plies.push(PlyRecord::bare(Move::Pass));
        assert!(
            matches!(game.validate(), Err(RecordError::IllegalMove { ply: 3, .. })),
            "{rules}"
        );
    }
}
