//! Waits for a lock that another process on this machine or file system holds.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tengen_run::Opened;
use tengen_store::StoreError;

/// How often to retry.
const WAIT: Duration = Duration::from_millis(50);

/// Waits for the lock and takes it; `None` if the run is stopped first. `other` describes the process that may hold it.
pub(crate) fn wait_for_lock<T>(
    run: &Opened,
    other: &str,
    lock: impl Fn() -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let mut said = false;
    loop {
        match lock() {
            Ok(lock) => return Ok(Some(lock)),
            Err(error) => {
                let Some(StoreError::Locked { holder, .. }) = error.downcast_ref::<StoreError>() else {
                    return Err(error);
                };
                if !said {
                    said = true;
                    run.watch
                        .say(&format!("{other} (process {holder}): standing by until it ends"));
                }
            }
        }
        if run.stop.load(Ordering::SeqCst) {
            return Ok(None);
        }
        std::thread::sleep(WAIT);
    }
}
