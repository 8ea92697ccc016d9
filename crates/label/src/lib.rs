//! Searches the positions of any games with a teacher and publishes the games with what the teacher says.
//!
//! [`SourceGames`] reads games from stores and SGF files, a [`Teacher`] (a network behind the search, or another engine
//! that speaks KataGo's analysis protocol) judges their positions, many at a time, and [`label`] puts both together and
//! publishes the games as ordinary imported games: a labelled ply has a policy target, a value, a margin, and, if the
//! teacher says, the owners it expects, and [`Origin::teacher`](tengen_records::Origin::teacher) says who said so. The
//! moves and the counted result stay as they were.
//!
//! [`label_games`] does the same with games in memory.
//!
//! Labels of a network depend on nothing but the position, the network, and the settings, and shards hold the same
//! games in the same order however often the work is interrupted, so that their bytes are always the same.
//!
//! Deliberately absent: any network library, training, printing.

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
