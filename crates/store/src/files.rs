//! Files that appear atomically and never change, in a folder or an object store: put, get, list, and retries.

use std::future::Future;
use std::path::Path as FsPath;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    Error as ObjectError, ListResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};
use tokio::runtime::{Builder, Runtime};

use tengen_shard::is_plain_name;

use crate::operations::{Counters, Kind, Operations};
use crate::patience::{Patience, WaitingCalls, is_full, may_pass};
use crate::place::Place;
use crate::store_error::{StoreError, read_error, write_error};

/// The outcome of writing a file only if it does not exist yet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// This call created the file.
    Created,
    /// A file with that name already existed; it is unchanged.
    Exists,
}

/// A handle to the files of a store; clones share it. Every call blocks until it finishes and may come from any thread.
#[derive(Clone)]
pub struct Files {
    inner: Arc<Inner>,
    /// How long this handle waits while the store is unavailable; `None` means it does not wait.
    patience: Option<Patience>,
}

struct Inner {
    place: Place,
    runtime: Runtime,
    /// Whether the folder is known to hold `run.json`. If that file is missing later, the folder is a different one,
    /// such as the empty mount point of an unmounted disk.
    is_run: AtomicBool,
    /// Patient calls that are currently waiting for this store.
    waiting: WaitingCalls,
    /// Requests made through all handles.
    counters: Counters,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("location", &self.location()).finish()
    }
}

