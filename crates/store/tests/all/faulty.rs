//! An in-memory store whose calls fail on request.

#![allow(dead_code, reason = "each test binary uses only a part")]

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use tengen_store::Store;

type BoxStream<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// How a store fails.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Number of calls that still succeed before the failures start.
    good: AtomicU64,
    /// Number of calls that fail after that.
    pub(crate) bad: AtomicU64,
    /// Whether writes take effect before they are reported as failed.
    after_writing: AtomicBool,
}

impl Faults {
    /// Lets `good` calls succeed and the following `bad` calls fail.
    pub(crate) fn plan(&self, good: u64, bad: u64, after_writing: bool) {
        self.good.store(good, Ordering::SeqCst);
        self.bad.store(bad, Ordering::SeqCst);
        self.after_writing.store(after_writing, Ordering::SeqCst);
    }

    /// Makes every call succeed again; returns whether any call has failed since the plan was made.
    pub(crate) fn heal(&self, planned: u64) -> bool {
        let struck = self.bad.load(Ordering::SeqCst) < planned;
        self.plan(0, 0, false);
        struck
    }

    /// Whether this call fails.
    fn strike(&self) -> bool {
        let take = |counter: &AtomicU64| {
            counter
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .is_ok()
        };
        !take(&self.good) && take(&self.bad)
    }
}

fn fault() -> Error {
    Error::Generic {
        store: "faulty",
        source: "the connection was lost".into(),
    }
}

/// In-memory objects with injected faults.
#[derive(Debug)]
struct Faulty {
    objects: Arc<InMemory>,
    faults: Arc<Faults>,
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        if !self.faults.strike() {
            return self.objects.put_opts(location, payload, options).await;
        }
        if self.faults.after_writing.load(Ordering::SeqCst) {
            self.objects.put_opts(location, payload, options).await?;
        }
        Err(fault())
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(fault())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if self.faults.strike() {
            return Err(fault());
        }
        self.objects.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.objects.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<Result<Path>>) -> BoxStream<Result<Path>> {
        let locations: BoxStream<Result<Path>> = if self.faults.strike() {
            Box::pin(Once(Some(Err(fault()))))
        } else {
            locations
        };
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<Result<ObjectMeta>> {
        if self.faults.strike() {
            return Box::pin(Once(Some(Err(fault()))));
        }
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        if self.faults.strike() {
            return Err(fault());
        }
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(fault())
    }
}

/// A stream of one item.
struct Once<T>(Option<T>);

impl<T: Unpin> Stream for Once<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Option<T>> {
        std::task::Poll::Ready(self.0.take())
    }
}

/// An empty store and its faults.
pub(crate) fn faulty_store() -> (Store, Arc<Faults>) {
    faulty_handle(&Arc::default())
}

/// A store over shared objects, and the faults of this handle.
pub(crate) fn faulty_handle(objects: &Arc<InMemory>) -> (Store, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let objects = Faulty {
        objects: Arc::clone(objects),
        faults: Arc::clone(&faults),
    };
    (Store::over(Arc::new(objects), "memory").unwrap(), faults)
}
