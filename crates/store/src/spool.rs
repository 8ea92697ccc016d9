//! The spool: a local folder where finished shards wait while the store is unavailable, to be published in order later.

use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use tengen_model::sha256_hex;

use crate::changes::GameTotals;
use crate::files::Put;
use crate::json::parse_json;
use crate::place::Create;
use crate::shard_info::{GamesOf, SealedShard, ShardInfo};
use crate::store::Store;
use crate::store_error::StoreError;

/// Names the store that a spool belongs to.
const OWNER: &str = "spool.json";

#[derive(Serialize, Deserialize, PartialEq)]
struct Owner {
    store: String,
}

/// A local folder of shards that wait for one store. Several processes may share it.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: Store,
    max_bytes: u64,
}

/// The store that the spool in a folder belongs to, and the totals of the shards waiting in it; `None` if the folder is
/// not a spool.
pub(crate) fn waiting_in(folder: &Path) -> Option<(String, GameTotals)> {
    let owner: Owner = serde_json::from_slice(&std::fs::read(folder.join(OWNER)).ok()?).ok()?;
    let spool = Store::open(&folder.display().to_string(), Create::Always).ok()?;
    let shards = spool.games().list_all(&GamesOf::All).ok()?;
    Some((owner.store, GameTotals::of(&shards)))
}

/// The result of publishing from a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolReport {
    /// Shards that moved from the spool to the store, in order.
    pub published: Vec<ShardInfo>,
    /// Damaged files: path and reason. They stay in the spool's folder, under a name that ends in `.damaged`.
    pub damaged: Vec<(String, String)>,
}

impl Spool {
    /// Opens the spool of `store` in a folder, creating it if needed. It accepts at most `max_bytes` bytes of shards.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the folder is the spool of another store; [`StoreError::Read`],
    /// [`StoreError::Write`].
    pub fn open(folder: &Path, store: &Store, max_bytes: u64) -> Result<Spool, StoreError> {
        let location = folder.display().to_string();
        let spool = Spool {
            folder: Store::open(&location, Create::Always)?,
            max_bytes,
        };
        let owner = Owner {
            store: store.location().to_owned(),
        };
        let text = serde_json::to_vec_pretty(&owner).expect("a string serializes to JSON");
        if spool.folder.files().put_new(OWNER, text)? == Put::Exists {
            let found: Owner = parse_json(OWNER, &spool.folder.files().require(OWNER)?)?;
            if found != owner {
                return Err(StoreError::Damaged {
                    path: format!("{location}/{OWNER}"),
                    expected: format!("the spool of {}", owner.store),
                    found: format!("the spool of {}; choose another folder", found.store),
                });
            }
        }
        Ok(spool)
    }

    /// The waiting shards, in the order they were created.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn waiting(&self) -> Result<Vec<ShardInfo>, StoreError> {
        let mut shards = self.folder.games().list_all(&GamesOf::All)?;
        shards.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
        Ok(shards)
    }

    /// Stores a shard, durably when the call returns. Returns false if it would exceed the spool's size limit.
    ///
    /// # Errors
    /// [`StoreError::Write`] if the local disk fails too.
    pub fn take(&self, shard: &SealedShard) -> Result<bool, StoreError> {
        if GameTotals::of(&self.waiting()?).bytes + shard.info.bytes > self.max_bytes {
            return Ok(false);
        }
        self.folder.files().put_same(&shard.info.path, shard.bytes.clone())?;
        Ok(true)
    }

    /// Publishes the waiting shards in order and removes them from the spool. A shard that is already in the store,
    /// because an earlier attempt only seemed to fail, is just removed. A damaged one is reported once and no longer
    /// waits.
    ///
    /// # Errors
    /// [`StoreError`] at the first shard that cannot be published; the earlier ones are published.
    pub fn publish(&self, store: &Store) -> (SpoolReport, Result<(), StoreError>) {
        let mut report = SpoolReport::default();
        let result = self.publish_into(store, &mut report);
        (report, result)
    }

    fn publish_into(&self, store: &Store, report: &mut SpoolReport) -> Result<(), StoreError> {
        for info in self.waiting()? {
            // Another process that shares the spool may have published it already.
            let Some(bytes) = self.folder.files().get(&info.path)? else {
                continue;
            };
            if let Err(mut reason) = check(&info, &bytes) {
                if let Err(error) = self.folder.files().set_aside(&info.path) {
                    reason = format!("{reason} (could not rename it: {error})");
                }
                report.damaged.push((info.path, reason));
                continue;
            }
            let shard = SealedShard { info, bytes };
            store.games().publish(&shard)?;
            self.folder.files().delete(&shard.info.path)?;
            report.published.push(shard.info);
        }
        Ok(())
    }
}

fn check(info: &ShardInfo, bytes: &Bytes) -> Result<(), String> {
    let hash = sha256_hex(bytes);
    if hash.starts_with(&info.name.hash16) {
        return Ok(());
    }
    Err(format!(
        "expected a SHA-256 that starts with {}, found {hash}",
        info.name.hash16
    ))
}
