//! Games as data: records, Parquet shards, the run store, the training window, samples, feature planes, SGF.
//!
//! Every part of Tengen hands games on through a [`Store`]: a folder in which a file appears whole or not at all and
//! never changes afterwards. [`GameRecord`] is one game, [`encode`] and [`decode`] its file format, [`Features`] what
//! the network sees of a position.
//!
//! Deliberately absent: search, networks, printing. Async code stays inside [`Store`]. Nothing read from a file is
//! trusted before it was replayed under the rules.

mod changes;
mod checkpoints;
mod clock;
mod dataset;
mod decode;
mod encode;
mod features;
mod game_cache;
mod images;
mod import;
mod inputs;
mod lock;
mod merge;
mod models;
mod opening_tree;
mod oracle;
mod origin;
mod pages;
mod patience;
mod place;
mod policy;
mod prune;
mod random;
mod record;
mod run_files;
mod sample_config;
mod samples;
mod schema;
mod sgf;
mod shard;
mod shards;
mod spool;
mod start;
mod stats;
mod store;
mod store_error;
mod store_stats;
mod stored_game;
mod thrift;
mod training_batch;
mod verify;
mod window;

pub use changes::{GameTotals, PrunedGeneration};
pub use checkpoints::CheckpointFiles;
pub use clock::now_ms;
pub use dataset::{
    Dataset, DatasetError, DatasetFile, DatasetFilter, DatasetManifest, ExportOptions, ExportProgress, FileFormat,
    Sampled, SolveOptions, SolveProgress, Split, SplitShares, What, solve_dataset,
};
pub use decode::{ShardError, decode, decode_bytes};
pub use encode::encode;
pub use features::{
    BIT_PLANES, Features, GLOBALS, PLANE_BANNED, PLANE_LIBERTIES, PLANE_OPPONENT, PLANE_OPPONENT_AREA, PLANE_OWN,
    PLANE_OWN_AREA, PlaneSet,
};
pub use game_cache::CacheError;
pub use import::{
    Comparison, ImportReport, ImportRules, Importer, MissingTurns, Rejection, SgfSource, SourceError, find_sources,
    read_source,
};
pub use inputs::{InputBatch, canvas_index};
pub use lock::RunLock;
pub use merge::{CompactReport, CompactSettings, Gather, GatherReport};
pub use models::{ModelEntry, ModelFiles, Promotion, model_id};
pub use opening_tree::{OpeningNode, OpeningTree, Others, TreeShape};
pub use oracle::{OracleError, OracleReport, check_oracle_file};
pub use origin::Origin;
pub use patience::Patience;
pub use policy::compact_policy;
pub use prune::PrunePlan;
pub use record::{EXPLORED, EndReason, FULL_SEARCH, GameKind, GameRecord, OPENING, PlyRecord, RecordError};
pub use run_files::{MatchFile, RunInfo};
pub use sample_config::{CachePlace, SampleConfig, SymmetryMode};
pub use samples::{SampleError, SampleSource, WindowLoad};
pub use schema::{FORMAT, FormatVersion, ParseFormatVersionError};
pub use sgf::{
    SgfError, SgfGame, SgfGames, SgfNode, SgfNodeId, SgfPlace, SgfPoint, SgfProperty, SgfResult, SgfText, SgfTree,
    SgfTrees, SgfValue, parse_sgf, read_sgf, read_sgf_bytes, write_sgf, write_sgf_collection,
};
pub use shard::{ShardName, ShardNameError, sha256_hex};
pub use shards::{Collection, GamesListing, GamesOf, QuarantineNote, SealedShard, ShardInfo};
pub use spool::{Spool, SpoolReport};
pub use stats::{EntropyAtPly, GameStats, GenerationStats, KomiResults, Lengths, StatsCollector};
pub use store::{Create, Put, Store};
pub use store_error::{ShardReadError, StoreError};
pub use store_stats::StoreStats;
pub use stored_game::Sample;
pub use training_batch::TrainingBatch;
pub use verify::{Damage, VerifyReport};
pub use window::{Window, WindowConfig, WindowDamage};
