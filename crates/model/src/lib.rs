//! What a model is, without libtorch: its architecture, its tensors by name and shape, its weights as a safetensors
//! file, and the description that says where they come from and what they cost.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `parameters` | the shape of a network and its tensors |
//! | `weights`, `model`, `id` | the trained values, what is known about them, and their name |
//!
//! Never here: computing with the network, stores, printing.

mod config;
mod id;
mod model;
mod parameters;
mod weights;

pub use config::{ConfigError, NetworkConfig};
pub use id::{ModelId, ParseModelIdError};
pub use model::{
    CostLedger, EncodedModel, FEATURE_SET, INFO_FILE, MODEL_FORMAT, Model, ModelError, ModelInfo, Provenance,
    WEIGHTS_FILE,
};
pub use parameters::{EPSILON, KOMI_TERMS, MARGINS, POOLED, Parameter, Role, parameters};
pub use weights::{NamedTensor, Weights, WeightsError, decode, encode, sha256_hex};
