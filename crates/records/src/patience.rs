//! What happens while a store is away? Calls wait for it, within bounds, and somebody can call them off.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Tries until it works, fails for good, or the patience is at its end: then the last failure is returned.
    pub(crate) fn attempt<T>(&self, mut once: impl FnMut() -> Result<T, ObjectError>) -> Result<T, ObjectError> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match once() {
                Err(error) if may_pass(&error) && began.elapsed() + pause < self.limit && self.sleep(pause) => {
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
