//! Which workers are alive, and what all of them and the gate have spent. A worker is alive as long as it keeps
//! replacing its notice.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tengen_report::notices::{GATE, GateSays, Notice, WORKERS, Work, WorkerSays, worker_path};
use tengen_store::{Operations, Store, StoreError};

/// How long a worker counts as alive after its last notice: this time or this many of its notice intervals, whichever
/// is longer.
const ALIVE: Duration = Duration::from_secs(60);
const ALIVE_NOTICES: f64 = 3.0;

/// How long after its last notice a worker that said that it ends is retired: its costs are added up for good, and the
/// notice is deleted.
const RETIRE_AFTER: Duration = Duration::from_secs(3600);

/// The same for a worker that did not say so. It may only be suspended, and counts all of its costs again when it
/// wakes up after it was retired.
const RETIRE_SILENT_AFTER: Duration = Duration::from_secs(24 * 3600);

/// What all workers have done, and how fast they work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Effort {
    /// What all of them have spent, dead or alive, and the gate's CPU time.
    pub(crate) work: Work,
    /// Games per second of those that are alive.
    pub(crate) games_per_second: f64,
    /// Network evaluations per second of those that are alive.
    pub(crate) evaluations_per_second: f64,
    /// Store operations of those that are alive, since they started.
    pub(crate) operations: Operations,
}

/// What the trainer knows about a worker's notice.
struct Seen {
    /// The store's modification time, to be compared only with that of other notices.
    modified_ms: u64,
    /// When the trainer saw it change; at first, an estimate.
    changed: Instant,
    says: WorkerSays,
    ended: bool,
    /// Whether `says` and `ended` come from the notice at `modified_ms`.
    is_read: bool,
}

impl Seen {
    fn is_alive(&self) -> bool {
        let notices = Duration::from_secs_f64(ALIVE_NOTICES * self.says.notice_seconds.clamp(0.0, 1e6));
        !self.ended && self.changed.elapsed() < ALIVE.max(notices)
    }

    /// Whether it can be retired, this long after its last notice.
    fn is_gone(&self, silence: Duration) -> bool {
        let wait = if self.ended { RETIRE_AFTER } else { RETIRE_SILENT_AFTER };
        self.is_read && silence >= wait
    }
}

/// The workers of a run, according to their notices.
#[derive(Default)]
pub(crate) struct Workers {
    seen: BTreeMap<String, Seen>,
    /// What retired workers have spent.
    pub(crate) retired: Work,
    /// Retired workers whose notices may still be there.
    pub(crate) retiring: Vec<String>,
    /// What the gate has spent, if it is a process of its own.
    gate: Work,
}

impl Workers {
    /// Continues from the totals of an earlier trainer.
    pub(crate) fn after(retired: Work, retiring: Vec<String>) -> Workers {
        Workers {
            retired,
            retiring,
            ..Workers::default()
        }
    }

