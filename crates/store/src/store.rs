//! The store of a run: a folder that holds its games, models and match results, in which published files never change.
//!
//! ```text
//! run.json                                       what the run is
//! run.lock                                       held by the process that is running (local folders)
//! gate.lock                                      held by the process that decides on candidates (local folders)
//! games/v1/kind=selfplay/gen=g000123/<shard>.parquet
//! games/v1/kind=match/match=<id>/<shard>.parquet
//! models/<model id>/weights.safetensors, model.json        model.json last: it commits the model
//! promotions/000123.json                         the highest number is the champion
//! matches/<match id>/spec.json, notes/…, games.sgf, SHA256SUMS, result.json   result.json last
//! checkpoints/<step>/…, checkpoint.json          checkpoint.json last: it commits the checkpoint
//! costs.json                                     what the run had cost when its last checkpoint was due; replaced
//! changes/000001.json                            which shards were merged, pruned or imported, in order
//! quarantine/<shard>.json, checkpoint-<step>.json   what was wrong with a damaged shard or checkpoint
//! metrics/<utc ms>-<pid>.jsonl                   measurements of one process, one JSON line per event
//! cache/                                         unnamed scratch files; always looks empty
//! ```

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use serde_json::Value;

use crate::checkpoints::{Checked, Checkpoints};
use crate::files::{Files, Put};
use crate::games::Games;
use crate::json::{check_version, parse_json};
use crate::lock::RunLock;
use crate::match_files::Matches;
use crate::models::Models;
use crate::operations::Operations;
use crate::patience::Patience;
use crate::place::{Create, Place};
use crate::run_info::RunInfo;
use crate::seal::sealed_json;
use crate::store_error::{StoreError, damaged};

const RUN: &str = "run.json";

/// A handle to a store; clones share it. Every call blocks until it finishes and may come from any thread.
#[derive(Clone)]
pub struct Store {
    files: Files,
    games: Games,
    checked: Arc<Checked>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("location", &self.location()).finish()
    }
}

impl Store {
    /// Opens the store at a folder, a `file://` URL or, with the cargo feature `cloud`, an `s3://`, `gs://` or `az://`
    /// URL. Credentials come from the environment.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::NotAStore`] if there is no store and `create` forbids creating one;
    /// [`StoreError::Version`] if its major format version differs; [`StoreError::UnsupportedLocation`] and
    /// [`StoreError::NoCloud`] for URLs that this build does not support; [`StoreError::CannotCreate`] if the folder
    /// cannot be created; [`StoreError::Read`].
    pub fn open(location: &str, create: Create) -> Result<Store, StoreError> {
        let (place, is_new) = Place::find(location, create)?;
        let store = Store::at(place)?;
        if !is_new {
            store.check_layout(create)?;
        }
        Ok(store)
    }

    /// Wraps any object store, for tests and for programs that bring their own.
    ///
    /// # Errors
    /// [`StoreError::Read`] if the async runtime cannot be created.
    pub fn over(objects: Arc<dyn ObjectStore>, location: &str) -> Result<Store, StoreError> {
        Store::at(Place::of_objects(objects, location))
    }

    fn at(place: Place) -> Result<Store, StoreError> {
        let files = Files::at(place)?;
        let games = Games::new(files.clone());
        Ok(Store {
            files,
            games,
            checked: Arc::default(),
        })
    }

    /// A handle to the same store that waits while it is unavailable: every call is retried until it succeeds, fails
    /// permanently, or the patience runs out.
    #[must_use]
    pub fn with_patience(&self, patience: Patience) -> Store {
        self.through(self.files.with_patience(Some(patience)))
    }

    /// A handle to the same store that never waits.
    #[must_use]
    pub fn without_patience(&self) -> Store {
        self.through(self.files.with_patience(None))
    }

    /// How long calls on this handle wait; `None` if they do not.
    pub fn patience(&self) -> Option<&Patience> {
        self.files.patience()
    }

    fn through(&self, files: Files) -> Store {
        let games = self.games.through(&files);
        Store {
            files,
            games,
            checked: Arc::clone(&self.checked),
        }
    }

