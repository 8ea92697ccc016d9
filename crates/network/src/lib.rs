//! The network on libtorch: the form that trains, and fast prediction on the CPU and on a GPU.
//!
//! | file | contents |
//! |---|---|
//! | `inputs` | packed bits as tensors |
//! | `layers`, `tower`, `pool`, `attention`, `heads`, `value` | the computation |
//! | `network` | the form for training |
//! | `folded`, `fused`, `fused_heads`, `one_kernel`, `predictor` | the form for fast prediction |
//! | `katago` | networks of KataGo |
//! | `device`, `libtorch` | the CPU or a GPU, and what libtorch can use there |
//! | `stream`, `catching` | streams of a GPU; errors of libtorch as values |
//! | `usage` | how busy each GPU is, and with what |
//! | `group` | processes that train one network together |
//! | `parallel`, `shared` | one batch on several threads; one network or GPU for many threads |
//! | `self_test` | whether a device keeps and unpacks what it is given |
//!
//! One set of weights serves every board up to 19x19. All inputs and outputs are from the viewpoint of the side to
//! move.
//!
//! This crate never touches game files, the search, losses, or optimizers. Only this crate, the trainer, and crates
//! of single computations, such as `tengen-winograd`, use libtorch.

mod attention;
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
mod katago;
mod kernels;
mod layers;
mod libtorch;
mod network;
mod one_kernel;
mod outputs;
mod pool;
mod precision;
mod predictor;
mod recorded;
mod reused;
mod self_test;
mod shapes;
mod shared;
mod stream;
mod tower;
mod usage;
mod value;

pub use catching::{LibtorchError, catching};
pub use device::{DeviceChoice, DeviceError, LibtorchInfo, ThreadLimit, limit_threads, set_threads};
pub use gpu::{cpu, in_words};
pub use graph::Graph;
pub use group::{Group, GroupError, Meeting};
pub use heads::Outputs;
pub use inputs::{Channels, NetworkInputs, PackedInputs, on_device, transfer};
pub use katago::KatagoPredictor;
pub use network::{Matrix, Mode, Network};
pub use precision::Precision;
pub use predictor::{Engine, PredictorError, PredictorOptions, TorchPredictor};
pub use self_test::{SelfTest, positions, self_test};
pub use shapes::Shapes;
pub use shared::{AnyNetwork, MakePredictor, SharedNetwork, end_gpu_servers, gpu_servers, on_all_cores, on_devices};
pub use stream::{ReadLater, Work, read_back};
pub use tengen_search::{BatchSpeed, raw_inference};
pub use usage::{Bucket, GpuUsage, Span, gpu_usage};
pub use value::{Value, log_results};
