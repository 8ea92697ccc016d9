//! Datasets: games and positions exported for other programs, games of other people imported, statistics over stores,
//! tiny boards solved.
//!
//! Never here: search, networks, printing.

mod dataset;
mod import;
mod store_stats;

pub use dataset::{
    Dataset, DatasetError, DatasetFile, DatasetFilter, DatasetManifest, ExportOptions, ExportProgress, FileFormat,
    Sampled, SolveOptions, SolveProgress, Split, SplitShares, What, export, export_kept, sample, solve_dataset,
};
pub use import::{
    ImportReport, ImportRules, Importer, MAX_REJECTIONS, MissingTurns, Rejection, SgfSource, SourceError, find_sources,
    read_source,
};
pub use store_stats::{StoreStats, shards_of, stats};
