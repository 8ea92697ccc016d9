//! Reports what this machine can do: its hardware and libraries, the speed of networks on it, and whether a GPU
//! computes what the CPU does.

mod comparison;
mod device;
mod machine;
mod predictions;
mod speed;

pub use comparison::Comparison;
pub use machine::Machine;
pub use speed::Torch;
