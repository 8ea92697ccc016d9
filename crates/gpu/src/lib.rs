//! What the driver of a GPU offers beyond libtorch: what the GPU is called, and kernels that Tengen brings along.
//!
//! Everything is loaded at run time, so that programs run where there is no GPU.

mod compiler;
mod driver;
mod kernels;

pub use driver::{Gpu, driver_cuda, sleep_while_waiting};
pub use kernels::{Bias, Format, Kernels, Stream};
