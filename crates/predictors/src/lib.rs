//! Networks, ours and KataGo's, for many threads: each has its own predictor on the CPU, and all share a server on a
//! GPU.
//!
//! | file | contents |
//! |---|---|
//! | `shared` | one network or GPU for many threads |
//! | `reused` | a GPU network that is no longer needed serves the next one of its shape |
//! | `katago` | KataGo networks |

mod katago;
mod reused;
mod shared;

pub use katago::KatagoPredictor;
pub use shared::{
    AnyNetwork, MakePredictor, SharedNetwork, end_gpu_servers, gpu_servers, lift_limits, on_all_cores, on_devices,
};
