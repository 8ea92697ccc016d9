//! Sleeping that can be cut short.

use std::time::{Duration, Instant};

/// How often to check whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// Sleeps for this time, or until `stop` is true.
pub(crate) fn pause(time: Duration, stop: impl Fn() -> bool) {
    let began = Instant::now();
    while began.elapsed() < time && !stop() {
        std::thread::sleep(TICK.min(time));
    }
}
