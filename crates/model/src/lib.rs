//! What a model is, without libtorch: its architecture, its tensors by name and shape, its weights as a safetensors file,
//! and the description that says where they come from and what they cost.
//!
//! | file | question |
//! |---|---|
//! | `config`, `parameters` | which network, and which tensors does it have? |
//! | `weights`, `model` | what did it learn, and what is known about it? |
//!
//! Never here: computing with the network, stores, printing.

mod config;
mod model;
mod parameters;
mod weights;

pub use config::{ConfigError, NetworkConfig};
pub use model::{
    CostLedger, FEATURE_SET, INFO_FILE, MODEL_FORMAT, Model, ModelError, ModelInfo, Provenance, WEIGHTS_FILE,
};
pub use parameters::{EPSILON, KOMI_TERMS, MARGINS, POOLED, Parameter, Role, parameters};
pub use weights::{NamedTensor, Weights, WeightsError, decode, encode, sha256_hex};
