//! The configuration of a run, one TOML file: what it holds, how it is read, and whether it can be used.
//!
//! | file | contents |
//! |---|---|
//! | `run_config` | everything that defines a run, and what follows from it |
//! | `inference`, `loop_config`, `budget` | the sections that belong to no other crate |
//! | `ledger` | what a run has cost, which its budget limits |
//! | `load`, `overrides`, `fault` | reading a file, `--set`, and errors that name key and line |
//! | `keys` | all keys, their defaults, and suggestions for misspelled ones |
//! | `shipped` | how a configuration differs from the shipped one |
//!
//! Never here: stores, networks, anything that happens in a run.

mod budget;
mod fault;
mod inference;
pub mod keys;
mod ledger;
mod load;
mod loop_config;
mod overrides;
mod run_config;
mod shipped;
#[cfg(test)]
mod tests;

pub use budget::BudgetConfig;
pub use inference::InferenceConfig;
pub use ledger::Ledger;
pub use loop_config::LoopConfig;
pub use run_config::{Progress, RunConfig};
pub use shipped::Changes;
