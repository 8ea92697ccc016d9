//! Progress bars as lines of text, for when stderr is a file, a pipe, or a terminal that cannot redraw lines.

use std::io;
use std::sync::{Mutex, MutexGuard};

use indicatif::{ProgressDrawTarget, TermLike};

use crate::output::say;
use crate::pace::Pace;

/// A draw target that prints the bar's line after ten seconds and then less and less often. A bar that is done sooner
/// prints nothing.
pub(crate) fn lines() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(Lines::new(Pace::patient())), 1)
}

#[derive(Debug)]
struct Lines(Mutex<State>);

#[derive(Debug)]
struct State {
    /// What has been drawn since the last flush.
    drawn: String,
    pace: Pace,
}

impl Lines {
    fn new(pace: Pace) -> Lines {
        let drawn = String::new();
        Lines(Mutex::new(State { drawn, pace }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|error| error.into_inner())
    }

    /// Takes what was drawn, and returns it if a line is due.
    fn due(&self) -> Option<String> {
        let mut state = self.state();
        let line = std::mem::take(&mut state.drawn);
        let is_spinner = |character: char| matches!(character, '\u{2800}'..='\u{28ff}');
        let line = line.trim().trim_start_matches(is_spinner).trim_start();
        (!line.is_empty() && state.pace.take_due()).then(|| line.to_owned())
    }
}

impl TermLike for Lines {
    fn width(&self) -> u16 {
        100
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.state().drawn.push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        if let Some(line) = self.due() {
            say(line);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_due_is_printed_without_its_spinner() {
        let lines = Lines::new(Pace::eager());
        let draw = || lines.write_str("\r⠁ 12/40 games   ").expect("a string");
        draw();
        assert_eq!(lines.due().as_deref(), Some("12/40 games"));
        draw();
        assert_eq!(lines.due(), None, "the next line is not due yet");
    }

    #[test]
    fn a_bar_that_was_removed_prints_nothing() {
        let lines = Lines::new(Pace::eager());
        lines.clear_line().expect("a line");
        assert_eq!(lines.due(), None);
    }
}
