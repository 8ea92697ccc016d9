//! The run store: Parquet shards of games, models, promotions, matches, checkpoints, and what keeps them whole.
//!
//! Every part of Tengen hands games on through a [`Store`]: a folder or a bucket in which a file appears whole or not at
//! all and never changes afterwards. [`encode`] and [`decode`] are the file format of games.
//!
//! Deliberately absent: search, networks, printing. Async code stays inside [`Store`]. Nothing read from a file is
//! trusted before it was replayed under the rules.

mod admission;
mod changes;
mod checkpoints;
mod dataset_check;
mod decode;
mod encode;
mod lock;
mod merge;
mod models;
mod pages;
mod patience;
mod place;
mod prune;
mod run_files;
mod schema;
mod scratch;
mod shard;
mod shards;
mod spool;
mod start;
mod store;
mod store_error;
mod thrift;
mod verify;

pub use admission::Admission;
pub use changes::{GameTotals, PrunedGeneration};
pub use checkpoints::CheckpointFiles;
pub use dataset_check::DATASET_MANIFEST;
pub use decode::{ShardError, decode, decode_bytes};
pub use encode::encode;
pub use lock::RunLock;
pub use merge::{CompactReport, CompactSettings, Gather, GatherReport};
pub use models::{ModelEntry, ModelFiles, Promotion, model_id};
pub use patience::Patience;
pub use prune::PrunePlan;
pub use run_files::{MatchFile, RunInfo};
pub use schema::{FORMAT, FormatVersion, ParseFormatVersionError, item_field};
pub use scratch::scratch_folder;
pub use shard::{ShardName, ShardNameError, sha256_hex};
pub use shards::{Collection, GamesListing, GamesOf, QuarantineNote, SealedShard, ShardInfo, check_name};
pub use spool::{Spool, SpoolReport};
pub use store::{Create, Put, Store};
pub use store_error::{ShardReadError, StoreError};
pub use verify::{Damage, VerifyReport};
