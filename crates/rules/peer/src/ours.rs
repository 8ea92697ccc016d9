//! Random games played by the rules core.

use tengen_rules::{Position, Size, playout};

use crate::{Side, Workload};
use tengen_rng::SplitMix64;

/// One board that is reused for all games.
pub struct Ours {
    start: Position,
    position: Position,
}

impl Ours {
    /// An empty square board.
    pub fn new(side: u8) -> Ours {
        let start = Position::new(Size::square(side.into()).expect("a side from 1 to 19"));
        Ours {
            position: start.clone(),
            start,
        }
    }
}

impl Side for Ours {
    fn game(&mut self, workload: Workload, random: &mut SplitMix64) -> (usize, i32) {
        self.position.copy_from(&self.start);
        let turns = match workload {
            Workload::Light => playout::light_playout(&mut self.position, || random.bits()),
            Workload::Scan => playout::uniform_playout(&mut self.position, || random.bits()),
        };
        (turns, self.position.board_margin())
    }
}
