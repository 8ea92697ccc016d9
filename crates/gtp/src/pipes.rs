//! How do bytes get to an engine and from it without this program ever waiting for a pipe?

use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Longest line taken from an engine, in bytes.
const MAX_LINE: usize = 256 * 1024;
/// Lines that wait to be read before the engine is made to wait.
const WAITING_LINES: usize = 64;
/// Commands that wait to be written. Each is sent only after the last one was answered, so an engine with more than this does not
/// read what it answers.
const WAITING_COMMANDS: usize = 4;

/// What an engine has said.
pub(crate) enum Incoming {
    /// A line, without its ending and without control characters.
    Line(String),
    /// More than 256 KiB without the end of a line. Nothing follows.
    TooLong,
}

/// Reads lines in a thread of its own, until the stream ends or nobody listens any more.
pub(crate) fn read_lines(stdout: ChildStdout) -> Receiver<Incoming> {
    let (sender, receiver) = sync_channel(WAITING_LINES);
    thread::spawn(move || send_lines(stdout, &sender));
    receiver
}

/// Writes commands in a thread of its own, until the engine no longer reads or the sender is dropped; the pipe is closed then.
pub(crate) fn write_commands(mut stdin: ChildStdin) -> SyncSender<String> {
    let (sender, receiver) = sync_channel::<String>(WAITING_COMMANDS);
    thread::spawn(move || {
        for command in receiver {
            if stdin
                .write_all(command.as_bytes())
                .and_then(|()| stdin.flush())
                .is_err()
            {
                return;
            }
        }
    });
    sender
}

fn send_lines(mut stream: impl Read, sender: &SyncSender<Incoming>) {
    let (mut line, mut buffer) = (Vec::new(), [0; 8192]);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        for &byte in &buffer[..read] {
            match byte {
                b'\n' => {
                    let text = String::from_utf8_lossy(&line)
                        .replace('\t', " ")
                        .replace(|c: char| c.is_control(), "");
                    line.clear();
                    if sender.send(Incoming::Line(text)).is_err() {
                        return;
                    }
                }
                _ if line.len() >= MAX_LINE => {
                    let _ = sender.send(Incoming::TooLong);
                    return;
                }
                byte => line.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_end_are_cut() {
        let (sender, receiver) = sync_channel(8);
        let text = [b"one\r\ntwo\n".as_slice(), &vec![b'x'; MAX_LINE + 1]].concat();
        send_lines(text.as_slice(), &sender);
        drop(sender);
        let lines: Vec<String> = receiver
            .iter()
            .map(|incoming| match incoming {
                Incoming::Line(line) => line,
                Incoming::TooLong => "too long".to_owned(),
            })
            .collect();
        assert_eq!(lines, ["one", "two", "too long"]);
    }
}
