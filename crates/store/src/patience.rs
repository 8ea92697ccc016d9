//! Retries for calls while a store is unavailable: with growing pauses, up to a limit, and interruptible.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use object_store::Error as ObjectError;

/// Pause after the first failure; it doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long a call waits for an unavailable store.
#[derive(Clone, Debug)]
pub struct Patience {
    /// The longest time a call keeps retrying.
    pub limit: Duration,
    /// Setting this makes every waiting call give up.
    pub give_up: Arc<AtomicBool>,
}

impl Patience {
    /// Retries until the call succeeds, fails permanently, or the patience runs out, in which case it returns the last
    /// failure. The call counts as waiting from its first failure on.
    pub(crate) fn attempt<T, E>(
        &self,
        calls: &WaitingCalls,
        passes: impl Fn(&E) -> bool,
        mut once: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut waits = None;
        loop {
            match once() {
                Err(error) if passes(&error) && began.elapsed() + pause < self.limit => {
                    waits.get_or_insert_with(|| calls.enter());
                    if !self.sleep(pause) {
                        return Err(error);
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                done => return done,
            }
        }
    }

    /// Sleeps; returns false if `give_up` was set.
    fn sleep(&self, pause: Duration) -> bool {
        let end = Instant::now() + pause;
        while Instant::now() < end {
            if self.give_up.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(FIRST_PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
        true
    }
}

/// The calls that are currently waiting, by start time.
#[derive(Debug, Default)]
pub(crate) struct WaitingCalls(Mutex<Vec<Instant>>);

impl WaitingCalls {
    /// How long the longest-waiting call has been waiting; `None` if no call is waiting.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.since().iter().min().map(Instant::elapsed)
    }

    fn enter(&self) -> WaitingCall<'_> {
        let since = Instant::now();
        self.since().push(since);
        WaitingCall { calls: self, since }
    }

    fn since(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a call as waiting until dropped.
struct WaitingCall<'a> {
    calls: &'a WaitingCalls,
    since: Instant,
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.since();
        if let Some(place) = calls.iter().position(|&since| since == self.since) {
            calls.swap_remove(place);
        }
    }
}

/// Whether a failure may be temporary: a full disk may get space, a network may come back. Errors such as a missing
/// permission are permanent.
pub(crate) fn may_pass(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(inner) = cause {
        match inner.downcast_ref::<ObjectError>() {
            None | Some(ObjectError::Generic { .. }) => {}
            Some(_) => return false,
        }
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return !is_final(io.kind());
        }
        cause = inner.source();
    }
    true
}

/// Whether there is no space for a file.
pub(crate) fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn is_final(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::FileTooLarge
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidFilename
            | ErrorKind::Unsupported
    )
}
