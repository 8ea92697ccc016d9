//! How do events of a run reach the disk? One JSON line each, appended, so that anybody can watch the file grow.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::store::{Store, read_error, write_error};
use crate::store_error::StoreError;

const EVENTS: &str = "metrics/events.jsonl";

/// Milliseconds since 1970-01-01 UTC.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

impl Store {
    fn events_file(&self) -> Result<PathBuf, StoreError> {
        let unsupported = || StoreError::UnsupportedLocation {
            location: self.location().to_owned(),
        };
        self.local_path()
            .map(|folder| folder.join(EVENTS))
            .ok_or_else(unsupported)
    }

    /// Appends one event to `metrics/events.jsonl`. A line that an earlier crash left half-written is closed first.
    ///
    /// # Errors
    /// [`StoreError::Write`] when the disk refuses.
    pub fn append_metric(&self, event: &Value) -> Result<(), StoreError> {
        let _one_at_a_time = self.metrics_guard();
        let path = self.events_file()?;
        let append = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
            let mut line = if ends_within_line(&mut file)? {
                "\n".to_owned()
            } else {
                String::new()
            };
            line.push_str(&event.to_string());
            line.push('\n');
            file.write_all(line.as_bytes())
        };
        append().map_err(|error| write_error(EVENTS, &error))
    }

    /// All events in order; lines that a crash cut short are left out.
    ///
    /// # Errors
    /// [`StoreError::Read`] when the file is there but cannot be read.
    pub fn read_metrics(&self) -> Result<Vec<Value>, StoreError> {
        match fs::read_to_string(self.events_file()?) {
            Ok(text) => Ok(text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(read_error(EVENTS, &error)),
        }
    }
}

fn ends_within_line(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0u8];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0] != b'\n')
}
