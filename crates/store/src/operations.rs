//! Counters of a process's requests to its store, shared by all handles to the same files.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use object_store::Error as ObjectError;
use serde::{Deserialize, Serialize};

/// Number of objects that a bucket returns, and charges for, in one listing request.
const LISTED_AT_ONCE: u64 = 1000;

/// Requests to a store since its handle was opened. A retried call counts once per attempt.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operations {
    /// Files read, including those that did not exist.
    pub gets: u64,
    /// Files written, including those that already existed.
    pub puts: u64,
    /// Listing requests as a bucket counts them: one for every 1,000 objects or part thereof, and at least one per
    /// listing.
    pub lists: u64,
    /// Requests for the size of a file.
    pub heads: u64,
    /// Files deleted, including those that did not exist.
    pub deletes: u64,
    /// Objects that the listings returned.
    pub listed: u64,
    /// Bytes of the files read.
    pub bytes_read: u64,
    /// Bytes of the files written.
    pub bytes_written: u64,
    /// Attempts that failed. A file that is missing or already exists is an answer, not a failure.
    pub failures: u64,
    /// Total time of all attempts in nanoseconds, without the pauses between them.
    pub nanoseconds: u64,
}

impl Operations {
    /// Number of requests of all kinds.
    pub fn requests(&self) -> u64 {
        self.gets + self.puts + self.lists + self.heads + self.deletes
    }

    /// Mean time of a request in seconds; 0 if there were none.
    pub fn mean_seconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e9 / self.requests().max(1) as f64
    }

    /// The sum of the counts of two stores.
    #[must_use]
    pub fn plus(self, other: Operations) -> Operations {
        Operations {
            gets: self.gets + other.gets,
            puts: self.puts + other.puts,
            lists: self.lists + other.lists,
            heads: self.heads + other.heads,
            deletes: self.deletes + other.deletes,
            listed: self.listed + other.listed,
            bytes_read: self.bytes_read + other.bytes_read,
            bytes_written: self.bytes_written + other.bytes_written,
            failures: self.failures + other.failures,
            nanoseconds: self.nanoseconds + other.nanoseconds,
        }
    }

    /// Requests since `before`, an earlier reading of the same counters.
    #[must_use]
    pub fn since(self, before: Operations) -> Operations {
        Operations {
            gets: self.gets.saturating_sub(before.gets),
            puts: self.puts.saturating_sub(before.puts),
            lists: self.lists.saturating_sub(before.lists),
            heads: self.heads.saturating_sub(before.heads),
            deletes: self.deletes.saturating_sub(before.deletes),
            listed: self.listed.saturating_sub(before.listed),
            bytes_read: self.bytes_read.saturating_sub(before.bytes_read),
            bytes_written: self.bytes_written.saturating_sub(before.bytes_written),
            failures: self.failures.saturating_sub(before.failures),
            nanoseconds: self.nanoseconds.saturating_sub(before.nanoseconds),
        }
    }
}

/// A kind of call to a store.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Get,
    Put,
    List,
    Head,
    Delete,
}

/// The running counts. Each is exact, but a reading during a call may include only part of it.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Requests by [`Kind`].
    requests: [AtomicU64; 5],
    listed: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    failures: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Counters {
    /// Counts one attempt that began at `began`. `size` is what a success moved: the number of objects of a listing,
    /// otherwise bytes.
    pub(crate) fn count<T>(
        &self,
        kind: Kind,
        began: Instant,
        done: &Result<T, ObjectError>,
        size: impl FnOnce(&T) -> u64,
    ) {
        let add = |counter: &AtomicU64, count: u64| counter.fetch_add(count, Ordering::Relaxed);
        let size = done.as_ref().map_or(0, size);
        let requests = match kind {
            Kind::List => size.div_ceil(LISTED_AT_ONCE).max(1),
            _ => 1,
        };
        add(&self.requests[kind as usize], requests);
        add(&self.nanoseconds, began.elapsed().as_nanos() as u64);
        match done {
            Ok(_) => match kind {
                Kind::Get => add(&self.bytes_read, size),
                Kind::Put => add(&self.bytes_written, size),
                Kind::List => add(&self.listed, size),
                Kind::Head | Kind::Delete => 0,
            },
            Err(ObjectError::NotFound { .. } | ObjectError::AlreadyExists { .. }) => 0,
            Err(_) => add(&self.failures, 1),
        };
    }

    pub(crate) fn read(&self) -> Operations {
        let of = |kind: Kind| self.requests[kind as usize].load(Ordering::Relaxed);
        Operations {
            gets: of(Kind::Get),
            puts: of(Kind::Put),
            lists: of(Kind::List),
            heads: of(Kind::Head),
            deletes: of(Kind::Delete),
            listed: self.listed.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            nanoseconds: self.nanoseconds.load(Ordering::Relaxed),
        }
    }
}
