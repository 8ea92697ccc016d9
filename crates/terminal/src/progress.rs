//! Shows the progress of something that takes a long time: as a line or a bar on a terminal, and otherwise as a line
//! now and then.

use std::time::Duration;

use indicatif::ProgressBar;

use tengen_report::thousands;

use crate::output::{bar, bars, interactive, say, spinner};
use crate::pace::Pace;

/// Removes a line from the terminal and from the shared bars, which would otherwise still count it when they redraw.
pub fn remove(line: &ProgressBar) {
    line.finish_and_clear();
    bars().remove(line);
}

/// The current step of something that takes a long time, on a line of its own or printed now and then.
#[derive(Default)]
pub struct Step {
    line: Option<ProgressBar>,
    pace: Option<Pace>,
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
        } else if self.pace.get_or_insert_with(Pace::eager).take_due() {
            say(text);
        }
    }

    /// Removes the line.
    pub fn end(&mut self) {
        if let Some(line) = self.line.take() {
            remove(&line);
        }
        self.pace = None;
    }
}

/// A count of what is done, as a bar or printed now and then.
#[derive(Default)]
pub struct Count {
    bar: Option<ProgressBar>,
    pace: Option<Pace>,
}

impl Count {
    /// Shows `done` of `all`, for example of `positions`; `what` says what is being done.
    pub fn show(&mut self, what: &str, unit: &str, done: u64, all: u64) {
        if interactive() {
            let template = format!("{what} [{{bar:24}}] {{human_pos}}/{{human_len}} {unit}, {{eta}} left");
            let bar = self.bar.get_or_insert_with(|| bar(all, &template));
            bar.set_position(done);
        } else if self.pace.get_or_insert_with(Pace::eager).take_due() {
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
        self.pace = None;
    }
}
