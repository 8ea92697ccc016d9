//! What the program prints: results on stdout, messages for people on stderr.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use serde::Serialize;

use crate::plain::lines;

static BARS: OnceLock<MultiProgress> = OnceLock::new();

/// The terminal's settings before [`hide_control_characters`].
static TERMINAL: OnceLock<Termios> = OnceLock::new();

/// Why a result has not reached stdout.
static UNDELIVERED: OnceLock<std::io::Error> = OnceLock::new();

/// Whether `--quiet` leaves only errors on stderr.
static QUIET: AtomicBool = AtomicBool::new(false);

/// The shared set of progress bars, hidden unless stderr is a terminal that can redraw lines.
pub fn bars() -> &'static MultiProgress {
    BARS.get_or_init(|| match QUIET.load(Ordering::Relaxed) {
        true => MultiProgress::with_draw_target(ProgressDrawTarget::hidden()),
        false => MultiProgress::new(),
    })
}

/// A progress bar among the shared ones, or plain lines where they are hidden. Text of any length belongs in
/// `{wide_msg}`, which is cut to the width of the terminal, because a line that wraps cannot be redrawn.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    add(ProgressBar::new(length), template)
}

/// A line of text with a spinner among the shared progress bars, or plain lines where they are hidden.
pub fn spinner(template: &str) -> ProgressBar {
    add(ProgressBar::new_spinner(), template)
}

fn add(bar: ProgressBar, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = bar.with_style(style.progress_chars("=> "));
    if interactive() {
        return bars().add(bar);
    }
    bar.set_draw_target(match QUIET.load(Ordering::Relaxed) {
        true => ProgressDrawTarget::hidden(),
        false => lines(),
    });
    bar
}

/// Whether progress bars are visible: stderr is a terminal, and `TERM` is neither `dumb` nor unset.
pub fn interactive() -> bool {
    !bars().is_hidden()
}

/// The width of the terminal that this is, in characters.
fn columns(stream: impl AsFd) -> Option<usize> {
    let size = termios::tcgetwinsize(stream).ok()?;
    Some(size.ws_col.into()).filter(|&columns| columns > 0)
}

/// A text whose lines have at most the width of the terminal, if there is one. See [`wrapped`].
fn fitting(text: &str, stream: impl AsFd) -> Cow<'_, str> {
    match columns(stream) {
        Some(columns) if text.lines().any(|line| line.chars().count() > columns) => Cow::Owned(
            text.split('\n')
                .map(|line| wrapped(line, columns))
                .collect::<Vec<_>>()
                .join("\n"),
        ),
        _ => Cow::Borrowed(text),
    }
}

/// A line broken between words into lines of at most this many characters, all but the first indented. A longer word,
/// such as a path, gets its own line.
fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > columns {
            lines.push_str("\n  ");
            width = 2;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines
}

/// Keeps the terminal from showing `^C` until [`restore_terminal`]. The progress bars leave the cursor at the right
/// edge, so the two characters would wrap to the next line, and the first line of the bars would never be erased.
pub fn hide_control_characters() {
    let stderr = std::io::stderr();
    // A process in the background would be stopped for changing the terminal.
    if !interactive() || termios::tcgetpgrp(&stderr) != Ok(rustix::process::getpgrp()) {
        return;
    }
    if let Ok(before) = termios::tcgetattr(&stderr) {
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHOCTL);
        if termios::tcsetattr(&stderr, OptionalActions::Now, &quiet).is_ok() {
            let _ = TERMINAL.set(before);
        }
    }
}

/// Undoes [`hide_control_characters`]. The program must call it however it ends.
pub fn restore_terminal() {
    if let Some(before) = TERMINAL.get() {
        let _ = termios::tcsetattr(std::io::stderr(), OptionalActions::Now, before);
    }
}

/// Whether text on stderr may have colors (<https://no-color.org>).
fn colored() -> bool {
    interactive() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes log lines to stderr without tearing the progress bars.
struct AroundBars;

impl Write for AroundBars {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        bars().suspend(|| std::io::stderr().write(bytes))
    }
    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Starts logging to stderr: warnings by default, `-v` says more, and `--quiet` leaves only errors on stderr.
pub fn start_logging(verbose: u8, quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
    let level = match verbose {
        _ if quiet => tracing::Level::ERROR,
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(colored())
        .with_target(false)
        .with_writer(|| AroundBars)
        // Otherwise, it would report on stderr that stderr is gone, and panic.
        .log_internal_errors(false)
        .init();
}

/// Prints one line on stderr without tearing the progress bars, unless `--quiet` leaves only errors there. On a
/// terminal, a line that is too long breaks between words.
pub fn say(line: impl AsRef<str>) {
    if !QUIET.load(Ordering::Relaxed) {
        print_line(&fitting(line.as_ref(), std::io::stderr()));
    }
}

fn print_line(line: &str) {
    let mut line = printable(line).into_owned();
    line.push('\n');
    // If stderr itself is gone, there is nowhere to report that.
    let _ = AroundBars.write_all(line.as_bytes());
}

/// Prints the command's result on stdout. A closed pipe is not an error; [`delivered`] returns any other error.
pub fn result(text: impl AsRef<str>) {
    let text = format!("{}\n", printable(text.as_ref()));
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(UNDELIVERED.set(error)),
        _ => {}
    }
}

/// Prints a sentence of the command's result on stdout. On a terminal, it breaks between words if it is too long.
pub fn sentence(text: impl AsRef<str>) {
    result(fitting(text.as_ref(), std::io::stdout()));
}

/// Fails if a result has not reached stdout, for example because a disk is full.
pub fn delivered() -> anyhow::Result<()> {
    let failed = |error| Err(anyhow::anyhow!("cannot write the result to stdout: {error}"));
    UNDELIVERED.get().map_or(Ok(()), failed)
}

/// The text with a replacement character for every control character except line breaks and tabs. Texts from a store,
/// such as the names of players, must not control the terminal.
fn printable(text: &str) -> Cow<'_, str> {
    let controls = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    match text.contains(controls) {
        true => Cow::Owned(text.replace(controls, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// Prints one JSON object on stdout.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    // JSON may leave these control characters as they are, but a terminal may obey them.
    for character in '\u{7f}'..='\u{9f}' {
        if text.contains(character) {
            text = text.replace(character, &format!("\\u{:04x}", u32::from(character)));
        }
    }
    result(text);
    Ok(())
}

/// Prints an error followed by its causes, outermost first.
pub fn print_error(error: &anyhow::Error) {
    let mut line = format!("error: {error}");
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Skip a cause that the line above already quotes.
        if !last.contains(&cause) {
            line.push_str(&format!("\n  because: {cause}"));
        }
        last = cause;
    }
    print_line(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("plain\n\ttext").as_ref(), "plain\n\ttext");
        assert_eq!(printable("\u{1b}[2J\u{9b}1m\u{7}"), "\u{fffd}[2J\u{fffd}1m\u{fffd}");
    }

    #[test]
    fn long_sentences_break_between_words() {
        assert_eq!(wrapped("a board of 5x5", 14), "a board of 5x5");
        assert_eq!(wrapped("a board of 5x5", 13), "a board of\n  5x5");
        assert_eq!(
            wrapped("report: data/runs/five/report.html, 3 games", 12),
            "report:\n  data/runs/five/report.html,\n  3 games"
        );
        assert_eq!(wrapped("two  spaces", 80), "two  spaces");
    }
}
