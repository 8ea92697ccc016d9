//! Plays training games of a network against itself.
//!
//! A [`Group`] plays many games in lockstep, so every network call evaluates one position of each. A [`Rotation`] plays
//! several groups in turn, so one descends while the batches of others are on a device. The [`Generator`] runs
//! rotations on worker threads until it is stopped: it accepts new models without interrupting games, keeps its lead
//! over the trainer within a limit, and returns its games in flight when stopped. [`generate`] plays a fixed number of
//! games that depend only on the seed and the model, not on the number of threads.
//!
//! ```text
//! seed, group, game, ply ─→ random streams
//!         │
//!   worker thread: group, group, … ──jobs──→ Predictor (its own, or a client of a server)
//!         │  finished games                      ▲
//!         ▼                                      │ new model between two turns
//!   bounded channel ──→ caller ──────────────────┘
//! ```
//!
//! Deliberately absent: printing, file access (games are returned as [`GameRecord`](tengen_records::GameRecord)s), any
//! network library, and results for games that neither ended under the rules nor are settled.

mod bench;
mod config;
mod counters;
mod error;
mod fair_komi;
mod forks;
mod game;
mod generate;
mod generator;
mod group;
mod komi_search;
mod lead;
mod model;
mod panic;
mod rotation;
mod setup;
mod snapshot;
mod worker;

pub use bench::{SelfPlayBench, SelfPlayBenchReport, bench_config, bench_selfplay, games_without_network};
pub use config::{BoardShare, BookShare, KomiConfig, OpeningConfig, SelfPlayConfig};
pub use counters::{CounterValues, Counters, WorkerTimes};
pub use error::GeneratorError;
pub use fair_komi::FairKomi;
pub use game::{Clock, GameAddress, RunIdentity};
pub use generate::{GenerateSetup, generate};
pub use generator::{Generator, GeneratorSetup, Stopped};
pub use group::{FinishedGame, Group, GroupSetup};
pub use lead::Lead;
pub use model::{ModelUpdate, PredictorFactory};
pub use panic::catch_panic;
pub use rotation::Rotation;
pub use snapshot::{GameSnapshot, GroupSnapshot, Snapshot, SnapshotError};
