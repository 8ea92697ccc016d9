//! What games teach: targets of hand-made games, mixtures, and the games that are held out.

use tengen_encoding::{Features, Sample};
use tengen_records::{EndReason, GameKind, GameRecord, OPENING, Origin, PlyRecord};
use tengen_rules::{Color, Handicap, Komi, Move, PointSet, Position, Rules, Setup, Size, Symmetry, parse_point};
use tengen_samples::{
    Census, Mixture, OwnershipFrom, PolicyFrom, SampleConfig, SampleSource, SymmetryMode, Teaching, ValueFrom,
    is_held_out,
};
use tengen_testing::random_game;

fn size() -> Size {
    Size::square(3).unwrap()
}

fn teaching(policy: PolicyFrom, value: ValueFrom) -> Teaching {
    Teaching {
        policy,
        value,
        ownership: OwnershipFrom::Counted,
        sizes: vec![size()],
        rules: Rules::tromp_taylor(),
    }
}

fn played(value: ValueFrom) -> Teaching {
    teaching(PolicyFrom::Played, value)
}

/// An imported game on 3x3 with these moves, komi 0.5 and the result that its file states.
fn game(moves: &str, claim: Option<&str>) -> GameRecord {
    game_from(Setup::EVEN, moves, claim)
}

fn game_from(setup: Setup, moves: &str, claim: Option<&str>) -> GameRecord {
    let mv = |text: &str| match text {
        "pass" => Move::Pass,
        point => Move::Play(parse_point(size(), point).unwrap()),
    };
    let origin = Origin {
        result: claim.map(str::to_owned),
        ..Origin::default()
    };
    let stopped = origin.claim().stopped();
    let mut game = GameRecord {
        game_id: format!("game-{moves}"),
        size: size(),
        rules: "tromp_taylor".to_owned(),
        komi: Komi::from_half_points(1),
        score_half_points: None,
        seed: 0,
        black_model: "?".to_owned(),
        white_model: "?".to_owned(),
        config_id: "import".to_owned(),
        start_time_ms: 0,
        end_reason: EndReason::Unfinished,
        kind: GameKind::Import,
        opening_plies: 0,
        setup,
        plies: moves.split_whitespace().map(|text| PlyRecord::bare(mv(text))).collect(),
        ownership: Vec::new(),
        origin: Some(Box::new(origin)),
    };
    let last = game.replay().unwrap();
    game.set_end(&last, stopped);
    game.validate().unwrap();
    game
}

fn source(game: &GameRecord, teaching: Teaching) -> SampleSource {
    let mut source = SampleSource::new(SampleConfig::default())
        .with_replies(true)
        .teaching(teaching);
    source.add_games("shard", std::slice::from_ref(game)).unwrap();
    source
}

/// A sample of each position, in the order of the plies; positions of 3x3 games with few plies are all drawn.
fn samples(game: &GameRecord, teaching: Teaching) -> Vec<Sample> {
    let source = source(game, teaching);
    let Some(drawn) = source.draw_samples(400, 3, SymmetryMode::Canonical) else {
        return Vec::new();
    };
    let stones = |sample: &Sample| sample.features.planes[..2].iter().map(PointSet::len).sum::<usize>();
    let mut kept: Vec<Sample> = Vec::new();
    for sample in drawn {
        if !kept.contains(&sample) {
            kept.push(sample);
        }
    }
    kept.sort_by_key(stones);
    kept
}

/// Black takes the whole board: two plays, then passes.
const BLACK_WINS: &str = "B2 pass A1 pass pass";

#[test]
fn a_game_that_was_played_out_teaches_everything() {
    let game = game(BLACK_WINS, None);
    assert_eq!(game.score_half_points, Some(17), "9 points less half a point");
    let samples = samples(&game, played(ValueFrom::Counted));
    assert_eq!(samples.len(), 5);
    for sample in &samples {
        assert_eq!(
            (sample.policy_weight, sample.value_weight, sample.result_weight),
            (1.0, 1.0, 1.0)
        );
        let black = sample.board_margin > 0;
        assert_eq!(sample.board_margin.abs(), 9);
        assert_eq!(
            sample.value_target,
            if black { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] }
        );
        assert_eq!(sample.short_term, [if black { 1.0 } else { -1.0 }; 3]);
        assert!(
            sample
                .ownership
                .iter()
                .all(|&owner| owner == if black { 1.0 } else { -1.0 })
        );
        assert_eq!(sample.policy.len(), 1, "the move that was played");
        assert_eq!(sample.policy[0].1, 1.0);
    }
    // Black's first move is the center, in every mirror image, and White's answer a pass.
    assert_eq!(samples[0].policy, [(4, 1.0)]);
    assert_eq!(samples[0].reply, [(9, 1.0)]);
    assert_eq!(source(&game, played(ValueFrom::Counted)).census().counted, 1);
}