impl Files {
    pub(crate) fn at(place: Place) -> Result<Files, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| read_error(&place.location, &error))?;
        Ok(Files {
            inner: Arc::new(Inner {
                place,
                runtime,
                is_run: AtomicBool::new(false),
                waiting: WaitingCalls::default(),
                counters: Counters::default(),
            }),
            patience: None,
        })
    }

    /// A handle to the same files with other patience; `None` never waits.
    #[must_use]
    pub(crate) fn with_patience(&self, patience: Option<Patience>) -> Files {
        Files {
            inner: Arc::clone(&self.inner),
            patience,
        }
    }

    /// How long calls on this handle wait.
    pub(crate) fn patience(&self) -> Option<&Patience> {
        self.patience.as_ref()
    }

    /// How long patient calls on any handle to these files have been waiting; `None` if no call is waiting.
    pub(crate) fn waited_for(&self) -> Option<Duration> {
        self.inner.waiting.longest()
    }

    /// Requests made through all handles to these files so far.
    pub(crate) fn operations(&self) -> Operations {
        self.inner.counters.read()
    }

    /// The folder or URL of the store, for messages.
    pub fn location(&self) -> &str {
        &self.inner.place.location
    }

    /// The store's folder, if it is a local one.
    pub fn local_path(&self) -> Option<&FsPath> {
        self.inner.place.folder.as_deref()
    }

    /// Writes a new file atomically; the file is durable when the call returns. An existing file is left alone.
    ///
    /// # Errors
    /// [`StoreError::Write`] if the store fails (read-only, full, unavailable). A partial file never appears.
    pub fn put_new(&self, path: &str, bytes: impl Into<Bytes>) -> Result<Put, StoreError> {
        let target = object_path(path)?;
        let options = PutOptions {
            mode: PutMode::Create,
            ..PutOptions::default()
        };
        let bytes = bytes.into();
        let mut tries = 0;
        let call = || {
            tries += 1;
            let payload = PutPayload::from_bytes(bytes.clone());
            self.objects().put_opts(&target, payload, options.clone())
        };
        let put = self.attempt(Kind::Put, |_| bytes.len() as u64, call);
        match put {
            Ok(_) => Ok(Put::Created),
            // An earlier attempt that seemed to fail may still have written the file.
            Err(ObjectError::AlreadyExists { .. })
                if tries > 1 && self.get(path)?.is_some_and(|found| found == bytes) =>
            {
                Ok(Put::Created)
            }
            Err(ObjectError::AlreadyExists { .. }) => Ok(Put::Exists),
            Err(error) => Err(write_error(path, &error)),
        }
    }

    /// [`Files::put_new`] for a file that may already exist, provided it has the same bytes.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if the existing file has different bytes; [`StoreError::Write`], [`StoreError::Read`].
    pub fn put_same(&self, path: &str, bytes: impl Into<Bytes>) -> Result<Put, StoreError> {
        let bytes = bytes.into();
        let put = self.put_new(path, bytes.clone())?;
        if put == Put::Exists && self.get(path)?.is_none_or(|found| found != bytes) {
            return Err(StoreError::Taken { path: path.to_owned() });
        }
        Ok(put)
    }

    /// Writes a file atomically, replacing an existing one: a reader gets all of the old bytes or all of the new ones.
    /// Only for status files that may be out of date when read, such as the trainer's progress. What is published never
    /// changes: see [`Files::put_new`].
    ///
    /// # Errors
    /// [`StoreError::Write`] if the store fails; the old file may then still be there. A partial file never appears.
    pub fn replace(&self, path: &str, bytes: impl Into<Bytes>) -> Result<(), StoreError> {
        let target = object_path(path)?;
        let bytes = bytes.into();
        let call = || {
            let payload = PutPayload::from_bytes(bytes.clone());
            self.objects().put_opts(&target, payload, PutOptions::default())
        };
        let put = self.attempt(Kind::Put, |_| bytes.len() as u64, call);
        put.map(drop).map_err(|error| write_error(path, &error))
    }

    /// The bytes of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn get(&self, path: &str) -> Result<Option<Bytes>, StoreError> {
        let target = object_path(path)?;
        let read = || async { self.objects().get(&target).await?.bytes().await };
        match self.attempt(Kind::Get, |bytes: &Bytes| bytes.len() as u64, read) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ObjectError::NotFound { .. }) => Ok(None),
            Err(error) => Err(read_error(path, &error)),
        }
    }

    /// The bytes of a file that must exist.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Read`].
    pub fn require(&self, path: &str) -> Result<Bytes, StoreError> {
        self.get(path)?.ok_or_else(|| self.not_found(path))
    }

    pub(crate) fn not_found(&self, path: &str) -> StoreError {
        StoreError::NotFound {
            path: path.to_owned(),
            location: self.location().to_owned(),
        }
    }

    /// Size of a file in bytes; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn size_of(&self, path: &str) -> Result<Option<u64>, StoreError> {
        let target = object_path(path)?;
        match self.attempt(Kind::Head, |_| 0, || self.objects().head(&target)) {
            Ok(found) => Ok(Some(found.size)),
            Err(ObjectError::NotFound { .. }) => Ok(None),
            Err(error) => Err(read_error(path, &error)),
        }
    }

    /// All files under a folder with their sizes in bytes, sorted by path. Unfinished writes are not included.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let found = self.list_objects(folder)?.into_iter();
        let mut files: Vec<_> = found.map(|meta| (meta.location.to_string(), meta.size)).collect();
        files.sort();
        Ok(files)
    }

    /// [`Files::list`] with the time at which each file was last written, in milliseconds since 1970-01-01 UTC by the
    /// store's own clock: that of the bucket, or of the machine with the folder.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn modified(&self, folder: &str) -> Result<Vec<(String, u64, u64)>, StoreError> {
        let time = |meta: &ObjectMeta| meta.last_modified.timestamp_millis().max(0) as u64;
        let found = self.list_objects(folder)?.into_iter();
        let mut files: Vec<_> = found
            .map(|meta| (meta.location.to_string(), meta.size, time(&meta)))
            .collect();
        files.sort();
        Ok(files)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ObjectMeta>, StoreError> {
        let prefix = object_path(folder)?;
        let count = |found: &Vec<ObjectMeta>| found.len() as u64;
        self.attempt(Kind::List, count, || collect(self.objects().list(Some(&prefix))))
            .map_err(|error| read_error(folder, &error))
    }

    /// Names of the folders directly inside a folder, sorted.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn folders(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let prefix = object_path(folder)?;
        let count = |listing: &ListResult| (listing.common_prefixes.len() + listing.objects.len()) as u64;
        let list = || self.objects().list_with_delimiter(Some(&prefix));
        let listing = self.attempt(Kind::List, count, list);
        let listing = listing.map_err(|error| read_error(folder, &error))?;
        let mut names: Vec<_> = listing
            .common_prefixes
            .iter()
            .filter_map(|path| path.filename().map(str::to_owned))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Deletes a file that was not published for good, such as an old checkpoint or old metrics. Deleting a missing
    /// file is not an error.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn delete(&self, path: &str) -> Result<(), StoreError> {
        let target = object_path(path)?;
        match self.attempt(Kind::Delete, |_| 0, || self.objects().delete(&target)) {
            Ok(()) | Err(ObjectError::NotFound { .. }) => Ok(()),
            Err(error) => Err(write_error(path, &error)),
        }
    }

    /// Moves a damaged file out of the way, so that a new one can take its place: its name then ends in `.damaged`.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn set_aside(&self, path: &str) -> Result<(), StoreError> {
        let (from, to) = (object_path(path)?, object_path(&format!("{path}.damaged"))?);
        match self.attempt(Kind::Put, |()| 0, || self.objects().rename(&from, &to)) {
            // An earlier attempt that seemed to fail may have moved it.
            Ok(()) | Err(ObjectError::NotFound { .. }) => Ok(()),
            Err(error) => Err(write_error(path, &error)),
        }
    }

    /// Writes something outside the store that shares its disk, such as a scratch file. While the disk is full, retries
    /// like a call to the store.
    ///
    /// # Errors
    /// The last error of `write`.
    pub fn wait_for_space<T>(&self, mut write: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
        match &self.patience {
            Some(patience) => patience.attempt(&self.inner.waiting, is_full, write),
            None => write(),
        }
    }

    fn objects(&self) -> &dyn ObjectStore {
        self.inner.place.objects.as_ref()
    }

    /// Runs one object store call on the store's own runtime, retrying it while the store is unavailable if this handle
    /// is patient. Counts every attempt; `size` is that of a result, see [`Counters::count`].
    fn attempt<T, F>(&self, kind: Kind, size: impl Fn(&T) -> u64, mut call: impl FnMut() -> F) -> Result<T, ObjectError>
    where
        F: Future<Output = Result<T, ObjectError>>,
    {
        let mut present = || {
            self.check_presence()?;
            let done = self.inner.runtime.block_on(call());
            // A folder that disappeared looks like an empty one.
            self.check_presence()?;
            done
        };
        let mut once = || {
            let began = Instant::now();
            let done = present();
            self.inner.counters.count(kind, began, &done, &size);
            done
        };
        match &self.patience {
            Some(patience) => patience.attempt(&self.inner.waiting, |error| may_pass(error), once),
            None => once(),
        }
    }

    /// Checks that the folder is still the one that was opened.
    fn check_presence(&self) -> Result<(), ObjectError> {
        if !self.inner.is_run.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.inner.place.check_presence("run.json")
    }

    /// Remembers that the store holds `run.json`.
    pub(crate) fn remember_run(&self) {
        self.inner.is_run.store(true, Ordering::Relaxed);
    }
}

/// Checks a name that becomes part of a path.
pub fn check_name(what: &'static str, name: &str) -> Result<(), StoreError> {
    if is_plain_name(name) {
        Ok(())
    } else {
        Err(StoreError::BadName {
            what,
            name: name.to_owned(),
        })
    }
}

/// Collects a listing by hand to avoid a dependency on a stream library.
async fn collect<S>(mut listing: S) -> Result<Vec<ObjectMeta>, ObjectError>
where
    S: futures_core::Stream<Item = Result<ObjectMeta, ObjectError>> + Unpin,
{
    let mut found = Vec::new();
    while let Some(item) = std::future::poll_fn(|context| std::pin::Pin::new(&mut listing).poll_next(context)).await {
        found.push(item?);
    }
    Ok(found)
}

fn object_path(path: &str) -> Result<Path, StoreError> {
    Path::parse(path).map_err(|_| StoreError::BadName {
        what: "path",
        name: path.to_owned(),
    })
}
