//! Checks that both programs agree on random games.

use board_game::board::{Board, Player};
use board_game::games::go::{GoBoard, Move as TheirMove, Tile};

use tengen_rules::{Color, Move, Position, Size};

use crate::theirs;
use tengen_rng::SplitMix64;

/// Plays random games on both boards and compares legal moves, stones, scores and ends; returns the turns taken.
///
/// # Panics
/// If the two programs differ.
pub fn compare(side: u8, games: usize) -> usize {
    let size = Size::square(side.into()).expect("a side from 1 to 19");
    let mut turns = 0;
    for seed in 0..games as u64 {
        let mut random = SplitMix64::new((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut ours = Position::new(size);
        let mut theirs = theirs::empty(side);
        let limit = 6 * size.area();
        while !ours.is_over() && ours.ply() < limit {
            same(&ours, &theirs);
            let legal: Vec<Move> = ours.legal_points().iter().map(Move::Play).collect();
            // Passes are rare, so that games last until captures, suicide and superko are common.
            let mv = match legal.is_empty() || random.below(20) == 0 {
                true => Move::Pass,
                false => legal[random.below(legal.len() as u64) as usize],
            };
            ours.play(mv);
            theirs.play(their_move(size, mv)).expect("legal for both");
            turns += 1;
        }
        assert_eq!(ours.is_over(), theirs.is_done());
        assert_eq!(ours.board_margin(), theirs::margin(&theirs));
    }
    turns
}

fn same(ours: &Position, theirs: &GoBoard) {
    let size = ours.size();
    for point in size.points() {
        let mv = Move::Play(point);
        let their_mv = their_move(size, mv);
        let TheirMove::Place(tile) = their_mv else {
            unreachable!("a play is a play")
        };
        let stone = theirs.stone_at(tile).map(|player| match player {
            Player::A => Color::Black,
            Player::B => Color::White,
        });
        assert_eq!(ours.at(point), stone, "{} after {:?}", mv.format(size), ours.moves());
        let legal = theirs.is_available_move(their_mv) == Ok(true);
        assert_eq!(ours.is_legal(mv), legal, "{} after {:?}", mv.format(size), ours.moves());
        assert_eq!(ours.legal_points().contains(point), legal);
    }
    assert_eq!(ours.board_margin(), theirs::margin(theirs));
}

fn their_move(size: Size, mv: Move) -> TheirMove {
    match mv {
        Move::Pass => TheirMove::Pass,
        Move::Play(point) => TheirMove::Place(Tile::new(point.column(size) as u8, point.row(size) as u8)),
    }
}
