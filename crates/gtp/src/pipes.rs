//! Reading from and writing to an engine without ever blocking this program on a pipe.

use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The longest line accepted from an engine, in bytes.
const MAX_LINE: usize = 256 * 1024;
/// The number of unread lines after which the engine has to wait.
const WAITING_LINES: usize = 64;
/// The most commands waiting to be written. Each command is sent only after the previous one was answered, so if more
/// are waiting, the engine answers without reading.
const WAITING_COMMANDS: usize = 4;

pub(crate) enum Incoming {
    /// A line, without its line ending and control characters.
    Line(String),
    /// More than 256 KiB without a line ending. Nothing follows.
    TooLong,
}

/// Reads lines in its own thread until the stream ends or the receiver is dropped.
pub(crate) fn read_lines(stdout: ChildStdout) -> Receiver<Incoming> {
    let (sender, receiver) = sync_channel(WAITING_LINES);
    thread::spawn(move || send_lines(stdout, &sender));
    receiver
}

/// Writes commands in its own thread until the engine stops reading or the sender is dropped, then closes the pipe.
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
    fn endless_lines_are_reported() {
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
