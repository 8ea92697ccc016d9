//! Finds the settings of a run that suit this machine by playing and training with the run's network for some seconds.
//!
//! Never here: printing, stores, changing a configuration.

mod advice;
mod training;
mod tuning;

pub use training::TrainingSpeed;
pub use tuning::{Settings, Trial, Tuning, Wanted};
