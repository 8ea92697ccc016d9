//! Runs and their stages as real processes: undisturbed, stopped, killed, and with damaged files.
#![cfg(feature = "torch")]

mod common;
mod crash;
mod ends;
mod fleet;
mod golden;
mod ranks;
mod stages;
