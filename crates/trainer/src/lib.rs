//! The trainer: losses, optimisers, the learning-rate schedule, one training step, and checkpoints that resume exactly.
//!
//! A [`Trainer`] takes one [`TrainingBatch`](tengen_records::TrainingBatch) per step and hands out the moving average of
//! its weights, which is what plays and what is published.
//!
//! Never here: reading games, choosing samples, self-play, matches, threads. The caller decides when to train on what.

mod checkpoint;
mod config;
mod loss;
mod optimizer;
mod targets;
mod trainer;

pub use checkpoint::{AVERAGE_FILE, CheckpointError, METADATA_FILE, OPTIMIZER_FILE, WEIGHTS_FILE};
pub use config::{LossWeights, Optimizer, Schedule, TrainerConfig};
pub use loss::Losses;
pub use trainer::{Trainer, TrainerError};
