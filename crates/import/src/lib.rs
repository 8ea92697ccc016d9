//! Imports other people's games into a store: SGF files and archives of them are read, their games replayed under
//! strict rules, labeled with what their files claim, and published, each once.
//!
//! Deliberately absent: search, networks, printing.

mod game;
mod importer;
mod sources;

pub use game::{ImportRules, MissingTurns};
pub use importer::{ImportReport, Importer, MAX_REJECTIONS, Rejection, legal_games};
pub use sources::{SgfSource, SourceError, find_sources, read_source};
