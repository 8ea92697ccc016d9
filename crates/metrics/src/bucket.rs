//! Metrics of runs in a bucket. Every process publishes its lines there, so that reports on other machines have them.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tengen_model::sha256_hex;
use tengen_store::{Store, StoreError};

use super::{Event, FOLDER, each_local_line};

/// The time until the next part, for a process that has run for `age`. Parts get larger as a run gets older, so that a
/// week makes some 800 of them.
fn pace(age: Duration) -> Duration {
    (age / 50).clamp(Duration::from_secs(60), Duration::from_secs(900))
}

/// Publishes the lines of this process from its own thread, so that nobody waits for the bucket.
pub(super) struct Publisher {
    lines: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Begins a session. No other session may have its name.
    pub(super) fn start(store: &Store, session: &str) -> io::Result<Publisher> {
        let (lines, arriving) = mpsc::channel();
        let session = Session {
            store: store.without_patience(),
            folder: format!("{FOLDER}/{session}"),
            parts: 0,
            waiting: Vec::new(),
        };
        let thread = thread::Builder::new().name("metrics".to_owned());
        Ok(Publisher {
            lines: Some(lines),
            thread: Some(thread.spawn(move || session.publish_all(&arriving))?),
        })
    }

    /// Takes a line, including the newline at its end.
    pub(super) fn send(&self, line: &[u8]) {
        if let Some(lines) = &self.lines {
            // The thread ends before the sender is dropped only if it panics.
            let _ = lines.send(line.to_vec());
        }
    }
}

