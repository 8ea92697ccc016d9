//! What a model is, without libtorch: its architecture, its tensors by name and shape, its weights as a safetensors
//! file, and the description that says where they come from and what they cost.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `layout`, `parameters` | the shape of a network, its layers, and their tensors |
//! | `weights`, `model`, `id` | the trained values, what is known about them, and their name |
//!
//! Never here: computing with the network, stores, printing.

mod config;
mod devices;
mod growth;
mod id;
mod layout;
mod model;
mod parameters;
mod versions;
mod weights;

pub use config::{ConfigError, NetworkConfig};
pub use devices::{Devices, PrecisionChoice};
pub use growth::GrowthError;
pub use id::{ModelId, ParseModelIdError};
pub use layout::{
    Attention, Block, ConvTensors, EPSILON, Heads, KOMI_TERMS, Layers, Layout, LinearTensors, MARGINS, Nested, OFFSETS,
    POOLED, PolicyHead, Residual, TensorIndex,
};
pub use model::{CostLedger, EncodedModel, INFO_FILE, Model, ModelError, ModelInfo, Provenance, WEIGHTS_FILE};
pub use parameters::{Parameter, Role};
pub use versions::{FEATURE_SET, MODEL_FORMAT};
pub use weights::{NamedTensor, Weights, WeightsError, decode, encode, sha256_hex};
