//! Helpers for the move targets: rule sets from bytes, and a full comparison with the slow rules.
#![allow(dead_code)]

#[path = "../../crates/rules/tests/support/slow.rs"]
pub mod slow;

use tengen_rules::{Color, GameEnd, IllegalMove, KoRule, LongCycle, Move, PointSet, Position, Rules, Size, Suicide};

use slow::SlowGame;

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

/// The number of bytes at the start of a game: the board and the settings of the rules.
pub const HEADER: usize = 5;

/// The board, with sides up to `max_side`, and the combination of rules selected by the bytes.
pub fn start(header: &[u8; HEADER], max_side: u8) -> (Size, Rules) {
    let [sides, ko, suicide, end, rest] = header.map(usize::from);
    let max_side = usize::from(max_side);
    let size = Size::new(1 + sides % max_side, 1 + sides / max_side % max_side).expect("the sides are from 1 to 19");
    let rules = Rules {
        ko: KO[ko % KO.len()],
        suicide: SUICIDE[suicide % SUICIDE.len()],
        end: END[end % END.len()],
        long_cycle: CYCLE[rest % CYCLE.len()],
        button: rest / CYCLE.len() % 2 == 1,
        ..Rules::tromp_taylor()
    };
    (size, rules)
}

/// The move represented by a byte.
pub fn turn(size: Size, byte: u8) -> Move {
    Move::from_index(size, usize::from(byte) % (size.area() + 1)).expect("the index is below area + 1")
}

/// Asserts that both implementations agree.
pub fn check_same(fast: &Position, slow: &SlowGame) {
    let size = fast.size();
    assert_eq!(fast.to_move(), slow.to_move());
    assert_eq!(fast.is_over(), slow.is_over());
    assert_eq!(fast.is_tied_by_cycle(), slow.tie());
    let [mut legal, mut banned] = [PointSet::new(), PointSet::new()];
    for point in size.points() {
        assert_eq!(fast.at(point), slow.grid()[point.index()]);
        let mv = Move::Play(point);
        let expected = slow.legality(mv);
        assert_eq!(fast.legality(mv), expected, "{}", mv.format(size));
        match expected {
            Ok(()) => legal.insert(point),
            Err(IllegalMove::Superko { .. }) => banned.insert(point),
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
