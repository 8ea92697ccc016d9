//! What happens while a store is away? Calls wait for it, within bounds, and somebody can call them off.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use object_store::Error as ObjectError;

/// Pause after the first failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long a call waits for a store that is away.
#[derive(Clone, Debug)]
pub struct Patience {
    /// The longest time a call goes on trying.
    pub limit: Duration,
    /// When set, nobody waits any more.
    pub give_up: Arc<AtomicBool>,
}

impl Patience {
    /// Tries until it works, fails for good, or the patience is at its end: then the last failure is returned. From
    /// the first failure on, the call stands among those that wait.
    pub(crate) fn attempt<T>(
        &self,
        calls: &WaitingCalls,
        mut once: impl FnMut() -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut waits = None;
        loop {
            match once() {
                Err(error) if may_pass(&error) && began.elapsed() + pause < self.limit => {
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

    /// Waits; false when somebody gave up.
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

/// The calls that wait for a store at this moment, by when they began to.
#[derive(Debug, Default)]
pub(crate) struct WaitingCalls(Mutex<Vec<Instant>>);

impl WaitingCalls {
    /// How long the first of them has been waiting; none when none waits.
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

/// A call that waits, until it is dropped.
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

/// Whether a failure may pass by itself: a full disk may get room, a network come back. What the system refuses for
/// good, such as a missing permission, will not.
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