#[test]
fn a_claim_decides_the_value_if_it_is_asked_for() {
    // The file states that White won: dead stones were taken off, or the players followed other rules.
    let game = game(BLACK_WINS, Some("W+2.5"));
    for sample in samples(&game, played(ValueFrom::Counted)) {
        assert_eq!(
            (sample.policy_weight, sample.value_weight, sample.result_weight),
            (1.0, 0.0, 0.0)
        );
        assert_eq!(sample.short_term, [0.0; 3]);
    }
    let claimed = samples(&game, played(ValueFrom::Claimed));
    assert_eq!(claimed[0].value_target, [0.0, 0.0, 1.0], "Black is to move and lost");
    assert!(
        claimed
            .iter()
            .all(|sample| (sample.value_weight, sample.result_weight) == (1.0, 0.0))
    );
    // The same winner by another margin: the value is known, but the position does not show the margin.
    let other = game_with_margin("B+3.5");
    let counted = samples(&other, played(ValueFrom::Counted));
    assert_eq!(counted[0].value_target, [1.0, 0.0, 0.0]);
    assert!(
        counted
            .iter()
            .all(|sample| (sample.value_weight, sample.result_weight) == (1.0, 0.0))
    );
    // The same margin: everything is known either way.
    let same = game_with_margin("B+8.5");
    for value in [ValueFrom::Counted, ValueFrom::Claimed] {
        let census = source(&same, played(value)).census();
        assert_eq!((census.counted, census.taught()), (1, 1));
    }
}

fn game_with_margin(claim: &str) -> GameRecord {
    game(BLACK_WINS, Some(claim))
}

#[test]
fn games_without_a_result_teach_the_policy_alone() {
    let policy_only = Census {
        policy_only: 1,
        ..Census::default()
    };
    let valued = Census {
        valued: 1,
        ..Census::default()
    };
    for (claim, counted, claimed) in [
        (None, policy_only, policy_only),
        (Some("?"), policy_only, policy_only),
        (Some("Void"), policy_only, policy_only),
        (Some("B+2.5"), policy_only, valued),
        (Some("B+R"), policy_only, valued),
        (Some("W+T"), policy_only, valued),
        (Some("0"), policy_only, valued),
    ] {
        let game = game("B2 A1 C3", claim);
        assert_eq!(source(&game, played(ValueFrom::Counted)).census(), counted, "{claim:?}");
        assert_eq!(source(&game, played(ValueFrom::Claimed)).census(), claimed, "{claim:?}");
        let samples = samples(&game, played(ValueFrom::Counted));
        assert_eq!(samples.len(), 3);
        for sample in samples {
            assert_eq!(
                (sample.policy_weight, sample.value_weight, sample.result_weight),
                (1.0, 0.0, 0.0)
            );
            assert!(sample.ownership.iter().all(|&owner| owner == 0.0));
        }
    }
    let tie = game("B2 A1 C3", Some("Draw"));
    assert_eq!(
        samples(&tie, played(ValueFrom::Claimed))[0].value_target,
        [0.0, 1.0, 0.0]
    );
}

#[test]
fn a_settled_position_counts_without_two_passes() {
    // A black chain with two eyes has the whole board.
    let game = game("B1 pass B2 pass B3 pass A2 pass C2 pass C1", Some("B+R"));
    assert_eq!(game.score_half_points, None);
    assert!(game.replay().unwrap().is_settled());
    let samples = samples(&game, played(ValueFrom::Counted));
    assert!(samples.iter().all(|sample| sample.board_margin.abs() == 9));
    assert!(samples.iter().all(|sample| sample.result_weight == 1.0));
}

