//! The network's inputs and targets: feature planes, batches of inputs, and samples with their targets.
//!
//! Everything is from the viewpoint of the side to move. [`Features`] represent one position as bit planes and a few
//! numbers, and an [`InputBatch`] holds many of them on one canvas. A [`Sample`] is a position with its targets, and a
//! [`TrainingBatch`] holds many samples.
//!
//! A [`Trail`] holds a position's last turns, for networks of other programs.
//!
//! Never here: files, games as records, the network itself.

mod features;
mod inputs;
mod plane_set;
mod sample;
mod trail;
mod training_batch;

pub use features::{
    BIT_PLANES, Features, GLOBALS, PLANE_BANNED, PLANE_LIBERTIES, PLANE_OPPONENT, PLANE_OPPONENT_AREA, PLANE_OWN,
    PLANE_OWN_AREA, SoFar, features_from_planes, gain_off_board,
};
pub use inputs::{InputBatch, canvas_index};
pub use plane_set::PlaneSet;
pub use sample::{HORIZONS, Sample};
pub use trail::{Board, Trail};
pub use training_batch::TrainingBatch;
