//! Random games under all rules: the fast board against a literal implementation of the rules, incremental against
//! recomputed state, undo, and symmetries.
#![allow(missing_docs)]

mod support;

use proptest::prelude::*;

use tengen_rng::{below, stream};
use tengen_rules::{
    Color, GameEnd, ImageTable, KoRule, Komi, LongCycle, Move, PointSet, Position, Rules, Size, Suicide, Symmetry,
    format_point, parse_point,
};

use support::slow::SlowGame;

const KO: [KoRule; 6] = [
    KoRule::PositionalSuperko,
    KoRule::SituationalSuperko,
    KoRule::Superko1996,
    KoRule::NaturalSituationalSuperko,
    KoRule::Basic,
    KoRule::Fixed,
];
const SUICIDE: [Suicide; 3] = [Suicide::Allowed, Suicide::MultiOnly, Suicide::Forbidden];
const END: [GameEnd; 5] = [
    GameEnd::TwoPasses,
    GameEnd::FourPasses,
    GameEnd::Agreement,
    GameEnd::OneResumption,
    GameEnd::Japanese2008,
];
const CYCLE: [LongCycle; 3] = [LongCycle::GoesOn, LongCycle::TieIfEqual, LongCycle::PracticeTie];

fn any_rules() -> impl Strategy<Value = Rules> {
    (0..KO.len(), 0..3usize, 0..END.len(), 0..3usize, any::<bool>()).prop_map(|(ko, suicide, end, cycle, button)| {
        Rules {
            ko: KO[ko],
            suicide: SUICIDE[suicide],
            end: END[end],
            long_cycle: CYCLE[cycle],
            button,
            ..Rules::tromp_taylor()
        }
    })
}

fn any_size(most: usize) -> impl Strategy<Value = Size> {
    (1..=most, 1..=most).prop_map(|(width, height)| Size::new(width, height).unwrap())
}

/// Arbitrary bytes, short texts, and plausible input: points, sizes, komi, and rules with one character changed.
fn any_text() -> impl Strategy<Value = String> {
    let bytes =
        prop::collection::vec(any::<u8>(), 0..24).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let rules = (any_rules(), any::<prop::sample::Index>(), any::<char>()).prop_map(|(rules, place, other)| {
        let mut text: Vec<char> = rules.to_string().chars().collect();
        let place = place.index(text.len() + 1);
        text.splice(place..(place + 1).min(text.len()), [other]);
        text.into_iter().collect()
    });
    prop_oneof![
        bytes,
        ".{0,12}",
        "[A-Za-z]{1,2}[0-9]{0,3}",
        "-?[0-9]{0,5}[x.]?[0-9]{0,2}",
        rules,
        any_rules().prop_map(|rules| rules.to_string()),
    ]
}

/// Compares all properties that the slow game implements.
fn check_same(fast: &Position, slow: &SlowGame) {
    let size = fast.size();
    assert_eq!(fast.to_move(), slow.to_move());
    assert_eq!(fast.is_over(), slow.is_over());
    assert_eq!(fast.is_tied_by_cycle(), slow.tie());
    let mut legal = PointSet::new();
    let mut banned = PointSet::new();
    for point in size.points() {
        assert_eq!(fast.at(point), slow.grid()[point.index()]);
        let mv = Move::Play(point);
        let expected = slow.legality(mv);
        assert_eq!(fast.legality(mv), expected, "{}", mv.format(size));
        assert_eq!(fast.is_legal(mv), expected.is_ok());
        match expected {
            Ok(()) => legal.insert(point),
            Err(tengen_rules::IllegalMove::Superko { .. }) => banned.insert(point),
            Err(_) => {}
        }
    }
    assert_eq!(fast.legality(Move::Pass), slow.legality(Move::Pass));
    assert_eq!(fast.legal_points(), legal);
    if !fast.is_over() {
        assert_eq!(fast.superko_banned(), banned);
    }
    for color in Color::ALL {
        assert_eq!(fast.prisoners(color) as usize, slow.prisoners(color));
    }
    let area = fast.area();
    assert_eq!([area.black.len(), area.white.len()], slow.area());
}

