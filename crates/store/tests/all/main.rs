//! The tests of the store, in one binary: linking it takes longer than compiling a test.

mod checkpoints;
mod clouds;
mod endings;
mod faults;
mod faulty;
mod kills;
mod liars;
mod looks;
mod models;
mod store;
mod upkeep;
mod verified;
