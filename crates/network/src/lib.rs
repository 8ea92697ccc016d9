//! The network: its architecture, its weights as files, and fast prediction on the CPU and on a GPU.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `parameters` | the shape of a network and its tensors |
//! | `weights`, `model` | the trained values, and what is known about them |
//! | `inputs` | packed bits as tensors |
//! | `tower`, `heads`, `value` | the computation |
//! | `network` | the form for training |
//! | `folded`, `fused`, `predictor` | the form for fast prediction |
//! | `device` | the CPU or a GPU |
//! | `bench` | prediction speed |
//!
//! One set of weights serves every board up to 19x19. All inputs and outputs are from the viewpoint of the side to
//! move.
//!
//! This crate never touches game files, the search, losses, or optimizers. Only this crate and the trainer use
//! libtorch.

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