/// Plays up to `turns` random legal moves with few passes.
fn random_moves(position: &mut Position, turns: usize, seed: u64) {
    let mut random = stream(seed, &[]);
    for _ in 0..turns {
        let legal = position.legal_points();
        let mv = match legal.nth(below(&mut random, legal.len().max(1) + 1)) {
            Some(point) if below(&mut random, 12) > 0 => Move::Play(point),
            _ => Move::Pass,
        };
        if position.try_play(mv).is_err() {
            return;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes choose moves, legal or not; the fast board and the literal rules agree on all of them.
    #[test]
    fn fast_equals_slow(size in any_size(4), rules in any_rules(), bytes in prop::collection::vec(any::<u8>(), 0..70)) {
        let mut fast = Position::with_rules(size, rules);
        let mut slow = SlowGame::new(size, rules);
        check_same(&fast, &slow);
        for byte in bytes {
            let mv = Move::from_index(size, usize::from(byte) % (size.area() + 1)).unwrap();
            let before = fast.clone();
            let result = fast.try_play(mv);
            prop_assert_eq!(result, slow.legality(mv));
            if result.is_err() {
                prop_assert!(fast == before, "an illegal move changed the position");
                continue;
            }
            slow.play(mv);
            check_same(&fast, &slow);
        }
    }

    /// The same with illegal plays made unchecked; the game continues from the record of exactly those moves.
    #[test]
    fn unchecked_plays_follow_the_record(
        size in any_size(3), rules in any_rules(), bytes in prop::collection::vec(any::<u8>(), 0..60)
    ) {
        let mut fast = Position::with_rules(size, rules);
        let mut slow = SlowGame::new(size, rules);
        for byte in bytes {
            let mv = Move::from_index(size, usize::from(byte) % (size.area() + 1)).unwrap();
            if mv.point().is_some_and(|p| fast.at(p).is_some()) {
                continue;
            }
            fast.play_unchecked(mv);
            slow.play(mv);
            check_same(&fast, &slow);
            fast.assert_valid();
        }
        while fast.undo().is_some() {}
        prop_assert!(fast == Position::with_rules(size, rules));
    }

    /// After every move, all incremental state equals the recomputed state, and undo restores every field.
    #[test]
    fn incremental_state_and_undo(size in any_size(9), rules in any_rules(), seed in any::<u64>()) {
        let mut position = Position::with_rules(size, rules);
        let mut before = Vec::new();
        let limit = 40 + (seed % 60) as usize;
        for turn in 0..limit {
            let start = position.clone();
            random_moves(&mut position, 1, seed.wrapping_add(turn as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            if position.ply() == start.ply() {
                break;
            }
            position.assert_valid();
            before.push(start);
        }
        let mut copy = Position::new(Size::square(19).unwrap());
        copy.copy_from(&position);
        prop_assert!(copy == position);
        while let Some(earlier) = before.pop() {
            prop_assert!(position.undo().is_some());
            prop_assert!(position == earlier, "undo at ply {}", earlier.ply());
        }
        prop_assert_eq!(position.undo(), None);
    }

    /// In the image of a position, the images of the same moves are legal.
    #[test]
    fn symmetries_keep_legality(size in any_size(5), rules in any_rules(), seed in any::<u64>()) {
        let mut position = Position::with_rules(size, rules);
        random_moves(&mut position, 60, seed);
        for &symmetry in Symmetry::all(size) {
            let image = position.transformed(symmetry);
            prop_assert_eq!(image.legal_points(), symmetry.apply_set(size, &position.legal_points()));
            prop_assert_eq!(image.superko_banned(), symmetry.apply_set(size, &position.superko_banned()));
            prop_assert_eq!(image.area().black, symmetry.apply_set(size, &position.area().black));
            prop_assert_eq!(image.pass_alive().white, symmetry.apply_set(size, &position.pass_alive().white));
            prop_assert!(image.transformed(symmetry.inverse()) == position);
        }
    }

    /// Parsers never panic, and values that they accept round-trip through text.
    #[test]
    fn parsers_survive_any_text(size in any_size(19), text in any_text()) {
        if let Ok(point) = parse_point(size, &text) {
            prop_assert_eq!(parse_point(size, &format_point(size, point)), Ok(point));
        }
        if let Ok(mv) = Move::parse(size, &text) {
            prop_assert_eq!(Move::parse(size, &mv.format(size)), Ok(mv));
        }
        if let Ok(size) = text.parse::<Size>() {
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
        if let Ok(komi) = text.parse::<Komi>() {
            prop_assert_eq!(komi.to_string().parse(), Ok(komi));
        }
        match text.parse::<Rules>() {
            Ok(rules) => prop_assert_eq!(rules.to_string().parse(), Ok(rules)),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    /// Names of points and komi round-trip through text.
    #[test]
    fn text_round_trips(size in any_size(19), index in 0..362usize, half_points in any::<i16>()) {
        if let Some(mv) = Move::from_index(size, index % (size.area() + 1)) {
            prop_assert_eq!(Move::parse(size, &mv.format(size).to_lowercase()), Ok(mv));
            prop_assert_eq!(mv.index(size), index % (size.area() + 1));
        }
        let komi = Komi::from_half_points(half_points);
        prop_assert_eq!(komi.to_string().parse(), Ok(komi));
    }
}

#[test]
fn images_hold_the_image_of_every_point() {
    for (width, height) in [(1, 1), (8, 8), (9, 9), (16, 8), (13, 13), (19, 19), (5, 13)] {
        let size = Size::new(width, height).unwrap();
        let table = ImageTable::of(size);
        // Every third point, all points, and the corners.
        let sets: [PointSet; 3] = [
            size.points().step_by(3).collect(),
            size.points().collect(),
            [0, size.area() - 1]
                .into_iter()
                .filter_map(|index| size.points().nth(index))
                .collect(),
        ];
        for (set, map) in sets
            .iter()
            .flat_map(|set| (0..table.symmetries().len()).map(move |n| (set, table.map(n))))
        {
            let expected: PointSet = set
                .iter()
                .filter_map(|point| size.points().nth(usize::from(map.points()[point.index()])))
                .collect();
            assert_eq!(map.image(set), expected, "{size}");
        }
    }
}
