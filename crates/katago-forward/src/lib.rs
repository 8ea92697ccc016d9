//! The computation of networks of KataGo on libtorch.
//!
//! Deliberately absent: files, positions, what the outputs mean.

mod forward;
mod layers;

pub use forward::{Computed, Forward, Seen};