/// Publishes the remaining lines.
impl Drop for Publisher {
    fn drop(&mut self) {
        drop(self.lines.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What one process publishes.
struct Session {
    store: Store,
    folder: String,
    /// The number of published parts.
    parts: u32,
    /// Lines that are not published yet.
    waiting: Vec<u8>,
}

impl Session {
    fn publish_all(mut self, arriving: &Receiver<Vec<u8>>) {
        let began = Instant::now();
        let mut has_ended = false;
        while !has_ended {
            let due = Instant::now() + pace(began.elapsed());
            has_ended = self.gather(arriving, due);
            if let Err(error) = self.publish() {
                let later = if has_ended {
                    ""
                } else {
                    "; trying again with the next ones"
                };
                tracing::warn!("reports on other machines lack the newest metrics{later}: {error}");
            }
        }
    }

    /// Gathers lines until a part is due. Returns whether there will be no more.
    fn gather(&mut self, arriving: &Receiver<Vec<u8>>, due: Instant) -> bool {
        loop {
            match arriving.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(line) => self.waiting.extend(line),
                Err(error) => return error == RecvTimeoutError::Disconnected,
            }
        }
    }

    fn publish(&mut self) -> Result<(), StoreError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let path = format!("{}/{:06}.jsonl", self.folder, self.parts + 1);
        match self.store.files().put_same(&path, sealed(&self.waiting)) {
            Ok(_) => {
                self.parts += 1;
                self.waiting.clear();
                Ok(())
            }
            // An earlier try has written this part after all, with fewer lines. Readers take each line once.
            Err(StoreError::Taken { .. }) => {
                self.parts += 1;
                self.publish()
            }
            Err(error) => Err(error),
        }
    }
}

/// The lines, followed by one that holds their SHA-256.
fn sealed(lines: &[u8]) -> Vec<u8> {
    let seal = format!("{{\"sha256\":\"{}\"}}\n", sha256_hex(lines));
    [lines, seal.as_bytes()].concat()
}

/// The lines of a part; `None` if they do not match its SHA-256.
fn unsealed(part: &[u8]) -> Option<&[u8]> {
    let end = part.strip_suffix(b"\n")?.iter().rposition(|&byte| byte == b'\n')? + 1;
    let (lines, _) = part.split_at(end);
    (part == sealed(lines)).then_some(lines)
}

/// Passes every event of a run in a bucket to `take` once: first what its processes have published, then what only this
/// machine's files in the scratch folder hold. Skips damaged parts and names them in `problems`.
///
/// # Errors
/// If the bucket or a file on this machine cannot be read.
pub(super) fn read(
    store: &Store,
    scratch: &Path,
    problems: &mut Vec<String>,
    take: &mut dyn FnMut(Event),
) -> anyhow::Result<()> {
    // Hashes suffice: if two lines ever share one, a curve only lacks a point.
    let mut known = HashSet::new();
    let mut once = |line: &[u8]| {
        if known.insert(hash(line)) {
            Event::from_json(line).into_iter().for_each(&mut *take);
        }
    };
    for (path, size) in store.files().list(FOLDER)? {
        let part = part(store, &scratch.join("published").join(&path), &path, size)?;
        match unsealed(&part) {
            Some(lines) => lines.split_inclusive(|&byte| byte == b'\n').for_each(&mut once),
            None => problems.push(format!("Skipped because its SHA-256 does not match: {path}")),
        }
    }
    each_local_line(scratch, &mut once)
}

fn hash(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

/// The bytes of a part, from its copy on this machine if there is one, because a part never changes.
fn part(store: &Store, copy: &Path, path: &str, size: u64) -> Result<Vec<u8>, StoreError> {
    if let Ok(bytes) = fs::read(copy)
        && bytes.len() as u64 == size
        && unsealed(&bytes).is_some()
    {
        return Ok(bytes);
    }
    let bytes = store.files().require(path)?.to_vec();
    // If the copy cannot be written, the next report reads the part from the bucket again.
    let _ = copy
        .parent()
        .map(fs::create_dir_all)
        .transpose()
        .and_then(|_| fs::write(copy, &bytes));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;

    use super::super::{Measured, Metrics, Train};
    use super::*;

    fn bucket(name: &str) -> Store {
        Store::over(Arc::new(InMemory::new()), &format!("memory://{name}")).unwrap()
    }

    fn train(time_ms: i64, step: u64) -> Event {
        let measured = Measured::Train(Train {
            step,
            ..Train::default()
        });
        Event {
            time_ms,
            elapsed_seconds: 1.0,
            measured,
        }
    }

    /// The steps of all events, and the problems.
    fn read_steps(store: &Store, scratch: &Path) -> (Vec<u64>, Vec<String>) {
        let (mut steps, mut problems) = (Vec::new(), Vec::new());
        read(store, scratch, &mut problems, &mut |event| steps.push(event.axis())).unwrap();
        (steps, problems)
    }

    fn steps(store: &Store) -> Vec<u64> {
        let scratch = tempfile::tempdir().unwrap();
        let (steps, problems) = read_steps(store, scratch.path());
        let (again, _) = read_steps(store, scratch.path());
        assert_eq!(steps, again, "from the bucket, and from the copies");
        assert_eq!(problems, Vec::<String>::new());
        steps
    }

    #[test]
    fn lines_of_all_processes_are_read_on_another_machine() {
        let store = bucket("published");
        for steps in [1..4, 4..6] {
            let folder = tempfile::tempdir().unwrap();
            let metrics = Metrics::of(&store, folder.path()).unwrap();
            for step in steps {
                metrics.record(&train(step, step as u64)).unwrap();
            }
            // Processes are read in the order in which they began, to the millisecond.
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(store.files().list(FOLDER).unwrap().len(), 2);
        assert_eq!(steps(&store), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn lines_of_this_machine_that_are_not_published_yet_are_read_besides() {
        let store = bucket("besides");
        let scratch = tempfile::tempdir().unwrap();
        let metrics = Metrics::of(&store, scratch.path()).unwrap();
        metrics.record(&train(1, 1)).unwrap();
        drop(metrics);
        Metrics::open(scratch.path()).unwrap().record(&train(2, 2)).unwrap();
        assert_eq!(read_steps(&store, scratch.path()).0, [1, 2]);
    }

    #[test]
    fn a_part_that_was_written_after_all_does_no_harm() {
        let store = bucket("twice");
        let mut session = Session {
            store: store.clone(),
            folder: format!("{FOLDER}/s"),
            parts: 0,
            waiting: b"{\"one\":1}\n".to_vec(),
        };
        session.publish().unwrap();
        session.parts = 0;
        session.waiting = b"{\"one\":1}\n{\"two\":2}\n".to_vec();
        session.publish().unwrap();
        assert_eq!((session.parts, session.waiting.len()), (2, 0));
        assert_eq!(store.files().list(FOLDER).unwrap().len(), 2);
    }

    #[test]
    fn a_damaged_part_is_named_and_skipped() {
        let store = bucket("damaged");
        let line = serde_json::to_vec(&train(1, 7)).unwrap();
        let mut part = sealed(&[&line[..], b"\n"].concat());
        store.files().put_new("metrics/s/000001.jsonl", part.clone()).unwrap();
        part[20] ^= 1;
        store.files().put_new("metrics/s/000002.jsonl", part).unwrap();
        store.files().put_new("metrics/s/000003.jsonl", &b"\n"[..]).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let (steps, problems) = read_steps(&store, scratch.path());
        assert_eq!(steps, [7]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("metrics/s/000002.jsonl"), "{problems:?}");
    }

    #[test]
    fn parts_get_larger_as_a_run_gets_older() {
        let week = Duration::from_secs(7 * 86_400);
        let (mut age, mut parts) = (Duration::ZERO, 0);
        while age < week {
            age += pace(age);
            parts += 1;
        }
        assert_eq!(pace(Duration::ZERO), Duration::from_secs(60));
        assert!((500..1000).contains(&parts), "{parts}");
    }
}
