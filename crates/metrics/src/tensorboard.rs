//! Writes TensorBoard event files: records framed by masked CRC-32C around two small hand-encoded protobuf messages.
//!
//! Frame (TensorFlow, `core/lib/io/record_writer.h`): length `u64`, masked CRC of the length `u32`, message, masked
//! CRC of the message `u32`, all little-endian. Messages (`core/util/event.proto`, `core/framework/summary.proto`):
//! `Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }`,
//! `Summary { repeated Value value = 1; }`, `Value { string tag = 1; float simple_value = 2; }`.

use std::io::{self, Write};

use super::Event;

/// A file of curves that TensorBoard can read while it grows.
pub(super) struct EventFile<W = std::fs::File> {
    file: W,
}

impl<W: Write> EventFile<W> {
    /// Writes the record that names the format. `wall_time` is in seconds since 1970, UTC.
    pub(super) fn begin(file: W, wall_time: f64) -> io::Result<EventFile<W>> {
        let mut message = Message::default();
        message.double(1, wall_time);
        message.bytes(3, b"brain.Event:2");
        let mut events = EventFile { file };
        events.record(&message.0)?;
        Ok(events)
    }

    /// Appends every number of an event with the tag `<kind>/<name>`.
    pub(super) fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut summary = Message::default();
        for (name, value) in event.scalars() {
            let mut curve = Message::default();
            curve.bytes(1, format!("{}/{name}", event.kind()).as_bytes());
            curve.float(2, value as f32);
            summary.bytes(1, &curve.0);
        }
        let mut message = Message::default();
        message.double(1, event.time_ms as f64 / 1000.0);
        message.integer(2, event.axis());
        message.bytes(5, &summary.0);
        self.record(&message.0)
    }

    /// Writes one framed record in a single call, so that a killed process leaves whole records.
    fn record(&mut self, message: &[u8]) -> io::Result<()> {
        let length = (message.len() as u64).to_le_bytes();
        let mut frame = Vec::with_capacity(message.len() + 16);
        frame.extend(length);
        frame.extend(masked_crc(&length).to_le_bytes());
        frame.extend(message);
        frame.extend(masked_crc(message).to_le_bytes());
        self.file.write_all(&frame)
    }
}

/// CRC-32C, rotated and offset so that checksums of data that contains checksums stay meaningful.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn integer(&mut self, field: u8, value: u64) {
        self.0.push(field << 3);
        self.varint(value);
    }

    fn double(&mut self, field: u8, value: f64) {
        self.0.push(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u8, value: &[u8]) {
        self.0.push(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }

    fn float(&mut self, field: u8, value: f32) {
        self.0.push(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measured, Rating};

    /// Written by the record writer of the Python package `tensorboard` 2.21 from the same two messages.
    const OFFICIAL: &str = concat!(
        "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c7e00000000000000d8c65c75",
        "09000000000000024010ac022a700a110a0a726174696e672f656c6f150080f6420a110a0a726174696e672f6c6f77150000c842",
        "0a120a0b726174696e672f68696768150000c07f0a190a12726174696e672f6576616c756174696f6e7315000096430a190a1272",
        "6174696e672f6370755f7365636f6e6473150000003f5067d5a9",
    );

    #[test]
    fn writes_the_same_bytes_as_the_official_writer() {
        let rating = Rating {
            model_id: "g000001".into(),
            elo: 123.25,
            low: 100.0,
            high: f64::NAN,
            evaluations: 300,
            cpu_seconds: 0.5,
            anchored: false,
        };
        let event = Event {
            time_ms: 2_250,
            elapsed_seconds: 9.0,
            measured: Measured::Rating(rating),
        };
        let mut written = Vec::new();
        EventFile::begin(&mut written, 1.5).unwrap().append(&event).unwrap();
        let hex: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, OFFICIAL);
    }

    #[test]
    fn the_checksum_is_masked_crc32c() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(
            masked_crc(b"123456789"),
            0xe306_9283_u32.rotate_right(15).wrapping_add(0xa282_ead8)
        );
    }
}
