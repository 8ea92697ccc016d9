//! The versions of what is written in model files.

/// Version of `model.json` and of the weights file: the first one so far. A program that raises it also reads the older
/// ones.
pub const MODEL_FORMAT: u32 = 1;

/// Version of the network's inputs: the planes and globals of `tengen_encoding::Features`.
pub const FEATURE_SET: u32 = 1;
