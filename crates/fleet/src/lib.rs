//! Many machines, one run: self-play workers, a trainer and a gate as separate processes that share nothing but the
//! store.
//!
//! ```text
//! trainer  --weights, notice-->  fleet/  --weights, notice-->  workers
//! workers  --shards-->  games/  --shards-->  trainer  --candidates-->  models/  -->  gate  --> promotions/
//! ```
//!
//! Workers keep no state that matters: any number may start, end, or be killed at any time. The trainer's notice in the
//! store says which weights to use and how far self-play may run ahead. One trainer and one gate work at a time; more
//! of them stand by. No process compares its clock with another's.
//!
//! Never here: choosing machines, starting processes, printing.

mod alone;
mod author;
mod follow;
mod gate;
mod herald;
mod in_flight;
mod learn;
mod lease;
mod lock;
mod pause;
mod scout;
#[cfg(test)]
mod testing;
mod unseen;
mod worker;
mod workers;

pub use alone::run_alone;
pub use gate::{Decided, decide, decide_once};
pub use learn::{Goal, Learned, LearnedSummary, check_games, learn};
pub use worker::{End, Played, Quota, Scene, play};
