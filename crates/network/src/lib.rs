//! The network on libtorch: the form that trains, and fast prediction on the CPU and on a GPU.
//!
//! | file | question |
//! |---|---|
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
mod device;
mod folded;
mod fused;
mod heads;
mod inputs;
mod network;
mod predictor;
mod tower;
mod value;

pub use bench::{BatchSpeed, raw_inference};
pub use device::{DeviceChoice, DeviceError, LibtorchInfo, Precision, ThreadLimit, limit_threads, set_threads};
pub use heads::Outputs;
pub use inputs::NetworkInputs;
pub use network::{Mode, Network};
pub use predictor::{Engine, PredictorError, PredictorOptions, TorchPredictor};
pub use value::{Value, log_results};
