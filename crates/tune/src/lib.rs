//! Finds the settings of a run that suit this machine by playing and training with the run's network for some seconds.
//!
//! Never here: printing, stores, changing a configuration.

mod advice;
mod plan;
mod search;
mod settings;
mod training;
mod tuning;

pub use plan::Wanted;
pub use settings::{Settings, Trial};
pub use training::TrainingSpeed;
pub use tuning::Tuning;
