//! Training samples from a store's games: the replay window, the games' memory layout, and how positions are drawn.
//!
//! Never here: networks, losses, printing.

mod draws;
mod game_cache;
mod held_out;
mod lesson;
mod loaded_shard;
mod loader;
mod mixture;
mod sample_config;
mod samples;
mod stored_game;
mod train_config;
mod window;

pub use game_cache::CacheError;
pub use held_out::is_held_out;
pub use lesson::{Census, OwnershipFrom, PolicyFrom, Teaching, ValueFrom};
pub use loaded_shard::ReadShard;
pub use loader::Loader;
pub use mixture::Mixture;
pub use sample_config::{CachePlace, SampleConfig, SymmetryMode};
pub use samples::{SampleError, SampleSource, WindowLoad};
pub use train_config::{GamesFrom, OfGames, TrainConfig};
pub use window::{Window, WindowConfig, WindowDamage};
