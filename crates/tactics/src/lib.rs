//! Go problems with proved answers: captures, life and death, races, and ladders on the whole board.

mod goal;
mod prover;
mod search;
mod table;

pub use goal::Goal;
pub use prover::{MoveAnswer, Prover, Verdict};