    /// How long patient calls on any handle to this store have been waiting for it; `None` if no call is waiting.
    pub fn waited_for(&self) -> Option<Duration> {
        self.files.waited_for()
    }

    /// Requests made through all handles to this store since it was opened.
    pub fn operations(&self) -> Operations {
        self.files.operations()
    }

    /// The folder or URL of the store, for messages.
    pub fn location(&self) -> &str {
        self.files.location()
    }

    /// The store's folder, if it is a local one.
    pub fn local_path(&self) -> Option<&Path> {
        self.files.local_path()
    }

    /// The files themselves, for those that no other part of the store covers.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The games of the store, in shards.
    pub fn games(&self) -> &Games {
        &self.games
    }

    /// The models and their promotions.
    pub fn models(&self) -> Models<'_> {
        Models(&self.files)
    }

    /// The specs, results and SGF files of matches.
    pub fn matches(&self) -> Matches<'_> {
        Matches(&self.files)
    }

    /// The trainer's checkpoints, which a run resumes from.
    pub fn checkpoints(&self) -> Checkpoints<'_> {
        Checkpoints {
            files: &self.files,
            checked: &self.checked,
        }
    }

    /// Locks the store for one run. A network drive may not support file locks; there, the only protection against two
    /// runs is that every published file is created atomically and never overwritten.
    ///
    /// # Errors
    /// [`StoreError::Locked`] naming the process that holds the lock; [`StoreError::Write`] if the lock file cannot be
    /// created; [`StoreError::UnsupportedLocation`] for a store that is not a local folder.
    pub fn lock_run(&self) -> Result<RunLock, StoreError> {
        RunLock::of_run(&self.files)
    }

    /// Locks the store for one process that decides on candidates; `None` if it is not a local folder.
    ///
    /// # Errors
    /// [`StoreError::Locked`] naming the process that holds the lock; [`StoreError::Write`] if the lock file cannot be
    /// created.
    pub fn lock_gate(&self) -> Result<Option<RunLock>, StoreError> {
        RunLock::of_gate(&self.files)
    }

    /// Writes `run.json` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn put_run_info(&self, info: &RunInfo) -> Result<Put, StoreError> {
        let put = self.files.put_new(RUN, sealed_json(info))?;
        self.files.remember_run();
        Ok(put)
    }

    /// The contents of `run.json`; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Version`] for another major version; [`StoreError::Damaged`] if it is not a valid `run.json`.
    pub fn run_info(&self) -> Result<Option<RunInfo>, StoreError> {
        let Some(bytes) = self.files.get(RUN)? else {
            return Ok(None);
        };
        let path = format!("{}/{RUN}", self.files.location());
        let value: Value = parse_json(&path, &bytes)?;
        match value.get("format_version") {
            Some(Value::String(version)) => check_version(&path, version)?,
            other => {
                let found = other.map_or("nothing".to_owned(), Value::to_string);
                return Err(damaged(path, "a format_version such as \"1.0\"".to_owned(), found));
            }
        }
        parse_json(&path, &bytes).map(Some)
    }

    fn check_layout(&self, create: Create) -> Result<(), StoreError> {
        if self.run_info()?.is_some() {
            self.files.remember_run();
        }
        let layouts = self.files.folders("games")?;
        let found = layouts.iter().find(|name| name.starts_with('v') && *name != "v1");
        if let (Some(found), false) = (found, layouts.iter().any(|name| name == "v1")) {
            let path = format!("{}/games", self.files.location());
            return Err(StoreError::Version {
                path,
                found: found[1..].to_owned(),
            });
        }
        if create == Create::Never && self.top_level()?.is_empty() {
            return Err(StoreError::NotAStore {
                location: self.files.location().to_owned(),
                found: "a folder with neither run.json nor games nor models".to_owned(),
            });
        }
        Ok(())
    }

    /// Names at the top level that only a store has.
    fn top_level(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.files.folders("")?;
        names.retain(|name| ["games", "models", "promotions", "matches", "checkpoints"].contains(&name.as_str()));
        if self.files.size_of("run.json")?.is_some() {
            names.push("run.json".to_owned());
        }
        Ok(names)
    }
}
