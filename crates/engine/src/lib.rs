//! Search as an engine for other programs: moves and analyses for GTP sessions, answers to analysis queries, and the
//! lines of input that drive both.
//!
//! [`TengenEngine`] stands behind a [`tengen_gtp::Session`], and [`Analyzer`] behind a
//! [`tengen_gtp::json::QueryQueue`]. Both search with any [`tengen_search::Predictor`], print nothing by themselves,
//! and do not know where networks come from.

mod analysis;
mod gtp;
mod lines;
mod queries;

pub use gtp::{
    DEFAULT_TEMPERATURE_PLIES, EngineSetup, MoveSource, PlayOptions, Quit, Resign, Temperature, TengenEngine,
    temperature,
};
pub use lines::{LONGEST_LINE, read_lines};
pub use queries::Analyzer;
