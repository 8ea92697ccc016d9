//! The commands from outside: the real binary with real arguments, and what it says to scripts and to people.

mod analyze;
mod bench;
mod common;
#[cfg(feature = "torch")]
mod config;
mod data;
mod datasets;
mod engine_kills;
mod engines;
mod gtp;
mod gtp_extras;
mod gtp_finish;
mod match_;
#[cfg(feature = "torch")]
mod models;
mod rule_sets;
mod rules;
mod tournament;
