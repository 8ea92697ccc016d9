//! Distributed runs: self-play workers, a trainer, and a gate as separate processes that share only the store.
//!
//! ```text
//! trainer  --weights, notice-->  fleet/  --weights, notice-->  workers
//! workers  --shards-->  games/  --shards-->  trainer  --candidates-->  models/  -->  gate  --> promotions/
//! ```
//!
//! Workers are disposable: any number may start, end, or be killed at any time. The trainer's notice in the store names
//! the weights to use and how far ahead self-play may run. One trainer and one gate are active at a time; others stand
//! by. No process compares its clock with another's.
//!
//! This crate never chooses machines, starts processes, or prints.

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