    /// Finds the notices that have changed, with one listing.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn look(&mut self, store: &Store) -> Result<(), StoreError> {
        let now = Instant::now();
        let listed = store.files().modified(WORKERS)?;
        let newest = listed.iter().map(|(_, _, modified_ms)| *modified_ms).max().unwrap_or(0);
        for (path, _, modified_ms) in listed {
            let name = path.strip_prefix(WORKERS).and_then(|rest| rest.strip_prefix('/'));
            let Some(name) = name.and_then(|name| name.strip_suffix(".json")) else {
                continue;
            };
            if self.retiring.iter().any(|retiring| retiring == name) {
                continue;
            }
            // At first, a notice's age is known only relative to the newest one.
            let age = Duration::from_millis(newest - modified_ms);
            let seen = self.seen.entry(name.to_owned()).or_insert_with(|| Seen {
                modified_ms,
                changed: now.checked_sub(age).unwrap_or(now),
                says: WorkerSays::default(),
                ended: false,
                is_read: false,
            });
            if seen.modified_ms != modified_ms {
                seen.modified_ms = modified_ms;
                seen.changed = now;
                seen.is_read = false;
            }
        }
        Ok(())
    }

    /// Reads the gate's notice and those that have changed, to learn what their authors have spent.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn read(&mut self, store: &Store) -> Result<(), StoreError> {
        for (name, seen) in self.seen.iter_mut().filter(|(_, seen)| !seen.is_read) {
            if let Some(notice) = Notice::<WorkerSays>::read(store, &worker_path(name))? {
                seen.says = notice.says;
                seen.ended = notice.ended;
                seen.is_read = true;
            }
        }
        if let Some(gate) = Notice::<GateSays>::read(store, GATE)? {
            self.gate = gate.says.work;
        }
        Ok(())
    }

    /// Retires workers that are long gone. Their notices may be deleted once the new totals are in the store.
    pub(crate) fn retire(&mut self) {
        let old: Vec<String> = self
            .seen
            .iter()
            .filter(|(_, seen)| seen.is_gone(seen.changed.elapsed()))
            .map(|(name, _)| name.clone())
            .collect();
        for name in old {
            if let Some(seen) = self.seen.remove(&name) {
                self.retired = self.retired.plus(seen.says.work);
                self.retiring.push(name);
            }
        }
    }

    /// Deletes the notices of retired workers.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) fn forget(&mut self, store: &Store) -> Result<(), StoreError> {
        while let Some(name) = self.retiring.last() {
            store.files().delete(&worker_path(name))?;
            self.retiring.pop();
        }
        Ok(())
    }

    /// What all workers and the gate have done.
    pub(crate) fn effort(&self) -> Effort {
        let mut effort = Effort {
            work: self.retired.plus(self.gate),
            ..Effort::default()
        };
        for seen in self.seen.values() {
            effort.work = effort.work.plus(seen.says.work);
            if seen.is_alive() {
                effort.games_per_second += seen.says.games_per_second;
                effort.evaluations_per_second += seen.says.evaluations_per_second;
                effort.operations = effort.operations.plus(seen.says.operations);
            }
        }
        effort
    }

    /// The workers that are alive, with the time since their last notice.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (&String, Duration)> {
        let alive = self.seen.iter().filter(|(_, seen)| seen.is_alive());
        alive.map(|(name, seen)| (name, seen.changed.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{author, testing};

    #[test]
    fn a_damaged_notice_is_read_again_and_not_retired() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = testing::run(folder.path()).store;
        let path = worker_path("w");
        let mut workers = Workers::default();
        let games = |workers: &mut Workers| {
            workers.look(&store).expect("the store works");
            workers.read(&store).expect("the store works");
            workers.effort().work.games
        };
        store.files().replace(&path, b"torn".to_vec()).expect("written");
        assert_eq!(games(&mut workers), 0);
        assert!(
            !workers.seen["w"].is_read,
            "its costs are unknown, so it cannot be retired"
        );
        let mut says = WorkerSays::default();
        says.work.games = 7;
        let (author, _) = author::own().expect("a name");
        let notice = Notice::new(&author, 1, true, says);
        notice.write(&store, &path).expect("written");
        assert_eq!(games(&mut workers), 7);
        assert!(workers.seen["w"].is_read);
    }

    #[test]
    fn the_gate_costs_processor_time_too() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = testing::run(folder.path()).store;
        let work = |cpu_seconds| Work {
            cpu_seconds,
            ..Work::default()
        };
        let (author, _) = author::own().expect("a name");
        let worker = WorkerSays {
            work: work(7.0),
            ..WorkerSays::default()
        };
        let notice = Notice::new(&author, 1, false, worker);
        notice.write(&store, &worker_path("w")).expect("written");
        let mut workers = Workers::after(work(100.0), Vec::new());
        let mut spent = || {
            workers.look(&store).expect("the store works");
            workers.read(&store).expect("the store works");
            workers.effort().work.cpu_seconds
        };
        assert_eq!(spent(), 107.0);
        for cpu_seconds in [20.0, 30.0] {
            let gate = GateSays {
                work: work(cpu_seconds),
                ..GateSays::default()
            };
            let notice = Notice::new(&author, 1, false, gate);
            notice.write(&store, GATE).expect("written");
            assert_eq!(spent(), 107.0 + cpu_seconds);
        }
    }

    #[test]
    fn a_worker_that_may_only_be_suspended_is_not_retired_soon() {
        let seen = |ended| Seen {
            modified_ms: 0,
            changed: Instant::now(),
            says: WorkerSays::default(),
            ended,
            is_read: true,
        };
        let after = |ended, hours: u64| seen(ended).is_gone(Duration::from_secs(hours * 3600));
        assert!(!after(true, 0) && after(true, 1));
        assert!(!after(false, 23) && after(false, 24));
        let unread = Seen {
            is_read: false,
            ..seen(true)
        };
        assert!(!unread.is_gone(RETIRE_SILENT_AFTER), "its costs are unknown");
    }
}
