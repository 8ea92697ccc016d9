//! The network: its architecture, its weights as files, and fast prediction with it on the CPU and on a GPU.
//!
//! | file | question |
//! |---|---|
//! | `config`, `parameters` | which network, and which tensors has it? |
//! | `weights`, `model` | what did it learn, and what is known about that? |
//! | `inputs` | how do packed bits become tensors? |
//! | `tower`, `heads`, `value` | what is computed from them? |
//! | `network` | the form that trains |
//! | `folded`, `fused`, `predictor` | the form that predicts, fast |
//! | `device` | where does it compute? |
//! | `bench` | how fast is it? |
//!
//! One set of weights serves every board up to 19x19. Everything is seen from the side to move.
//!
//! Never here: files of games, the search, losses and optimisers. Only this crate and the trainer know libtorch.

mod bench;
mod config;
mod device;
mod folded;
mod fused;
mod heads;
mod inputs;
mod model;
mod network;
mod parameters;
mod predictor;
mod tower;
mod value;
mod weights;

pub use bench::{BatchSpeed, raw_inference};
pub use config::{ConfigError, NetworkConfig};
pub use device::{DeviceChoice, DeviceError, LibtorchInfo, Precision, ThreadLimit, limit_threads, set_threads};
pub use heads::Outputs;
pub use inputs::NetworkInputs;
pub use model::{
    CostLedger, FEATURE_SET, INFO_FILE, MODEL_FORMAT, Model, ModelError, ModelInfo, Provenance, WEIGHTS_FILE,
};
pub use network::{Mode, Network};
pub use parameters::{Parameter, Role, parameters};
pub use predictor::{Engine, PredictorError, PredictorOptions, TorchPredictor};
pub use value::{Value, log_results};
pub use weights::{NamedTensor, Weights, WeightsError, decode, encode, sha256_hex};
