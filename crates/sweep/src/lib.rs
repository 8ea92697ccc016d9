//! Measures whether a setting makes runs learn faster, or whether the difference is chance.
//!
//! A [`Plan`] comes from a small TOML file: a base configuration, arms that change some of its keys, and seeds. Every
//! arm runs once with every seed. Each run is a process of its own and resumes where it left off ([`Runs`]). Matches
//! between the models of all runs put them on one scale ([`meetings`]), and [`Outcome`] compares the arms by means over
//! the seeds with 95% intervals, because even runs that differ only in their seed have different results.
//!
//! This crate contains no training loop and never prints.

mod meetings;
mod outcome;
mod page;
mod plan;
mod runs;
mod statistics;

pub use meetings::{Field, Place, meetings};
pub use outcome::{ArmOutcome, CurvePoint, Difference, Outcome, RunOutcome, Verdict};
pub use plan::{Arm, Plan, PlannedRun, RatingPlan};
pub use runs::Runs;
pub use statistics::{Estimate, difference, mean};
