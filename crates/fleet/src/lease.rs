//! Leases on tasks that only one process at a time may do.
//!
//! Terms are numbered. A process begins one by creating the file with its number, which only one process can do. The
//! holder shows that it is alive by replacing its notice at every poll interval. A process that wants the task watches
//! that notice and begins the next term when the holder has ended or has been silent for too long. No clocks are
//! compared, and time during which the store cannot be read does not count. A holder that was cut off finds that the
//! next term has begun before it writes its notice, and gives up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use tengen_report::notices::{Author, GATE, Notice, TRAINER};
use tengen_run::Watch;
use tengen_store::{Put, Store, StoreError};

/// How many poll intervals a notice must stay unchanged before its author counts as gone.
const SILENT_LOOKS: f64 = 15.0;

/// How often to check on the holder while waiting for the task.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The most time between two checks that counts as silence of the holder; anything beyond means that the store was
/// unreachable.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// How long a notice must stay unchanged before its author counts as gone. Authors write one at every poll interval.
pub(crate) fn silence(look_seconds: f64) -> Duration {
    Duration::from_secs_f64(look_seconds * SILENT_LOOKS)
}

/// Another process holds the task now.
#[derive(Debug, thiserror::Error)]
#[error("another {task} has taken over{}", by.as_ref().map_or(String::new(), place_of))]
pub(crate) struct Replaced {
    task: &'static str,
    /// `None` if the file of its term cannot be read.
    by: Option<Author>,
}

fn place_of(author: &Author) -> String {
    format!(", on {} (process {})", author.host, author.pid)
}

/// A task that one process at a time may do.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    /// Its name, such as `trainer`.
    pub(crate) name: &'static str,
    /// Path of the holder's notice.
    pub(crate) path: &'static str,
}

impl Task {
    /// Training.
    pub(crate) const TRAINER: Task = Task {
        name: "trainer",
        path: TRAINER,
    };
    /// Deciding on candidates.
    pub(crate) const GATE: Task = Task {
        name: "gate",
        path: GATE,
    };

    /// Path of the file that begins a term.
    fn term(self, number: u32) -> String {
        format!("fleet/terms/{}-{number:06}.json", self.name)
    }

    /// The number of the last term that has begun, searching upward from `from`, and who began it. The author is `None`
    /// if the term is `from` or its file cannot be read.
    fn last_term(self, store: &Store, from: u32) -> Result<(u32, Option<Author>), StoreError> {
        let (mut number, mut author) = (from, None);
        while let Some(bytes) = store.files().get(&self.term(number + 1))? {
            number += 1;
            author = serde_json::from_slice(&bytes).ok();
        }
        Ok((number, author))
    }
}

/// A term of a task that this process has begun.
#[derive(Clone, Copy)]
pub(crate) struct Term {
    task: Task,
    number: u32,
}

impl Term {
    /// Checks that no other process has begun the next term.
    ///
    /// # Errors
    /// If the store fails; [`Replaced`] if another process has begun the next term.
    pub(crate) fn check(self, store: &Store) -> anyhow::Result<()> {
        let (last, by) = self.task.last_term(store, self.number)?;
        match last > self.number {
            true => Err(Replaced {
                task: self.task.name,
                by,
            }
            .into()),
            false => Ok(()),
        }
    }
}

/// The right to do a task, with the notice that announces it.
pub(crate) struct Lease {
    term: Term,
    author: Author,
    beat: u64,
}

/// The holder's last heartbeat, and how long it has been the last.
struct Sign {
    sign: (u32, u64),
    looked: Instant,
    silent: Duration,
}

