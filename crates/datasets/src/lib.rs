//! Datasets: games and positions exported for other programs, statistics over stores, tiny boards solved, and positions
//! with known answers read back.
//!
//! Never here: search, networks, printing.

mod dataset;
mod labelled;
mod store_stats;

pub use dataset::{
    Dataset, DatasetError, DatasetFile, DatasetFilter, DatasetManifest, ExportOptions, ExportProgress, FileFormat,
    PositionFilter, Sampled, SolveOptions, SolveProgress, SolveSample, Split, SplitShares, What, export, export_kept,
    sample, solve_dataset,
};
pub use labelled::{LabelledError, LabelledPositions, read_labelled, read_results};
pub use store_stats::{StoreStats, shards_of, stats};
