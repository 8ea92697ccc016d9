//! What commands print, how they write numbers, and how they refuse arguments.

pub(crate) use tengen_matches::{UsageError, usage};
pub(crate) use tengen_report::{counted, duration, elo, elo_estimate, elo_interval, thousands};
pub(crate) use tengen_terminal::output::*;
