//! Collects failures while several steps have to finish: one failure does not prevent the other steps, and the first
//! one is reported as the cause.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow};

use tengen_selfplay::catch_panic;

use crate::watch::Watch;

/// The failures of the threads and closing steps of a command, in the order in which they happened.
#[derive(Default)]
pub struct Failures(Mutex<Vec<anyhow::Error>>);

impl Failures {
    /// Runs one part of the work. If it fails or panics, records the error or the panic's message and returns `None`.
    pub fn catch<T>(&self, part: &str, work: impl FnOnce() -> anyhow::Result<T>) -> Option<T> {
        let done = match catch_panic(work) {
            Ok(done) => done.with_context(|| format!("{part} failed")),
            Err(message) => Err(anyhow!("{part} panicked: {message}")),
        };
        done.map_err(|error| self.list().push(error)).ok()
    }

    /// Whether nothing has failed.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    /// Returns the first failure, after showing the others, so that the cause is printed last.
    ///
    /// # Errors
    /// The first failure.
    pub fn into_result(self, watch: &dyn Watch) -> anyhow::Result<()> {
        let mut failures = std::mem::take(&mut *self.list()).into_iter();
        let first = failures.next();
        for error in failures {
            watch.say(&format!("also: {error:#}"));
        }
        first.map_or(Ok(()), Err)
    }

    fn list(&self) -> MutexGuard<'_, Vec<anyhow::Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_the_result_and_panics_are_failures() {
        let failures = Failures::default();
        assert_eq!(failures.catch("the gate", || Ok(7)), Some(7));
        assert_eq!(failures.catch::<()>("the gate", || panic!("no champion")), None);
        assert_eq!(failures.catch::<()>("the trainer", || Err(anyhow!("no games"))), None);
        let first = failures.into_result(&crate::Silent).expect_err("two failures");
        assert_eq!(first.to_string(), "the gate panicked: no champion");
        Failures::default().into_result(&crate::Silent).expect("no failure");
    }
}