#[test]
fn handicap_and_passes_keep_the_view_of_the_mover() {
    let stones = |names: &str| -> PointSet {
        names
            .split_whitespace()
            .map(|name| parse_point(size(), name).unwrap())
            .collect()
    };
    let setup = Setup {
        stones: [stones("A2 B2"), PointSet::default()],
        to_move: Color::White,
        handicap: Handicap::Fixed(2),
    };
    let game = game_from(setup, "pass B1 pass pass", None);
    for sample in samples(&game, played(ValueFrom::Counted)) {
        // White gave the handicap and moves first; Black owns everything.
        let sign = sample.board_margin.signum();
        assert_eq!(
            sample.value_target,
            if sign > 0 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] }
        );
        let own_stones = sample.features.planes[0].len();
        assert_eq!(own_stones > 0, sign > 0, "only Black has stones");
        assert_eq!(sample.policy.len(), 1);
    }
}

#[test]
fn handicap_stones_in_a_row_are_no_replies() {
    let setup = Setup {
        handicap: Handicap::Consecutive(2),
        ..Setup::EVEN
    };
    let game = game_from(setup, "B2 A1 C1 pass pass", None);
    let taught = samples(&game, played(ValueFrom::Counted));
    assert_eq!(taught[0].policy, [(4, 1.0)]);
    assert_eq!(taught[0].reply, [], "Black places the second stone, too");
    assert_eq!(taught[1].reply.len(), 1, "White's first move");
}

#[test]
fn a_claim_at_another_komi_is_compared_at_that_komi() {
    let mut game = game(BLACK_WINS, Some("B+2.5"));
    game.origin.as_mut().unwrap().komi = Some("6.5".to_owned());
    let census = source(&game, played(ValueFrom::Counted)).census();
    assert_eq!((census.counted, census.taught()), (1, 1), "9 points less 6.5");
}

#[test]
fn turns_that_nobody_chose_are_not_taught() {
    let mut game = game(BLACK_WINS, None);
    game.plies[1].flags = OPENING;
    let taught = samples(&game, played(ValueFrom::Counted));
    assert_eq!(taught.len(), 4);
    assert_eq!(taught[0].reply, [], "nor are they an answer");
    game.opening_plies = 5;
    let empty = source(&game, played(ValueFrom::Counted)).census();
    assert_eq!((empty.empty, empty.taught(), empty.left_out()), (1, 0, 1));
}

#[test]
fn labels_are_taught_where_they_are() {
    let mut game = game("B2 A1 C3", None);
    game.plies[0] = PlyRecord {
        root_value: 0.5,
        root_visits: 9,
        weight: 1.0,
        policy: vec![(0, 0.25), (4, 0.75)],
        ..game.plies[0].clone()
    };
    let labels = samples(&game, teaching(PolicyFrom::Labels, ValueFrom::Labels));
    assert_eq!(labels.len(), 1, "the other plies have no label");
    assert_eq!(labels[0].value_target, [0.75, 0.0, 0.25]);
    assert_eq!(labels[0].short_term, [0.5; 3]);
    assert_eq!(
        (labels[0].policy_weight, labels[0].value_weight, labels[0].result_weight),
        (1.0, 1.0, 0.0)
    );
    let mut policy: Vec<f32> = labels[0].policy.iter().map(|(_, p)| *p).collect();
    policy.sort_by(f32::total_cmp);
    assert_eq!(policy, [0.25, 0.75]);
    // All moves with the values of those plies that have one.
    let moves = samples(&game, teaching(PolicyFrom::Played, ValueFrom::Labels));
    let weights: Vec<f32> = moves.iter().map(|sample| sample.value_weight).collect();
    assert_eq!(weights, [1.0, 0.0, 0.0]);
    // Without labels there is nothing to learn.
    let bare = self::game("B2 A1 C3", None);
    assert_eq!(
        source(&bare, teaching(PolicyFrom::Labels, ValueFrom::Labels))
            .census()
            .empty,
        1
    );
}

#[test]
fn mixed_values_are_those_of_a_run() {
    let size = Size::square(5).unwrap();
    let games: Vec<GameRecord> = (0..8).map(|seed| random_game(size, seed, 200)).collect();
    let games: Vec<GameRecord> = games.into_iter().filter(GameRecord::is_finished).collect();
    assert!(games.len() > 3);
    let draw = |source: SampleSource| {
        let mut source = source;
        source.add_games("shard", &games).unwrap();
        source.draw_samples(200, 11, SymmetryMode::Random).unwrap()
    };
    let run = draw(SampleSource::new(SampleConfig::default()));
    let taught = draw(SampleSource::new(SampleConfig::default()).teaching(Teaching {
        policy: PolicyFrom::Labels,
        value: ValueFrom::Mixed,
        ownership: OwnershipFrom::Counted,
        sizes: vec![size],
        rules: Rules::tromp_taylor(),
    }));
    assert_eq!(run, taught);
}

