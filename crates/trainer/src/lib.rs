//! The trainer: losses, optimizers, the learning-rate schedule, the training step, and checkpoints that resume exactly.
//!
//! A [`Trainer`] takes one [`TrainingBatch`](tengen_encoding::TrainingBatch) per step and provides the moving average
//! of its weights, which is what plays and what is published.
//!
//! This crate never reads games, chooses samples, plays, or starts threads. The caller decides what to train on and
//! when.

mod checkpoint;
mod config;
mod growth;
mod loss;
mod muon;
mod optimizer;
mod pace;
mod recorded;
mod self_test;
mod targets;
mod together;
mod trainer;
mod validation;

pub use checkpoint::{AVERAGE_FILE, CheckpointError, METADATA_FILE, OPTIMIZER_FILE, WEIGHTS_FILE};
pub use config::{LossWeights, Optimizer, OwnershipLoss, Schedule, TrainerConfig};
pub use loss::Losses;
pub use self_test::self_test;
pub use together::Word;
pub use trainer::{Trainer, TrainerError};
pub use validation::Validation;
