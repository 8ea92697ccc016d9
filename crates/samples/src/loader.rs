//! Reads shards on background threads: a trainer submits them, continues with its steps, and collects those that are
//! ready.
//!
//! Checking a shard replays all its games, which takes longer than many training steps, and a store may be slow or
//! unavailable. The trainer should wait for neither. Shards come back in the order in which they were submitted, so
//! what the trainer draws depends only on that order, not on which thread was faster.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crossbeam_channel::{Receiver, Sender, unbounded};

use tengen_store::{ShardInfo, Store};

use crate::loaded_shard::{ReadShard, UnpackOn, Unpacker};
use crate::samples::SampleError;

/// The maximum number of shards per thread in progress or ready but not collected, which bounds their memory.
const AHEAD: usize = 4;

/// A shard to read, with its submission number.
type Job = (u64, ShardInfo);

/// The outcome of a job; an outer error is its thread's panic.
type Outcome = std::thread::Result<Result<ReadShard, SampleError>>;

/// A job's number and its outcome.
type Done = (u64, Outcome);

/// Reads, checks, and unpacks shards in the background. Dropping it abandons what it has not returned.
pub struct Loader {
    reader: Reader,
    /// How many threads there may be, and how many there are. They start on demand.
    threads: usize,
    started: usize,
    jobs: (Sender<Job>, Receiver<Job>),
    done: (Sender<Done>, Receiver<Done>),
    /// Paths of all shards submitted or to be skipped.
    known: BTreeSet<String>,
    /// Shards waiting for a thread, in order.
    waiting: VecDeque<ShardInfo>,
    /// Outcomes that arrived before their turn, by the number of the job.
    early: BTreeMap<u64, Outcome>,
    /// Positions of each shard in progress or done, in order.
    begun: VecDeque<u64>,
    /// Number of the job whose outcome is returned next.
    next: u64,
}

#[derive(Clone)]
struct Reader {
    store: Store,
    unpacker: Unpacker,
}

impl Loader {
    /// A loader of a store's shards with up to `threads` threads, at least one.
    pub(crate) fn new(store: &Store, unpacker: &Unpacker, threads: usize) -> Loader {
        Loader {
            reader: Reader {
                store: store.clone(),
                unpacker: unpacker.clone(),
            },
            threads: threads.max(1),
            started: 0,
            jobs: unbounded(),
            done: unbounded(),
            known: BTreeSet::new(),
            waiting: VecDeque::new(),
            early: BTreeMap::new(),
            begun: VecDeque::new(),
            next: 0,
        }
    }

    /// Submits a shard to be read after all earlier ones. Ignores one that was submitted before or is to be skipped.
    /// Never blocks.
    ///
    /// # Errors
    /// [`SampleError::Thread`] if a thread cannot be started.
    pub fn offer(&mut self, shard: ShardInfo) -> Result<(), SampleError> {
        if self.known.insert(shard.path.clone()) {
            self.waiting.push_back(shard);
        }
        self.begin_jobs()
    }

    /// Marks shards to be ignored when submitted.
    pub fn skip<'a>(&mut self, shards: impl IntoIterator<Item = &'a ShardInfo>) {
        self.known.extend(shards.into_iter().map(|shard| shard.path.clone()));
    }

    /// The shards that are ready, in submission order, up to the first one that is not. Never blocks.
    ///
    /// # Errors
    /// The first failure: [`SampleError::Store`] if the store failed, [`SampleError::Cache`] if there was no space for
    /// the games, or [`SampleError::Thread`]. The shards before it are lost to the caller.
    ///
    /// # Panics
    /// Resumes the panic of the thread that read a shard.
    pub fn take_ready(&mut self) -> Result<Vec<ReadShard>, SampleError> {
        let mut ready = Vec::new();
        loop {
            self.early.extend(self.done.1.try_iter());
            match self.early.remove(&self.next) {
                Some(outcome) => ready.push(self.give_back(outcome)?),
                None => return Ok(ready),
            }
        }
    }

    /// Waits for the next shard in order; `None` if none is left.
    ///
    /// # Errors
    /// Same as [`Loader::take_ready`].
    ///
    /// # Panics
    /// Same as [`Loader::take_ready`].
    pub fn wait_for_next(&mut self) -> Result<Option<ReadShard>, SampleError> {
        while !self.begun.is_empty() {
            if let Some(outcome) = self.early.remove(&self.next) {
                return self.give_back(outcome).map(Some);
            }
            let (number, outcome) = self.done.1.recv().expect("the loader holds a sender, too");
            self.early.insert(number, outcome);
        }
        Ok(None)
    }

    /// Positions of the shards that were submitted and not returned yet.
    pub fn positions(&self) -> u64 {
        self.begun.iter().sum::<u64>() + self.waiting.iter().map(ShardInfo::positions).sum::<u64>()
    }

    fn give_back(&mut self, outcome: Outcome) -> Result<ReadShard, SampleError> {
        self.next += 1;
        self.begun.pop_front();
        self.begin_jobs()?;
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Gives the threads as many shards as they may have, and starts the threads needed for them.
    fn begin_jobs(&mut self) -> Result<(), SampleError> {
        while self.begun.len() < self.threads * AHEAD
            && let Some(shard) = self.waiting.pop_front()
        {
            if self.started < self.threads.min(self.begun.len() + 1) {
                let (reader, jobs, done) = (self.reader.clone(), self.jobs.1.clone(), self.done.0.clone());
                let thread = std::thread::Builder::new().name(format!("reader {}", self.started));
                thread.spawn(move || reader.work(&jobs, &done))?;
                self.started += 1;
            }
            let number = self.next + self.begun.len() as u64;
            self.begun.push_back(shard.positions());
            self.jobs
                .0
                .send((number, shard))
                .expect("the loader holds a receiver, too");
        }
        Ok(())
    }
}

impl Reader {
    /// Reads shards until the loader is gone.
    fn work(&self, jobs: &Receiver<Job>, done: &Sender<Done>) {
        for (number, shard) in jobs {
            // On this thread alone: the pool's threads belong to the batches.
            let read = || self.unpacker.read(&self.store, &shard, UnpackOn::Caller);
            if done.send((number, catch_unwind(AssertUnwindSafe(read)))).is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SampleConfig, SampleSource};
    use tengen_store::Create;

    #[test]
    fn a_panic_of_a_thread_is_that_of_the_caller() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
        let mut loader = SampleSource::new(SampleConfig::default()).loader(&store);
        loader.begun.push_back(1);
        loader.done.0.send((0, Err(Box::new("struck by lightning")))).unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| loader.take_ready())).err().unwrap();
        assert_eq!(*panic.downcast::<&str>().unwrap(), "struck by lightning");
    }
}
