//! Runs the real binary with real arguments and checks its output for scripts and for people.

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
#[cfg(feature = "torch")]
mod katago;
mod label;
mod match_;
#[cfg(feature = "torch")]
mod models;
#[cfg(feature = "torch")]
mod positions;
mod rate;
mod report;
mod rule_sets;
mod rules;
mod serve;
mod shell;
#[cfg(feature = "torch")]
mod sweep;
mod tournament;