#[test]
fn other_boards_and_rules_are_left_out_and_counted() {
    let game = game(BLACK_WINS, None);
    let mut board = played(ValueFrom::Counted);
    board.sizes = vec![Size::square(5).unwrap()];
    assert_eq!(source(&game, board).census().other_board, 1);
    let mut rules = played(ValueFrom::Counted);
    rules.rules = "aga".parse().unwrap();
    assert_eq!(source(&game, rules).census().other_rules, 1);
}

#[test]
fn a_mixture_draws_by_its_shares() {
    // The sources differ in the komi of their games.
    let of_komi = |half_points: i16| {
        let mut game = game(BLACK_WINS, None);
        game.komi = Komi::from_half_points(half_points);
        let last: Position = game.replay().unwrap();
        game.set_end(&last, EndReason::TwoPasses);
        source(&game, played(ValueFrom::Counted))
    };
    let mixture = || Mixture::new(vec![(of_komi(1), 3.0), (of_komi(3), 1.0)]);
    let drawn = mixture().draw(10_000, 42, SymmetryMode::Canonical).unwrap();
    assert_eq!(drawn.len(), 10_000);
    let first = drawn.iter().filter(|sample| sample.features.komi.abs() == 0.5).count();
    // Five standard deviations of 43 around 7,500.
    assert!((7283..=7717).contains(&first), "{first}");
    assert_eq!(mixture().shares(), [0.75, 0.25]);
    assert_eq!(drawn, mixture().draw(10_000, 42, SymmetryMode::Canonical).unwrap());
    let other = mixture().draw(10_000, 43, SymmetryMode::Canonical).unwrap();
    assert_ne!(drawn, other);
}

#[test]
fn held_out_games_are_never_trained_on() {
    let size = Size::square(5).unwrap();
    let games: Vec<GameRecord> = (0..60)
        .map(|seed| GameRecord {
            komi: Komi::from_half_points(seed as i16 + 1),
            score_half_points: None,
            ownership: Vec::new(),
            end_reason: EndReason::PlyLimit,
            ..random_game(size, seed, 30)
        })
        .collect();
    let mut source = SampleSource::new(SampleConfig::default())
        .holding_out(0.3)
        .teaching(Teaching {
            policy: PolicyFrom::Played,
            value: ValueFrom::Counted,
            ownership: OwnershipFrom::Counted,
            sizes: vec![size],
            rules: Rules::tromp_taylor(),
        });
    source.add_games("shard", &games).unwrap();
    let held_out: Vec<f32> = games
        .iter()
        .filter(|game| is_held_out(&game.game_id, 0.3))
        .map(|game| f32::from(game.komi.half_points()) / 2.0)
        .collect();
    assert_eq!(source.held_out_games(), held_out.len());
    assert_eq!(source.games(), games.len() - held_out.len());
    let is_held_out = |sample: &Sample| held_out.contains(&sample.features.komi.abs());
    let trained = source.draw_samples(2000, 1, SymmetryMode::Canonical).unwrap();
    let judged = source.draw_held_out(2000, 1, SymmetryMode::Canonical).unwrap();
    assert!(!trained.iter().any(is_held_out) && judged.iter().all(is_held_out));
}

/// Where a sample comes from: the ply, and the mirror images under which its features are those of that position; more
/// than one for positions that are mirror images of themselves.
fn origins(game: &GameRecord, sample: &Sample) -> Vec<(usize, Symmetry)> {
    let mut found = Vec::new();
    game.replay_with(|position, ply, _| {
        let features = Features::of(position, game.komi);
        let fits = |symmetry: &Symmetry| features.transformed(*symmetry) == sample.features;
        found.extend(
            Symmetry::all(game.size)
                .iter()
                .copied()
                .filter(fits)
                .map(|symmetry| (ply, symmetry)),
        );
    })
    .unwrap();
    found
}

