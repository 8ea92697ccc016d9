//! Splits a stream into lines with any line ending and yields each line as soon as it is complete.

use std::io::BufRead;

use anyhow::Context;
use crossbeam_channel::{Receiver, bounded};

/// Longer lines are cut here. No command or query comes close, and runaway input must not fill the memory.
pub const LONGEST_LINE: usize = 1 << 20;

/// Reads standard input on its own thread, so that the next line can interrupt a search. `note` sees the next line as
/// soon as it arrives, and `None` at the end of the input; neither if other lines still wait in front.
pub fn read_lines(note: impl Fn(Option<&[u8]>) + Send + 'static) -> anyhow::Result<Receiver<Vec<u8>>> {
    let (sender, lines) = bounded(64);
    let read = move || {
        for line in Lines::new(std::io::stdin().lock()) {
            if sender.is_empty() {
                note(Some(&line));
            }
            if sender.send(line).is_err() {
                return;
            }
        }
        if sender.is_empty() {
            note(None);
        }
    };
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(read)
        .context("cannot start a thread for the input")?;
    Ok(lines)
}

/// Splits a stream into lines.
///
/// A line ends at a line feed. If the first line ends with a carriage return that no line feed follows, every line of
/// the stream ends that way. Otherwise carriage returns stay in the line, and the protocol removes them.
struct Lines<R> {
    input: R,
    ends: Ends,
}

/// The line ending that a stream uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// No line has ended yet, so either is possible.
    Unknown,
    /// The first line ended with a carriage return; a line feed may still follow.
    Undecided,
    LineFeed,
    CarriageReturn,
}

impl<R: BufRead> Lines<R> {
    fn new(input: R) -> Lines<R> {
        Lines {
            input,
            ends: Ends::Unknown,
        }
    }

    /// The next byte; `None` at the end of input or after a read error.
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.input.fill_buf().ok()?.first()?;
        self.input.consume(1);
        Some(byte)
    }

    /// Whether a byte ends a line. The first line's ending decides for the whole stream.
    fn ends_line(&mut self, byte: u8) -> bool {
        match (self.ends, byte) {
            (Ends::Unknown, b'\r') => self.ends = Ends::Undecided,
            (Ends::Unknown, b'\n') => self.ends = Ends::LineFeed,
            (Ends::LineFeed, b'\n') | (Ends::CarriageReturn, b'\r') => {}
            _ => return false,
        }
        true
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Vec<u8>;

    /// The next line without its line ending, cut at [`LONGEST_LINE`].
    fn next(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let mut ended = false;
        while let Some(byte) = self.byte() {
            if self.ends == Ends::Undecided {
                self.ends = if byte == b'\n' {
                    Ends::LineFeed
                } else {
                    Ends::CarriageReturn
                };
                if byte == b'\n' {
                    continue;
                }
            }
            ended = self.ends_line(byte);
            if ended {
                break;
            }
            if line.len() < LONGEST_LINE {
                line.push(byte);
            }
        }
        (ended || !line.is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &[&str]) {
        let lines: Vec<String> = Lines::new(input.as_bytes())
            .map(|line| String::from_utf8(line).expect("text"))
            .collect();
        assert_eq!(lines, expected, "{input:?}");
    }

    #[test]
    fn accepts_every_line_ending() {
        check("a\nb\n\nc", &["a", "b", "", "c"]);
        check("a\r\nb\r\n\r\nc\r\n", &["a", "b\r", "\r", "c\r"]);
        check("a\rb\r\rc", &["a", "b", "", "c"]);
        check("a\nb\rc\n", &["a", "b\rc"]);
        check("a\rb\nc\r", &["a", "b\nc"]);
        check("", &[]);
        check("\n", &[""]);
        check("quit", &["quit"]);
    }

    #[test]
    fn a_runaway_line_is_cut() {
        let mut input = vec![b'x'; LONGEST_LINE + 5];
        input.extend_from_slice(b"\nname\n");
        let lengths: Vec<usize> = Lines::new(&input[..]).map(|line| line.len()).collect();
        assert_eq!(lengths, [LONGEST_LINE, 4]);
    }
}
