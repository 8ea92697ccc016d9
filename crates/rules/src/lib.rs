//! The rules of Go: grids, positions with their whole history, ko rules, scoring, symmetries and exact solutions.
//!
//! The default rules are strict Tromp-Taylor: positional superko over the whole game, suicide allowed, the game ends
//! after two consecutive passes, and area scoring of the final grid.
//!
//! Deliberately absent: file access and printing, threads, a source of randomness, third-party code (but serde, if the
//! feature `serde` is on). Legality and scores never depend on floating-point numbers; the few `f32` accessors return
//! exact half points.

mod area;
mod benson;
mod color;
mod cycle;
mod geometry;
mod handicap;
mod history;
mod illegal_move;
mod images;
mod judge;
mod komi;
mod legality;
mod life;
mod lookback;
mod moves;
mod play;
pub mod playout;
mod point;
mod point_set;
mod position;
mod proof;
mod rule_names;
mod rules;
mod schedule;
mod score;
mod setting;
mod setup;
mod size;
mod solve;
mod symmetry;
#[cfg(feature = "serde")]
mod text_form;
mod valid;
mod zobrist;

pub use area::Area;
pub use benson::pass_alive_area;
pub use color::Color;
pub use handicap::{Handicap, fixed_handicap};
pub use illegal_move::IllegalMove;
pub use images::{ImageTable, PointMap};
pub use judge::{Count, Ending, Judge, LIFE_NODES, MachineRulesError};
pub use komi::{Komi, Margin, Outcome, ParseKomiError};
pub use life::Life;
pub use lookback::PastBoard;
pub use moves::Move;
pub use point::{ParsePointError, Point, format_point, parse_point};
pub use point_set::{PointSet, Points};
pub use position::Position;
pub use rule_names::RulesError;
pub use rules::{GameEnd, HandicapBonus, KoRule, LongCycle, Rules, Scoring, Suicide};
pub use schedule::{check_schedule, value_at};
pub use score::{HalfCount, Territory};
pub use setting::{Setting, SettingError, above, check_setting};
pub use setup::{Setup, SetupError};
pub use size::{MAX_AREA, MAX_SIDE, Size, SizeError};
pub use solve::{Solution, SolveError, solve, solve_margin};
pub use symmetry::Symmetry;
