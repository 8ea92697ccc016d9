//! Imports external games into a store: they are read, replayed under strict rules, relabeled, and published.

mod game;
mod importer;
mod sources;

pub use game::{ImportRules, MissingTurns};
pub use importer::{ImportReport, Importer, MAX_REJECTIONS, Rejection, legal_games};
pub use sources::{SgfSource, SourceError, find_sources, read_source};
