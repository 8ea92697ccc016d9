//! The terminal: results on stdout, messages and progress for people on stderr, and signals that ask a program to stop.
//!
//! Never here: what the words mean, or anything of Go.

pub mod interrupt;
pub mod output;
pub mod pace;
mod plain;
pub mod progress;
