//! Datasets: games and positions exported for other programs, games of other people imported, statistics over stores,
//! tiny boards solved, and positions with known answers read back.
//!
//! Never here: search, networks, printing.

mod dataset;
mod import;
mod labelled;
mod store_stats;

pub use dataset::{
    Dataset, DatasetError, DatasetFile, DatasetFilter, DatasetManifest, ExportOptions, ExportProgress, FileFormat,
    Sampled, SolveOptions, SolveProgress, SolveSample, Split, SplitShares, What, export, export_kept, sample,
    solve_dataset,
};
pub use import::{
    ImportReport, ImportRules, Importer, MAX_REJECTIONS, MissingTurns, Rejection, SgfSource, SourceError, find_sources,
    legal_games, read_source,
};
pub use labelled::{LabelledError, LabelledPositions, read_labelled};
pub use store_stats::{StoreStats, shards_of, stats};
