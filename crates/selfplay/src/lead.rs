//! Keeps self-play from running too far ahead of the trainer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A limit on the number of self-play positions; workers sleep while it is reached.
///
/// The trainer raises it: the limit is the number of positions used for training plus the lead that self-play may have.
#[derive(Debug)]
pub struct Lead {
    limit: AtomicU64,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Lead {
    /// A lead without a limit.
    pub fn unlimited() -> Self {
        Self::with_limit(u64::MAX)
    }

    /// A lead that lets workers play while [`CounterValues::positions`](crate::CounterValues::positions) is below this.
    pub fn with_limit(positions: u64) -> Self {
        Self {
            limit: AtomicU64::new(positions),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// Sets the limit: 0 pauses all workers before their next step, `u64::MAX` removes the limit.
    pub fn set_limit(&self, positions: u64) {
        let guard = self.guard();
        self.limit.store(positions, Ordering::Release);
        drop(guard);
        self.changed.notify_all();
    }

    /// The limit, in positions since the start.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Acquire)
    }

    /// Wakes all waiting workers, so that they check whether to stop.
    pub(crate) fn wake(&self) {
        drop(self.guard());
        self.changed.notify_all();
    }

    /// Waits until `positions` is below the limit or `stop` is true.
    pub(crate) fn wait(&self, positions: impl Fn() -> u64, stop: impl Fn() -> bool) {
        if positions() < self.limit() {
            return;
        }
        let mut guard = self.guard();
        while positions() >= self.limit() && !stop() {
            let waited = self.changed.wait_timeout(guard, Duration::from_millis(200));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn guard(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Lead {
    fn default() -> Self {
        Self::unlimited()
    }
}
