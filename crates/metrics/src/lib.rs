//! What a run measures about itself: one JSON line per event, plus a TensorBoard event file.
//!
//! Every process writes its own two files under `metrics/` in the store, so writers never collide:
//! `<utc ms>-<pid>.jsonl` and `events.out.tfevents.<utc s>.tengen.<pid>`. The JSON lines are authoritative; the
//! TensorBoard file repeats their numbers (`tensorboard --logdir STORE/metrics --reload_multifile true`).
//!
//! If the store is a bucket, these files are in its scratch folder, and the lines are also published in the bucket.

mod bucket;
mod event;
mod tensorboard;

pub use event::{
    Anchor, Event, Gate, GpuBucket, Measured, Model, Rating, Selfplay, Start, Train, Validation, Warning, WorkerSeconds,
};

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;

use tengen_records::now_ms;
use tengen_store::{Store, scratch_folder};

use bucket::Publisher;
use tensorboard::EventFile;

/// The metrics folder inside a store.
const FOLDER: &str = "metrics";

/// Writes the metrics of this process. Threads may share it.
pub struct Metrics(Mutex<Files>);

struct Files {
    lines: File,
    /// Whether the last line may be incomplete, for example because the disk was full.
    torn: bool,
    events: EventFile,
    /// Present if the store is a bucket.
    publisher: Option<Publisher>,
}

impl Metrics {
    /// Creates this process's two files in `metrics/` of `folder`, and that folder if needed. `folder` is the store's
    /// own or, for a bucket, its scratch folder; the lines are then published in the bucket, too.
    ///
    /// # Errors
    /// If the files cannot be created, for example in a read-only store.
    pub fn of(store: &Store, folder: &Path) -> anyhow::Result<Metrics> {
        let metrics = Metrics::open(folder)?;
        if store.local_path().is_none() {
            let random = getrandom::u64().context("the system has no random numbers")?;
            let session = format!("{}-{}-{random:016x}", now_ms(), std::process::id());
            let publisher = Publisher::start(store, &session).context("cannot start publishing metrics")?;
            metrics.files().publisher = Some(publisher);
        }
        Ok(metrics)
    }

    /// Creates this process's two files in `metrics/` of `store_folder`, and that folder if needed.
    fn open(store_folder: &Path) -> anyhow::Result<Metrics> {
        let folder = store_folder.join(FOLDER);
        let about = || format!("cannot create the metrics files in {}", folder.display());
        fs::create_dir_all(&folder).with_context(about)?;
        let (now, pid) = (now_ms(), std::process::id());
        let append = |name: String| OpenOptions::new().append(true).create(true).open(folder.join(name));
        let lines = append(format!("{now}-{pid}.jsonl")).with_context(about)?;
        let events = append(format!("events.out.tfevents.{}.tengen.{pid}", now / 1000)).with_context(about)?;
        let events = EventFile::begin(events, now as f64 / 1000.0).with_context(about)?;
        Ok(Metrics(Mutex::new(Files {
            lines,
            torn: false,
            events,
            publisher: None,
        })))
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends one event to both files.
    ///
    /// # Errors
    /// If a write fails. The files stay readable, and later events can still be recorded.
    pub fn record(&self, event: &Event) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(event).context("cannot write an event as JSON")?;
        line.push(b'\n');
        let mut files = self.files();
        if let Some(publisher) = &files.publisher {
            publisher.send(&line);
        }
        if files.torn {
            line.insert(0, b'\n');
        }
        // One write per line, so that a process killed at any moment leaves whole lines.
        files.torn = true;
        files.lines.write_all(&line).context("cannot write a line of metrics")?;
        files.torn = false;
        files.events.append(event).context("cannot write a TensorBoard event")
    }

    /// Records a measurement with the current time. A failure to write it, such as on a full disk, is only logged.
    pub fn note(&self, elapsed_seconds: f64, measured: Measured) {
        if let Err(error) = self.record(&Event::now(elapsed_seconds, measured)) {
            tracing::warn!("cannot record a measurement: {error:#}");
        }
    }
}

