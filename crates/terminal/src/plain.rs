//! Progress bars as lines of text, for when stderr is a file, a pipe, or a terminal that cannot redraw lines.

use std::io;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressDrawTarget, TermLike};

use crate::output::say;

/// The shortest time between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// A draw target that prints the bar's line after ten seconds and then less and less often: each pause is a twentieth
/// of the bar's age, but at least ten seconds. A bar that is done sooner prints nothing.
pub(crate) fn lines() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(Lines::new()), 1)
}

#[derive(Debug)]
struct Lines {
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What has been drawn since the last flush.
    drawn: String,
    printed: Instant,
}

impl Lines {
    fn new() -> Lines {
        let begun = Instant::now();
        let state = Mutex::new(State {
            drawn: String::new(),
            printed: begun,
        });
        Lines { begun, state }
    }

    /// Takes what was drawn, and returns it if a line is due.
    fn due(&self, now: Instant) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(|error| error.into_inner());
        let line = std::mem::take(&mut state.drawn);
        let is_spinner = |character: char| matches!(character, '\u{2800}'..='\u{28ff}');
        let line = line.trim().trim_start_matches(is_spinner).trim_start();
        let pause = EVERY.max(now.duration_since(self.begun) / 20);
        if line.is_empty() || now.duration_since(state.printed) < pause {
            return None;
        }
        state.printed = now;
        Some(line.to_owned())
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
        let mut state = self.state.lock().unwrap_or_else(|error| error.into_inner());
        state.drawn.push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        if let Some(line) = self.due(Instant::now()) {
            say(line);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_after_ten_seconds_and_then_ever_more_rarely() {
        let lines = Lines::new();
        let shown = |seconds: u64| {
            lines.write_str("\r⠁ 12/40 games   ").expect("a string");
            lines.due(lines.begun + Duration::from_secs(seconds))
        };
        assert_eq!(shown(0), None);
        assert_eq!(shown(9), None);
        assert_eq!(shown(10).as_deref(), Some("12/40 games"));
        assert_eq!(shown(19), None);
        assert!(shown(1000).is_some());
        assert_eq!(shown(1049), None);
        assert!(shown(1053).is_some());
    }

    #[test]
    fn a_bar_that_was_removed_prints_nothing() {
        let lines = Lines::new();
        lines.clear_line().expect("a line");
        assert_eq!(lines.due(lines.begun + Duration::from_secs(60)), None);
    }
}
