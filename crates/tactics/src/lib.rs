//! Go problems with proved answers: life and death, capturing races, and ladders.

mod goal;
mod ladder;
mod life;
mod problem;
mod problems;
mod prover;
mod race;
mod reader;
mod search;
mod sgf;
mod sketch;
mod table;

pub use goal::Goal;
pub use problem::Problem;
pub use problems::{Kind, Problems};
pub use prover::{MoveAnswer, Prover, Verdict};
pub use sgf::problem_sgf;
