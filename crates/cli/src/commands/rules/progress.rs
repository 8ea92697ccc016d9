//! Progress of long counts, on a terminal and elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// How often to print a line.
const EVERY: Duration = Duration::from_secs(30);

/// Prints a line now and then when stderr is not a terminal, where progress bars are hidden.
pub(super) struct Heartbeat {
    last: Instant,
}

impl Heartbeat {
    pub(super) fn new() -> Heartbeat {
        Heartbeat { last: Instant::now() }
    }

    /// Prints the line if it is time for one.
    pub(super) fn beat(&mut self, line: impl FnOnce() -> String) {
        if !output::interactive() && self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            output::say(line());
        }
    }
}

/// A progress bar in this form.
pub(super) fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    output::bars().add(ProgressBar::new(length).with_style(style))
}

/// A count of any size with separators.
pub(super) fn thousands(count: u128) -> String {
    output::thousands(u64::try_from(count).unwrap_or(u64::MAX))
}
