//! Measures whether a setting makes runs learn faster, or whether the difference is chance.
//!
//! A [`Plan`] comes from a small TOML file: a base configuration, and what is compared. Either arms change some of its
//! keys, and every arm runs once with every seed; or every run has its own half of many factors ([`Factorial`]). Each
//! run is a process of its own and resumes where it left off ([`Runs`]). Matches between the models of all runs put
//! them on one scale ([`meetings`]), and [`Outcome`] compares means over runs with 95% intervals, because even runs
//! that differ only in their seed have different results.
//!
//! This crate contains no training loop and never prints.

mod factorial;
mod meetings;
mod outcome;
mod page;
mod plan;
mod runs;
mod statistics;

pub use factorial::{Effects, Factorial};
pub use meetings::{Field, Place, meetings};
pub use outcome::{ArmOutcome, Compared, CurvePoint, Difference, FactorOutcome, Group, Outcome, RunOutcome, Verdict};
pub use plan::{Change, Design, Plan, PlannedRun, RatingPlan};
pub use runs::Runs;
pub use statistics::{Estimate, difference, mean};
