//! Games as frozen datasets for other tools: Parquet, Arrow, NumPy arrays, SGF.
//!
//! A dataset is a folder `v1` with parts of rows, a README that explains every column, and MANIFEST.json. Rows are
//! built in memory column by column ([`table`]), from one list of described columns for each kind of row
//! ([`positions`], [`games`], [`solved_rows`]), and written by [`writer`] into a draft that appears all at once at the
//! end ([`draft`]).

mod arrow_file;
mod arrow_rows;
mod choose;
mod column;
mod complete;
mod distinct;
mod draft;
mod error;
mod export;
mod filter;
mod games;
mod held;
mod journal;
mod kept;
mod manifest;
mod npz_file;
mod options;
mod parquet_file;
mod plies;
mod positions;
mod readme;
mod sample;
mod scan;
mod shared;
mod solved;
mod solved_rows;
mod solved_sample;
mod source;
mod table;
mod writer;

pub use error::DatasetError;
pub use export::{Dataset, export};
pub use filter::{DatasetFilter, Split, SplitShares};
pub use kept::export_kept;
pub use manifest::DatasetManifest;
pub use options::{ExportOptions, What};
pub use plies::PositionFilter;
pub use sample::{Sampled, sample};
pub use scan::ExportProgress;
pub use solved::{SolveOptions, SolveProgress, solve_dataset};
pub use solved_sample::SolveSample;
pub use writer::{DatasetFile, FileFormat};
