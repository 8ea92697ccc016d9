//! Plays training games of a network against itself.
//!
//! A [`Group`] plays many games in lockstep, so that every call of the network evaluates one position of each. The
//! [`Generator`] runs groups on worker threads for as long as it is wanted: it takes new models without stopping a
//! game, keeps within a bounded lead over the trainer, and hands over its games in flight when stopped.
//! [`generate`] plays a fixed number of games whose bytes depend on seed and model only, not on the number of threads.
//!
//! ```text
//! seed, group, game, ply ─→ random streams
//!         │
//!   worker thread: group, group, … ──step──→ Predictor (its own)
//!         │  finished games                      ▲
//!         ▼                                      │ new model between two steps
//!   bounded channel ──→ caller ──────────────────┘
//! ```
//!
//! Deliberately absent: printing, files (games leave as [`GameRecord`](tengen_records::GameRecord)s), any network
//! library, results for games that did not end by the rules and are not settled either.

mod config;
mod counters;
mod game;
mod gate;
mod generate;
mod generator;
mod group;
mod model;
mod setup;
mod snapshot;
mod worker;

pub use config::{BoardShare, KomiConfig, OpeningConfig, SelfPlayConfig};
pub use counters::{CounterValues, Counters};
pub use game::{Clock, GameAddress, RunIdentity};
pub use gate::Gate;
pub use generate::{GenerateSetup, generate};
pub use generator::{Generator, GeneratorError, GeneratorSetup, Stopped};
pub use group::{FinishedGame, Group, GroupSetup};
pub use model::{FairKomi, ModelUpdate, PredictorFactory};
pub use snapshot::{GameSnapshot, GroupSnapshot, Snapshot, SnapshotError};
