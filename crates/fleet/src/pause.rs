//! Waiting that ends early.

use std::time::{Duration, Instant};

/// How often to check whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// Sleeps, but not once `stop` is true.
pub(crate) fn pause(time: Duration, stop: impl Fn() -> bool) {
    let began = Instant::now();
    while began.elapsed() < time && !stop() {
        std::thread::sleep(TICK.min(time));
    }
}
