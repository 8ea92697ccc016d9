//! A position waiting to be analyzed.

use std::sync::Arc;

use tengen_rules::Position;

use super::query::Query;

/// One position to analyze.
#[derive(Clone, Debug)]
pub struct Job {
    /// The number that identifies the job, in order of arrival.
    pub number: u64,
    /// The query that the job belongs to.
    pub query: Arc<Query>,
    /// The number of moves played before the position.
    pub turn: usize,
    /// The position, in which the game is not over.
    pub position: Position,
    /// Whether the analysis was asked to stop and report what it has.
    pub stopped: bool,
    pub(super) priority: i64,
}
