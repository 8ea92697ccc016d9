//! Labels the positions of any games with a teacher and publishes the labelled games.
//!
//! [`SourceGames`] reads games from stores and SGF files, a [`Teacher`] (a network behind the search, or another engine
//! that speaks KataGo's analysis protocol) judges their positions, many at a time, and [`label`] combines the two and
//! publishes the games as ordinary imported games: a labelled ply has a policy target, a value, a margin, and, if the
//! teacher provides them, the expected owners; [`Origin::teacher`](tengen_records::Origin::teacher) identifies the
//! teacher. The moves and the counted result stay as they were.
//!
//! [`label_games`] does the same with games in memory.
//!
//! Labels of a network depend only on the game, the ply, the network, and the settings, and shards hold the same games
//! in the same order however often the work is interrupted, so that their bytes are always the same.
//!
//! This crate uses no network library, trains nothing, and never prints.

mod chunk;
mod engine;
mod error;
mod in_memory;
mod labelling;
mod owners;
mod query;
mod settings;
mod sources;
mod teacher;
mod worker;

pub use chunk::with_origin;
pub use engine::EngineTeacher;
pub use error::LabelError;
pub use in_memory::{LabelledGames, label_games};
pub use labelling::{LabelProgress, LabelReport, label};
pub use settings::{PositionChoice, network_search};
pub use sources::SourceGames;
pub use teacher::{NetworkTeacher, PredictorFactory, Teacher};
