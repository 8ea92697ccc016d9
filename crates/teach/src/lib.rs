//! Training on games of any origin, without playing: imported games, games of runs and matches, games with labels.
//!
//! | file | question |
//! |---|---|
//! | `material` | which games are learned from? |
//! | `teach` | how does a network learn from them, and resume? |
//! | `place` | where do checkpoints and the model go? |
//! | `judge` | how well does a network predict games that it never saw? |
//! | `rate` | which learning rate suits them? |
//! | `start` | which weights does training begin with? |
//! | `found` | how does a run begin with another model? |
//!
//! Never here: self-play, gates, printing, arguments.

mod found;
mod judge;
mod material;
mod place;
mod rate;
mod start;
mod teach;
mod words;

pub use found::found;
pub use judge::{HeldOut, judge, judge_model};
pub use material::{Material, Source};
pub use rate::{RatePoint, Trial, find_rate};
pub use start::Origin;
pub use teach::{Step, Taught, teach};
