//! The run store: Parquet shards of games, models, promotions, matches, checkpoints, and the checks that keep them
//! intact.
//!
//! Every part of Tengen passes games on through a [`Store`]: a folder or a bucket in which a file appears as a whole or
//! not at all and never changes afterwards. [`encode`] and [`decode`] implement the file format of games.
//!
//! Deliberately absent: search, networks, printing. Async code stays inside [`Store`]. No game read from a file is
//! trusted until it has been replayed under the rules.

mod admission;
mod change_log;
mod changes;
mod checkpoints;
mod dataset_check;
mod files;
mod games;
mod json;
mod leftovers;
mod lock;
mod match_files;
mod merge;
mod models;
mod operations;
mod patience;
mod place;
mod prune;
mod prune_models;
mod run_info;
mod scratch;
mod seal;
mod shard_check;
mod shard_info;
mod spool;
mod store;
mod store_error;
mod verify;
mod verify_documents;

pub use admission::Admission;
pub use changes::{GameTotals, PrunedGeneration};
pub use checkpoints::{CheckpointFiles, Checkpoints, PrunedCheckpoints, Recovered};
pub use dataset_check::DATASET_MANIFEST;
pub use files::{Files, Put, check_name};
pub use games::{Games, GamesListing, QuarantineNote};
pub use lock::RunLock;
pub use match_files::{MatchFile, Matches};
pub use merge::{CompactReport, CompactSettings, Gather, GatherReport};
pub use models::{Models, Promotion};
pub use operations::Operations;
pub use patience::Patience;
pub use place::Create;
pub use prune::PrunePlan;
pub use run_info::RunInfo;
pub use scratch::{Orphan, orphaned_scratch_folders, scratch_folder};
pub use seal::{seal, sealed_json, unseal};
pub use shard_info::{Collection, GamesOf, SealedShard, ShardInfo};
pub use spool::{Spool, SpoolReport};
pub use store::Store;
pub use store_error::{ShardReadError, StoreError};
pub use tengen_model::sha256_hex;
pub use tengen_shard::{
    FORMAT, FormatVersion, ParseFormatVersionError, ShardError, ShardName, ShardNameError, decode, decode_bytes,
    encode, item_field,
};
pub use verify::{Damage, Uncounted, VerifyReport};
pub use verify_documents::has_known_keys;
