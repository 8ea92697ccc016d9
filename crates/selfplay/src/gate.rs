//! How self-play is kept from running away from the trainer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A bound on the positions that self-play may have made; workers sleep while it is met.
///
/// The trainer moves it on: positions it has used, plus the lead that self-play may have.
#[derive(Debug)]
pub struct Gate {
    limit: AtomicU64,
    lock: Mutex<()>,
    moved: Condvar,
}

impl Gate {
    /// A gate without a bound.
    pub fn open() -> Self {
        Self::until(u64::MAX)
    }

    /// A gate that lets workers play while [`CounterValues::positions`](crate::CounterValues::positions) is below this.
    pub fn until(positions: u64) -> Self {
        Self {
            limit: AtomicU64::new(positions),
            lock: Mutex::new(()),
            moved: Condvar::new(),
        }
    }

    /// Sets the bound: 0 stops all workers at their next step, `u64::MAX` removes the bound.
    pub fn allow_until(&self, positions: u64) {
        let guard = self.guard();
        self.limit.store(positions, Ordering::Release);
        drop(guard);
        self.moved.notify_all();
    }

    /// The bound.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Acquire)
    }

    /// Wakes all who wait, so that they look at their stop sign.
    pub(crate) fn wake(&self) {
        drop(self.guard());
        self.moved.notify_all();
    }

    /// Returns once `positions` are below the bound or `stop` holds.
    pub(crate) fn pass(&self, positions: impl Fn() -> u64, stop: impl Fn() -> bool) {
        if positions() < self.limit() {
            return;
        }
        let mut guard = self.guard();
        while positions() >= self.limit() && !stop() {
            let waited = self.moved.wait_timeout(guard, Duration::from_millis(200));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn guard(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::open()
    }
}
