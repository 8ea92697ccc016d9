//! Where do finished games wait while the store is away? As whole shards in a local folder, published in order later.

use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::changes::GameTotals;
use crate::models::parse_json;
use crate::shard::sha256_hex;
use crate::shards::{GamesOf, SealedShard, ShardInfo};
use crate::store::{Create, Put, Store};
use crate::store_error::StoreError;

/// Says for which store a spool is.
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

/// What publishing from a spool did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolReport {
    /// Shards that are in the store now and not in the spool any more, in order.
    pub published: Vec<ShardInfo>,
    /// Files that stay in the spool because they are damaged: path and reason.
    pub damaged: Vec<(String, String)>,
}

impl Spool {
    /// Opens the spool for `store` in a folder, making it if need be. It takes at most `max_bytes` bytes of shards.
    ///
    /// # Errors
    /// [`StoreError::Taken`] when the folder is the spool of another store; [`StoreError::Write`].
    pub fn open(folder: &Path, store: &Store, max_bytes: u64) -> Result<Spool, StoreError> {
        let location = folder.display().to_string();
        let spool = Spool {
            folder: Store::open(&location, Create::Always)?,
            max_bytes,
        };
        let owner = Owner {
            store: store.location().to_owned(),
        };
        let text = serde_json::to_vec_pretty(&owner).expect("a text is JSON");
        if spool.folder.put_new(OWNER, text)? == Put::Exists {
            let found: Owner = parse_json(OWNER, &spool.folder.require(OWNER)?)?;
            if found != owner {
                return Err(StoreError::Damaged {
                    path: format!("{location}/{OWNER}"),
                    expected: format!("the spool of {}", owner.store),
                    found: format!("that of {}; name another folder", found.store),
                });
            }
        }
        Ok(spool)
    }

    /// The shards that wait, in the order they were made.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn waiting(&self) -> Result<Vec<ShardInfo>, StoreError> {
        let mut shards = self.folder.list_all_shards(&GamesOf::All)?;
        shards.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
        Ok(shards)
    }

    /// Takes a shard, durable when the call returns. False when it would be more than the spool may hold.
    ///
    /// # Errors
    /// [`StoreError::Write`] when the local disk refuses too.
    pub fn take(&self, shard: &SealedShard) -> Result<bool, StoreError> {
        if GameTotals::of(&self.waiting()?).bytes + shard.info.bytes > self.max_bytes {
            return Ok(false);
        }
        self.folder.put_same(&shard.info.path, shard.bytes.clone())?;
        Ok(true)
    }

    /// Publishes what waits, in order, and removes it from the spool. A shard that is in the store already, because an
    /// earlier try seemed to fail and did not, is only removed.
    ///
    /// # Errors
    /// [`StoreError`] at the first shard that the store does not take; those before it are published.
    pub fn publish(&self, store: &Store) -> (SpoolReport, Result<(), StoreError>) {
        let mut report = SpoolReport::default();
        let result = self.publish_into(store, &mut report);
        (report, result)
    }

    fn publish_into(&self, store: &Store, report: &mut SpoolReport) -> Result<(), StoreError> {
        for info in self.waiting()? {
            // Another process that shares the spool may have been faster.
            let Some(bytes) = self.folder.get(&info.path)? else {
                continue;
            };
            if let Err(reason) = check(&info, &bytes) {
                report.damaged.push((info.path, reason));
                continue;
            }
            let shard = SealedShard { info, bytes };
            store.publish(&shard)?;
            self.folder.delete(&shard.info.path)?;
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
        "expected a SHA-256 that begins with {}, found {hash}",
        info.name.hash16
    ))
}
