//! How do other people's games come into a store? Read, replayed under strict rules, relabelled, and published.

mod game;
mod importer;
mod sources;

pub use game::{ImportRules, MissingTurns};
pub use importer::{ImportReport, Importer, Rejection};
pub use sources::{SgfSource, SourceError, find_sources, read_source};
