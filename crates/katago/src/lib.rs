//! Networks of KataGo: their files, what they see of a position, and what their outputs mean.
//!
//! | file | contents |
//! |---|---|
//! | `network`, `layers`, `reader`, `error` | a network as its file describes it |
//! | `inputs` | the planes and numbers that a network sees |
//! | `area` | the area that they show |
//! | `outputs` | what the numbers at the end mean |
//!
//! Written from the formats and definitions in KataGo's public sources, version 1.17.2. Deliberately absent: any
//! network library; the computation is in the crate `network`.

mod area;
mod error;
mod inputs;
mod layers;
mod network;
mod outputs;
mod reader;

pub use error::{FileError, LoadError};
pub use inputs::{InputStyle, Inputs, NUMBERS, PLANES};
pub use layers::{Activation, Conv, Matrix, Norm};
pub use network::{Block, NEWEST, Network, OLDEST, PassLayer, PolicyHead, Trunk, ValueHead, is_network_file};
pub use outputs::{Multipliers, Outcome};
