//! The network on libtorch: a form for training, and fast prediction on CPUs and GPUs.
//!
//! | file | contents |
//! |---|---|
//! | `inputs`, `outputs` | packed bits as tensors; predictions from tensors |
//! | `layers`, `tower`, `pool`, `attention`, `heads`, `value` | the computation |
//! | `network` | the form for training |
//! | `folded`, `fused`, `fused_heads`, `one_kernel`, `kernels`, `predictor` | the form for fast prediction |
//! | `graph`, `recorded`, `shapes` | CUDA graphs of batches whose shape repeats |
//! | `device`, `gpu`, `libtorch`, `precision` | the CPU or a GPU, what libtorch can use there, and number formats |
//! | `stream`, `catching` | CUDA streams; libtorch errors as values |
//! | `usage` | how busy each GPU is, and with what |
//! | `group` | processes that train one network together |
//! | `self_test` | whether a device computes the same as the CPU |
//!
//! One set of weights serves every board up to 19x19. All inputs and outputs are from the viewpoint of the side to
//! move.
//!
//! This crate never touches game files, the search, losses, or optimizers. Only this crate, those that build on it,
//! and crates for single computations, such as `tengen-convolutions`, use libtorch.

mod attention;
mod by_size;
mod catching;
mod device;
mod folded;
mod fused;
mod fused_heads;
mod gpu;
mod graph;
mod group;
mod heads;
mod inputs;
mod kernels;
mod layers;
mod libtorch;
mod network;
mod one_kernel;
mod outputs;
mod packed;
mod pool;
mod precision;
mod predictor;
mod recorded;
mod self_test;
mod shapes;
mod stream;
mod tower;
mod usage;
mod value;

pub use catching::{LibtorchError, catching};
pub use device::{DeviceChoice, DeviceError, LibtorchInfo, ThreadLimit, limit_threads, set_threads};
pub use fused::InferenceGuard;
pub use gpu::{cpu, forbid_tf32, in_words};
pub use graph::Graph;
pub use group::{Group, GroupError, Meeting};
pub use heads::Outputs;
pub use inputs::{Channels, NetworkInputs, on_device, transfer};
pub use kernels::compared as kernels_compared;
pub use network::{Matrix, Mode, Network};
pub use one_kernel::compared as one_kernel_compared;
pub use packed::PackedInputs;
pub use precision::Precision;
pub use predictor::{Engine, PredictorError, PredictorOptions, TorchPredictor};
pub use self_test::{Consequence, SelfTest, positions};
pub use shapes::Shapes;
pub use stream::{ReadLater, Work, finish as finish_stream, read_back};
pub use tengen_search::{BatchSpeed, raw_inference};
pub use usage::{Bucket, GpuUsage, Span, forget as forget_gpu_usage, gpu_usage};
pub use value::{Value, log_results};
