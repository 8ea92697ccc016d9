//! What can this machine do? Its hardware and libraries, the speed of networks on it, whether a GPU computes what the
//! CPU does, and which settings of a run suit it.

mod comparison;
mod machine;
mod speed;
mod training;
mod tuning;

pub use comparison::Comparison;
pub use machine::Machine;
pub use speed::Torch;
pub use training::TrainingSpeed;
pub use tuning::{Trial, Tuning};
