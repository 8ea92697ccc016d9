//! The wall clock, for names and records.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time in milliseconds since 1970-01-01 UTC.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}