impl Lease {
    /// Waits until no other process does the task, then takes it over. Also returns the previous holder's last notice.
    /// `None` if `stop` is set first.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn take<T: Serialize + DeserializeOwned>(
        store: &Store,
        task: Task,
        author: &Author,
        silence: Duration,
        watch: &dyn Watch,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<(Lease, Option<T>)>> {
        let mut last: Option<Sign> = None;
        let mut said = false;
        while !stop.load(Ordering::SeqCst) {
            let notice = Notice::<T>::read(store, task.path)?;
            let (noticed, beat) = notice.as_ref().map_or((0, 0), |notice| (notice.term, notice.beat));
            let (term, begun_by) = task.last_term(store, noticed)?;
            let holder = begun_by.or(notice.as_ref().map(|notice| notice.author.clone()));
            let sign = (term, beat);
            let silent = match &last {
                Some(before) if before.sign == sign => before.silent + before.looked.elapsed().min(LONGEST_LOOK),
                _ => Duration::ZERO,
            };
            let has_ended = term == noticed && notice.as_ref().is_none_or(|notice| notice.ended);
            if has_ended || silent >= silence {
                if let (false, Some(holder)) = (has_ended, &holder) {
                    watch.say(&format!(
                        "the {} on {} (process {}) has been silent for {} s: taking over",
                        task.name,
                        holder.host,
                        holder.pid,
                        silence.as_secs()
                    ));
                }
                let (name, number) = (serde_json::to_vec(author)?, term + 1);
                let path = task.term(number);
                // The store may have written the file, failed to say so, and refused to write it again.
                let begun = store.files().put_new(&path, name.clone())? == Put::Created
                    || store.files().get(&path)?.is_some_and(|found| found == name);
                if begun {
                    let lease = Lease {
                        term: Term { task, number },
                        author: author.clone(),
                        beat: 0,
                    };
                    return Ok(Some((lease, notice.map(|notice| notice.says))));
                }
                last = None;
                continue;
            }
            if let (false, Some(_), Some(holder)) = (said, &last, &holder) {
                said = true;
                watch.say(&format!(
                    "another {} works for this run, on {} (process {}): standing by until it ends",
                    task.name, holder.host, holder.pid
                ));
            }
            let looked = Instant::now();
            last = Some(Sign { sign, looked, silent });
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(None)
    }

    /// The term, to be checked before writing anything that only the holder may write.
    pub(crate) fn term(&self) -> Term {
        self.term
    }

    /// Writes the next notice, which is also the heartbeat.
    ///
    /// # Errors
    /// If the store fails; [`Replaced`] if another process has begun the next term.
    pub(crate) fn beat<T: Serialize + DeserializeOwned>(
        &mut self,
        store: &Store,
        ended: bool,
        says: T,
    ) -> anyhow::Result<()> {
        self.term.check(store)?;
        self.beat += 1;
        let mut notice = Notice::new(&self.author, self.beat, ended, says);
        notice.term = self.term.number;
        Ok(notice.write(store, self.term.task.path)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_report::notices::GateSays;
    use tengen_run::Silent;
    use tengen_store::Create;

    const SILENCE: Duration = Duration::from_secs(5);

    fn store(folder: &tempfile::TempDir) -> Store {
        Store::open(&folder.path().display().to_string(), Create::Always).expect("a store")
    }

    fn take(store: &Store, stop: &AtomicBool) -> Option<Lease> {
        let (author, _) = crate::author::own().expect("a name");
        let taken = Lease::take::<GateSays>(store, Task::GATE, &author, SILENCE, &Silent, stop);
        taken.expect("the store works").map(|(lease, _)| lease)
    }

    #[test]
    fn a_silent_holder_is_replaced_and_notices_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = store(&folder);
        let go = AtomicBool::new(false);
        let mut first = take(&store, &go).expect("nobody has it");
        first.beat(&store, false, GateSays::default()).expect("its own");

        let began = Instant::now();
        let mut second = take(&store, &go).expect("the first one is silent");
        assert!(began.elapsed() >= SILENCE);
        let replaced = first.beat(&store, false, GateSays::default()).expect_err("replaced");
        assert!(replaced.downcast_ref::<Replaced>().is_some(), "{replaced}");
        assert!(
            replaced.to_string().contains("another gate has taken over"),
            "{replaced}"
        );

        second.beat(&store, true, GateSays::default()).expect("its own");
        let began = Instant::now();
        take(&store, &go).expect("the second one has ended");
        assert!(began.elapsed() < SILENCE);
    }

    #[test]
    fn a_term_whose_file_cannot_be_read_has_begun() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = store(&folder);
        let mut lease = take(&store, &AtomicBool::new(false)).expect("nobody has it");
        let begun = store.files().put_new("fleet/terms/gate-000002.json", "not JSON");
        begun.expect("the store works");
        let replaced = lease.beat(&store, false, GateSays::default()).expect_err("replaced");
        assert!(replaced.downcast_ref::<Replaced>().is_some(), "{replaced}");
        assert_eq!(replaced.to_string(), "another gate has taken over");
    }

    #[test]
    fn a_replaced_holder_commits_no_checkpoint_and_no_model() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = store(&folder);
        let lease = take(&store, &AtomicBool::new(false)).expect("nobody has it");
        let files = tengen_store::CheckpointFiles::from([("weights".to_owned(), "some".into())]);
        let commit = |step| {
            let checkpoints = store.checkpoints();
            checkpoints.put_if(step, &files, || lease.term().check(&store))
        };
        let network = tengen_model::NetworkConfig::new(1, 8);
        let weights = tengen_model::Weights::random(&network, 1).expect("a valid network");
        let model = tengen_model::Model::new(weights);
        let publish = |generation| {
            let models = store.models();
            models.publish_if(generation, &model, || lease.term().check(&store))
        };
        commit(7).expect("its own");
        publish(7).expect("its own");
        let begun = store.files().put_new("fleet/terms/gate-000002.json", "{}");
        begun.expect("the store works");
        let replaced = commit(8).expect_err("replaced");
        assert!(replaced.downcast_ref::<Replaced>().is_some(), "{replaced}");
        assert_eq!(store.checkpoints().list().expect("the store works"), [7]);
        let replaced = publish(8).expect_err("replaced");
        assert!(replaced.downcast_ref::<Replaced>().is_some(), "{replaced}");
        let published = store.models().list().expect("the store works");
        assert_eq!(
            published.iter().map(|model| model.generation()).collect::<Vec<_>>(),
            [7]
        );
    }

    #[test]
    fn of_many_that_start_at_once_one_gets_the_task() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = store(&folder);
        let (stop, leases) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    if let Some(mut lease) = take(&store, &stop) {
                        lease.beat(&store, false, GateSays::default()).expect("its own");
                        leases.lock().expect("no panic").push(lease);
                    }
                });
            }
            std::thread::sleep(SILENCE / 2);
            stop.store(true, Ordering::SeqCst);
        });
        assert_eq!(leases.into_inner().expect("no panic").len(), 1);
    }
}
