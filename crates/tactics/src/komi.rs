//! A komi for positions whose game is too long to be decided.

use tengen_rng::{bits, stream};
use tengen_rules::playout::rollout;
use tengen_rules::{Move, Position};

/// The number of random games after each of the two moves.
const GAMES: usize = 200;

/// The least margin for Black that is between the mean margins of random games after a right move and after a pass.
///
/// This is a guess at a komi at which the right moves decide the game, and no more.
pub(crate) fn guess_margin(position: &Position, right: Move) -> i32 {
    let mut rng = stream(position.hash() as u64, &[]);
    let mut sum = 0;
    for mv in [right, Move::Pass] {
        for _ in 0..GAMES {
            let mut game = position.clone();
            game.play(mv);
            rollout(&mut game, || bits(&mut rng));
            sum += game.board_margin();
        }
    }
    sum.div_euclid(2 * GAMES as i32) + 1
}
