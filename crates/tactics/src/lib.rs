//! Go problems with proved answers: life and death, capturing races, and ladders.
//!
//! A [`Prover`] decides a [`Goal`] on the whole board under Tromp-Taylor rules, exact with the whole history: stones
//! are captured, or some of them are saved because they are pass-alive or still stand at the end of the game; or a side
//! reaches a margin. [`Problems`] draws random boards by seed and keeps those in which every legal move was proved to
//! work or not, a few do, and a pass does not. [`problem_sgf`] writes them with the labels that
//! `tengen verify --positions` reads.
//!
//! Deliberately absent: files, threads, and guesses presented as answers. A search that reaches its limit says so.

mod goal;
mod komi;
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