/// The owners that the mover at a ply expects, or those of the final position, as a sample in this mirror image has
/// them.
fn owners_of(game: &GameRecord, ply: usize, symmetry: Symmetry) -> Vec<f32> {
    let (map, certain) = match game.plies[ply].expected_ownership.as_slice() {
        [] => (&game.ownership[..], 1.0),
        map => (map, 100.0),
    };
    let sign = if game.mover(ply) == Color::Black { 1.0 } else { -1.0 };
    let mut owners = vec![0.0; game.size.area()];
    for (point, &owner) in game.size.points().zip(map) {
        owners[symmetry.apply(game.size, point).index()] = sign * f32::from(owner) / certain;
    }
    owners
}

#[test]
fn expected_owners_are_taught_in_every_mirror_image() {
    let finished = |seed| Some(random_game(Size::square(5).unwrap(), seed, 200)).filter(GameRecord::is_finished);
    let mut game = (0..).find_map(finished).unwrap();
    // Numbers without any symmetry; one ply in four has none.
    for (ply, record) in game.plies.iter_mut().enumerate().filter(|(ply, _)| ply % 4 != 3) {
        let owner = |point: usize| ((37 * point + 11 * ply) % 201) as i16 - 100;
        record.expected_ownership = (0..25).map(|point| owner(point) as i8).collect();
    }
    game.validate().unwrap();
    for (planes, replies) in [(true, false), (true, true), (false, true), (false, false)] {
        let config = SampleConfig {
            planes,
            ..SampleConfig::default()
        };
        let mut source = SampleSource::new(config).with_replies(replies).teaching(Teaching {
            sizes: vec![game.size],
            ownership: OwnershipFrom::Labels,
            ..teaching(PolicyFrom::Labels, ValueFrom::Mixed)
        });
        source.add_games("shard", std::slice::from_ref(&game)).unwrap();
        let (mut expected, mut counted, mut symmetries) = (0, 0, Vec::new());
        for sample in source.draw_samples(600, 9, SymmetryMode::Random).unwrap() {
            assert_eq!((sample.ownership_weight, sample.result_weight), (1.0, 1.0));
            let [(ply, symmetry)] = origins(&game, &sample)[..] else {
                continue;
            };
            let found: Vec<f32> = sample.ownership.iter().copied().collect();
            assert_eq!(found, owners_of(&game, ply, symmetry), "ply {ply}");
            let has_map = !game.plies[ply].expected_ownership.is_empty();
            expected += usize::from(has_map);
            counted += usize::from(!has_map);
            if has_map && !symmetries.contains(&symmetry) {
                symmetries.push(symmetry);
            }
        }
        assert_eq!(symmetries.len(), 8);
        assert!(expected > 100 && counted > 20, "{expected} {counted}");
    }
}

#[test]
fn expected_owners_are_taught_only_if_they_are_asked_for() {
    let with_map = |moves: &str| {
        let mut game = game(moves, None);
        game.plies[0] = PlyRecord {
            root_visits: 9,
            weight: 1.0,
            policy: vec![(4, 1.0)],
            expected_ownership: vec![100, 50, 0, -50, -100, 1, 2, 3, 4],
            ..game.plies[0].clone()
        };
        game
    };
    let labels = teaching(PolicyFrom::Labels, ValueFrom::Labels);
    let asked = Teaching {
        ownership: OwnershipFrom::Labels,
        ..labels.clone()
    };
    // A game without a result has no owners but the expected ones, and no margin.
    for (teaching, weight, sum) in [(&labels, 0.0, 0.0), (&asked, 1.0, 0.1)] {
        let sample = &samples(&with_map("B2 A1 C3"), teaching.clone())[0];
        assert_eq!((sample.ownership_weight, sample.result_weight), (weight, 0.0));
        assert!((sample.ownership.sum() - sum).abs() < 1e-6, "{sample:?}");
    }
    for (teaching, sum) in [(&labels, 9.0), (&asked, 0.1)] {
        let sample = &samples(&with_map(BLACK_WINS), teaching.clone())[0];
        assert_eq!((sample.ownership_weight, sample.result_weight), (1.0, 1.0));
        assert!((sample.ownership.sum() - sum).abs() < 1e-6, "{sample:?}");
        assert_eq!(sample.board_margin, 9, "the margin is that of the final position");
    }
}
