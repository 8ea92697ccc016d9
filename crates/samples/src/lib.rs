//! Training samples from a store's games: which games (the window), how they lie in memory, how positions are drawn.
//!
//! Never here: networks, losses, printing.

mod draws;
mod game_cache;
mod held_out;
mod loaded_shard;
mod loader;
mod sample_config;
mod samples;
mod stored_game;
mod window;

pub use game_cache::CacheError;
pub use held_out::is_held_out;
pub use loaded_shard::ReadShard;
pub use loader::Loader;
pub use sample_config::{CachePlace, SampleConfig, SymmetryMode};
pub use samples::{SampleError, SampleSource, WindowLoad};
pub use window::{Window, WindowConfig, WindowDamage};