/// The run time so far according to the newest event, in seconds.
///
/// # Errors
/// If the metrics exist but cannot be read.
pub fn elapsed_seconds(store: &Store) -> anyhow::Result<f64> {
    let (mut newest, mut elapsed) = (i64::MIN, 0.0);
    read_each(store, &mut Vec::new(), &mut |event| {
        if event.time_ms >= newest {
            (newest, elapsed) = (event.time_ms, event.elapsed_seconds);
        }
    })?;
    Ok(elapsed)
}

/// Passes every event of a store to `take`, each process's in chronological order, and earlier processes first. Skips
/// lines that cannot be read, such as a last line cut short by a crash or an event of a later version. A store without
/// metrics has no events. Adds a sentence to `problems` for every damaged part.
///
/// # Errors
/// If the store or a file in it exists but cannot be read.
pub fn read_each(store: &Store, problems: &mut Vec<String>, take: &mut dyn FnMut(Event)) -> anyhow::Result<()> {
    match store.local_path() {
        Some(folder) => each_local_line(folder, &mut |line| {
            Event::from_json(line).into_iter().for_each(&mut *take)
        }),
        None => bucket::read(store, &scratch_folder(store.location()), problems, take),
    }
}

/// Passes every line of the files in `metrics/` of a folder to `take`, file by file in the order of their names. Holds
/// only one line at a time.
fn each_local_line(folder: &Path, take: &mut dyn FnMut(&[u8])) -> anyhow::Result<()> {
    for path in local_files(folder)? {
        each_line(&path, take).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(())
}

/// The JSON line files in `metrics/` of a folder, in the order of their names.
fn local_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = folder.join(FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let about = || format!("cannot read the metrics in {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).with_context(about)? {
        let path = entry.with_context(about)?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn each_line(path: &Path, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        take(&line);
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(time_ms: i64, step: u64) -> Event {
        let measured = Measured::Train(Train {
            step,
            total_loss: 1.5,
            ..Train::default()
        });
        Event {
            time_ms,
            elapsed_seconds: 2.0,
            measured,
        }
    }

    fn read_folder(folder: &Path) -> Vec<Event> {
        let mut events = Vec::new();
        each_local_line(folder, &mut |line| events.extend(Event::from_json(line))).unwrap();
        events
    }

    fn steps(events: &[Event]) -> Vec<u64> {
        events.iter().map(Event::axis).collect()
    }

    #[test]
    fn a_store_without_metrics_has_no_events() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(read_folder(store.path()).len(), 0);
    }

    #[test]
    fn what_was_not_measured_is_not_zero() {
        let store = tempfile::tempdir().unwrap();
        Metrics::open(store.path()).unwrap().record(&train(10, 1)).unwrap();
        let events = read_folder(store.path());
        let Measured::Train(first) = &events[0].measured else {
            panic!("{events:?}")
        };
        assert_eq!(first.total_loss, 1.5);
        assert!(first.policy_loss.is_nan());
    }

    #[test]
    fn unreadable_lines_are_skipped() {
        let store = tempfile::tempdir().unwrap();
        let folder = store.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        let good = serde_json::to_string(&train(5, 7)).unwrap();
        let torn = &good[..good.len() / 2];
        let later = r#"{"time_ms":1,"elapsed_seconds":0,"event":"telepathy","strength":3}"#;
        let text = format!("{good}\n{later}\n{torn}\n\n\u{fffd}\n{torn}");
        fs::write(folder.join("5-1.jsonl"), text).unwrap();
        fs::write(folder.join("6-2.jsonl"), [&b"\xff\xfe\n"[..], good.as_bytes()].concat()).unwrap();
        fs::write(folder.join("events.out.tfevents.1.tengen.1"), "not lines").unwrap();
        assert_eq!(steps(&read_folder(store.path())), [7, 7]);
    }

    #[test]
    fn two_writers_use_separate_files_that_are_read_together() {
        let store = tempfile::tempdir().unwrap();
        for step in [1, 2] {
            Metrics::open(store.path())
                .unwrap()
                .record(&train(step, step as u64))
                .unwrap();
        }
        assert_eq!(steps(&read_folder(store.path())), [1, 2]);
    }

    #[test]
    fn an_error_names_the_folder_that_cannot_be_created() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Metrics::open(file.path()).err().unwrap();
        assert!(error.to_string().contains("metrics"), "{error}");
    }
}
