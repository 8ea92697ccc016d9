//! Shows the progress of something that takes a long time: as a line or a bar on a terminal, and otherwise as a line
//! every ten seconds.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use tengen_report::thousands;

use crate::output::{bar, bars, interactive, say, spinner};

/// How often to print progress when stderr is not a terminal.
pub const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Removes a line from the terminal and from the shared bars, which would otherwise still count it when they redraw.
pub fn remove(line: &ProgressBar) {
    line.finish_and_clear();
    bars().remove(line);
}

/// The current step of something that takes a long time, on a line of its own or printed now and then.
#[derive(Default)]
pub struct Step {
    line: Option<ProgressBar>,
    printed: Option<Instant>,
}

impl Step {
    /// Shows what is being done now.
    pub fn show(&mut self, text: &str) {
        if interactive() {
            let line = self.line.get_or_insert_with(|| {
                let line = spinner("{spinner} {wide_msg}");
                line.enable_steady_tick(Duration::from_millis(200));
                line
            });
            line.set_message(text.to_owned());
        } else if self.printed.is_none_or(|at| at.elapsed() >= PLAIN_EVERY) {
            self.printed = Some(Instant::now());
            say(text);
        }
    }

    /// Removes the line.
    pub fn end(&mut self) {
        if let Some(line) = self.line.take() {
            remove(&line);
        }
        self.printed = None;
    }
}

/// A count of what is done, as a bar or printed now and then.
#[derive(Default)]
pub struct Count {
    bar: Option<ProgressBar>,
    printed: Option<Instant>,
}

impl Count {
    /// Shows `done` of `all`, for example of `positions`; `what` says what is being done.
    pub fn show(&mut self, what: &str, unit: &str, done: u64, all: u64) {
        if interactive() {
            let template = format!("{what} [{{bar:24}}] {{human_pos}}/{{human_len}} {unit}, {{eta}} left");
            let bar = self.bar.get_or_insert_with(|| bar(all, &template));
            bar.set_position(done);
        } else if self.printed.is_none_or(|at| at.elapsed() >= PLAIN_EVERY) {
            self.printed = Some(Instant::now());
            say(format!("{what}: {} of {} {unit}", thousands(done), thousands(all)));
        }
        if done >= all {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            remove(&bar);
        }
        self.printed = None;
    }
}
