//! Ends a search in progress when the controller wants the engine to quit, or is gone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A `quit` that arrives this soon after the start of a search does not end it: it was sent together with the command
/// to search, by a script that wants the answer.
const SENT_TOGETHER: Duration = Duration::from_millis(250);

/// When `quit` arrived, if it did. Clones share it.
#[derive(Clone, Default)]
pub struct Quit(Arc<Mutex<Option<Instant>>>);

impl Quit {
    /// Notes that `quit` or the end of the input has arrived, and no command waits in front of it.
    pub fn arrives(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether `quit` arrived during a search that began at `start`.
    pub(super) fn interrupts(&self, start: Instant) -> bool {
        let arrived = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.is_some_and(|arrived| arrived > start + SENT_TOGETHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_quit_interrupts_a_search() {
        let (quit, now) = (Quit::default(), Instant::now());
        assert!(!quit.interrupts(now));
        quit.clone().arrives();
        assert!(
            !quit.interrupts(Instant::now()),
            "sent before or together with the search"
        );
        let Some(earlier) = now.checked_sub(Duration::from_secs(1)) else {
            return;
        };
        assert!(quit.interrupts(earlier));
    }
}
