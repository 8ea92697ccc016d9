//! Both sides of KataGo's analysis protocol.
//!
//! The protocol follows KataGo's `docs/Analysis_Engine.md`: one JSON object per line in and out, with many queries at
//! once, each about one or more turns of a game. Like [`Session`](crate::Session), [`QueryQueue`] is a pure state
//! machine: it reads lines, keeps the waiting [`Job`]s in order of urgency, and writes the answers. It does not search.
//! [`AnalysisClient`] starts another engine as a child process and sends it queries.

mod actions;
mod answer;
mod client;
mod fields;
mod hashes;
mod job;
mod position;
mod query;
mod queue;
mod settings;

pub use client::{ANALYSIS_ENGINE, AnalysisClient};
pub use job::Job;
pub use query::Query;
pub use queue::{Handled, QueryQueue};
pub use settings::{Defaults, Identity, SettingError, Settings, Viewpoint};
