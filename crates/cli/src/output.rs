//! What the program prints: results on stdout, everything for people on stderr.

use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

/// Wrong use of the command line, found after parsing; the program exits with 2.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// An error for wrong use, with the reason and the remedy in one sentence.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

static BARS: OnceLock<indicatif::MultiProgress> = OnceLock::new();

/// The one set of progress bars; it hides itself when stderr is no terminal.
pub(crate) fn bars() -> &'static indicatif::MultiProgress {
    BARS.get_or_init(indicatif::MultiProgress::new)
}

/// Whether somebody is looking at a terminal.
pub(crate) fn interactive() -> bool {
    std::io::stderr().is_terminal()
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

/// Starts logging to stderr: warnings by default, `-v` says more.
pub(crate) fn start_logging(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(interactive())
        .with_target(false)
        .with_writer(|| AroundBars)
        // It would report that stderr is gone on stderr, and panic over that.
        .log_internal_errors(false)
        .init();
}

/// Prints one line for people on stderr, around the progress bars.
pub(crate) fn say(line: impl AsRef<str>) {
    let mut line = line.as_ref().to_owned();
    line.push('\n');
    // Nobody can be told when stderr itself is gone.
    let _ = AroundBars.write_all(line.as_bytes());
}

/// Prints text that is the command's result on stdout. A reader that went away is no error.
pub(crate) fn result(text: impl AsRef<str>) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_ref().as_bytes());
    let _ = stdout.write_all(b"\n");
    let _ = stdout.flush();
}

/// Prints one JSON object on stdout.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    result(serde_json::to_string_pretty(value)?);
    Ok(())
}

/// Prints an error with its causes, the outermost first.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut line = format!("error: {error}");
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // A cause that the line above already quotes adds nothing.
        if !last.contains(&cause) {
            line.push_str(&format!("\n  because: {cause}"));
        }
        last = cause;
    }
    say(line);
}

/// A count with thousands separated, such as `1,234,567`.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A duration such as `1 h 02 min`, `3 min 04 s` or `5.6 s`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes} min {rest:02} s"),
        _ => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), text);
        }
        for (seconds, text) in [(5.55, "5.5 s"), (184.0, "3 min 04 s"), (3720.0, "1 h 02 min")] {
            assert_eq!(duration(seconds), text);
        }
    }
}
