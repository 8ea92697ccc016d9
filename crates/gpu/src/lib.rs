//! What the driver of a GPU offers beyond libtorch: what the GPU is called, which libraries it is used with, and
//! kernels that Tengen brings along.
//!
//! Everything is loaded at run time, so that programs run where there is no GPU.

mod compiler;
mod driver;
mod kernels;
mod libraries;

pub use driver::{Gpu, driver_cuda, sleep_while_waiting};
pub use kernels::{Bias, Format, Kernels, Stream};
pub use libraries::GpuLibrary;
