//! A whole run in one process, in a store that other machines can reach. It holds the leases of the trainer and the
//! gate, so that no other process takes over either task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use tengen_report::notices::{GateSays, TrainerSays};
use tengen_run::{Opened, RunConfig, Setup, Summary, Watch, run_locked};
use tengen_store::Store;

use crate::author;
use crate::lease::{Lease, Replaced, Task, silence};
use crate::pause::pause;

/// [`tengen_run::run`] for a store that other machines can reach: waits until no other trainer or gate is active there,
/// and keeps others from starting. If the store is a folder, locks do that.
///
/// # Errors
/// As [`tengen_run::run`], and if the store fails or its gate is locked.
pub fn run_alone(config: &RunConfig, location: &str, setup: &Setup) -> anyhow::Result<Option<Summary>> {
    let mut run = Opened::open(config, location, setup)?;
    run.be_patient();
    let _lock = run.lock()?;
    let _gate = run.store.lock_gate()?;
    let _hold = match run.store.local_path() {
        Some(_) => None,
        None => match Place::of(&run).hold_both()? {
            None => return Ok(None),
            hold => hold,
        },
    };
    run_locked(&mut run)
}

/// Holds a lease by heartbeats, on a thread of its own, until dropped.
pub(crate) struct Hold {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hold {
    /// Waits for the gate's lease and takes it. `None` if [`Opened::stop`] is set first. If the lease is lost later,
    /// reports that and sets `stop`.
    pub(crate) fn of_gate(run: &Opened) -> anyhow::Result<Option<Hold>> {
        Place::of(run).hold(Task::GATE, |says: &mut GateSays, _| says.playing.clear())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // The thread has already reported any failure.
            thread.join().ok();
        }
    }
}

/// Where leases are held, and who is told about them.
struct Place<'a> {
    store: &'a Store,
    look_seconds: f64,
    watch: &'a Arc<dyn Watch>,
    stop: &'a Arc<AtomicBool>,
}

impl Place<'_> {
    fn of(run: &Opened) -> Place<'_> {
        Place {
            store: &run.store,
            look_seconds: run.config.loop_config.look_seconds,
            watch: &run.watch,
            stop: &run.stop,
        }
    }

    /// Waits for the leases of the trainer and the gate and takes both. `None` if `stop` is set first. If one is lost
    /// later, because this process was cut off for too long, reports that and sets `stop`.
    fn hold_both(&self) -> anyhow::Result<Option<[Hold; 2]>> {
        let trainer = self.hold(Task::TRAINER, |says: &mut TrainerSays, store| {
            // Workers on other machines get no room, because this run plays its own games.
            says.room = 0;
            says.finished = false;
            says.operations = store.operations();
        })?;
        let Some(trainer) = trainer else { return Ok(None) };
        let gate = self.hold(Task::GATE, |says, _| *says = GateSays::default())?;
        Ok(gate.map(|gate| [trainer, gate]))
    }

    /// Waits for a lease and takes it. Each heartbeat says what the last holder said, changed by `update`.
    fn hold<T>(&self, task: Task, update: fn(&mut T, &Store)) -> anyhow::Result<Option<Hold>>
    where
        T: Serialize + DeserializeOwned + Clone + Default + Send + 'static,
    {
        let (author, _) = author::own()?;
        let silence = silence(self.look_seconds);
        let taken = Lease::take::<T>(self.store, task, &author, silence, &**self.watch, self.stop)?;
        let Some((lease, before)) = taken else {
            return Ok(None);
        };
        let mut holder = Holder {
            store: self.store.clone(),
            lease,
            says: before.unwrap_or_default(),
            update,
        };
        holder.beat(false)?;
        let ended = Arc::new(AtomicBool::new(false));
        let look_every = Duration::from_secs_f64(self.look_seconds);
        let (watch, stop, end) = (Arc::clone(self.watch), Arc::clone(self.stop), Arc::clone(&ended));
        let thread = std::thread::Builder::new().name("hold".to_owned()).spawn(move || {
            if let Err(error) = holder.keep(look_every, &end) {
                watch.say(&format!("{error}; this one stops"));
                stop.store(true, Ordering::SeqCst);
            }
        })?;
        Ok(Some(Hold {
            ended,
            thread: Some(thread),
        }))
    }
}

/// The state of the holding thread.
struct Holder<T> {
    store: Store,
    lease: Lease,
    says: T,
    update: fn(&mut T, &Store),
}

impl<T: Serialize + DeserializeOwned + Clone> Holder<T> {
    /// Sends heartbeats until `ended` is set.
    ///
    /// # Errors
    /// If another process has taken over the task.
    fn keep(mut self, look_every: Duration, ended: &AtomicBool) -> Result<(), Replaced> {
        loop {
            let ending = ended.load(Ordering::SeqCst);
            if let Err(error) = self.beat(ending) {
                match error.downcast::<Replaced>() {
                    Ok(replaced) => return Err(replaced),
                    // The run itself reports a store that stays unreachable.
                    Err(error) => tracing::warn!("cannot say that this run goes on: {error}"),
                }
            }
            if ending {
                return Ok(());
            }
            pause(look_every, || ended.load(Ordering::SeqCst));
        }
    }

    fn beat(&mut self, ended: bool) -> anyhow::Result<()> {
        (self.update)(&mut self.says, &self.store);
        self.lease.beat(&self.store, ended, self.says.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tengen_report::notices::{GATE, Notice, TRAINER};
    use tengen_run::Silent;
    use tengen_store::{Create, StoreError};

    // Long enough that writes to a busy disk do not look like silence.
    const LOOK_SECONDS: f64 = 0.3;

    fn hold(store: &Store, stop: &Arc<AtomicBool>) -> Option<[Hold; 2]> {
        let watch: &Arc<dyn Watch> = &(Arc::new(Silent) as _);
        let place = Place {
            store,
            look_seconds: LOOK_SECONDS,
            watch,
            stop,
        };
        place.hold_both().expect("the store works")
    }

    fn trainer(store: &Store, stop: &AtomicBool) -> Option<Lease> {
        let (author, _) = author::own().expect("a name");
        let taken = Lease::take::<TrainerSays>(store, Task::TRAINER, &author, silence(LOOK_SECONDS), &Silent, stop);
        taken.expect("the store works").map(|(lease, _)| lease)
    }

    #[test]
    fn while_a_run_goes_on_no_trainer_begins() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(&folder.path().display().to_string(), Create::Always).expect("a store");
        let go = Arc::new(AtomicBool::new(false));
        let held = hold(&store, &go).expect("nobody has it");
        let stop = Arc::new(AtomicBool::new(false));
        let waiting = {
            let (store, stop) = (store.clone(), Arc::clone(&stop));
            std::thread::spawn(move || trainer(&store, &stop).is_some())
        };
        // Longer than it takes to give up on a silent holder.
        std::thread::sleep(silence(LOOK_SECONDS) * 2);
        assert!(!waiting.is_finished());
        drop(held);
        assert!(waiting.join().expect("no panic"), "the run has ended");
        assert!(!go.load(Ordering::SeqCst));
    }

    #[test]
    fn a_run_that_was_cut_off_stops() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(&folder.path().display().to_string(), Create::Always).expect("a store");
        let stop = Arc::new(AtomicBool::new(false));
        let held = hold(&store, &stop).expect("nobody has it");
        // Another process takes over, as it would after a long silence.
        let (other, _) = author::own().expect("a name");
        let name = serde_json::to_vec(&other).expect("JSON");
        let begun = store.files().put_new("fleet/terms/gate-000002.json", name);
        begun.expect("the store works");
        let began = Instant::now();
        while !stop.load(Ordering::SeqCst) {
            assert!(began.elapsed() < Duration::from_secs(60), "it never noticed");
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(held);
    }

    #[test]
    fn no_trainer_begins_while_a_run_waits_for_the_gate() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = crate::testing::run(folder.path());
        let gate = Hold::of_gate(&run).expect("the store works").expect("nobody has it");
        let [go, stop] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let run_waits = {
            let (store, go) = (run.store.clone(), Arc::clone(&go));
            std::thread::spawn(move || hold(&store, &go).is_some())
        };
        while Notice::<TrainerSays>::read(&run.store, TRAINER)
            .expect("the store works")
            .is_none()
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        let trainer_waits = {
            let (store, stop) = (run.store.clone(), Arc::clone(&stop));
            std::thread::spawn(move || trainer(&store, &stop).is_some())
        };
        std::thread::sleep(silence(LOOK_SECONDS) * 2);
        assert!(!run_waits.is_finished() && !trainer_waits.is_finished());
        stop.store(true, Ordering::SeqCst);
        assert!(!trainer_waits.join().expect("no panic"));
        drop(gate);
        assert!(run_waits.join().expect("no panic"), "the gate has ended");
    }

    #[test]
    fn no_run_begins_in_a_folder_while_a_gate_works_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let gate = crate::testing::run(folder.path()).store.lock_gate().expect("free");
        let (config, location) = crate::testing::config(folder.path());
        let refused = run_alone(&config, &location, &crate::testing::setup(folder.path())).expect_err("a gate works");
        assert!(
            matches!(refused.downcast_ref(), Some(StoreError::Locked { .. })),
            "{refused}"
        );
        drop(gate);
    }

    #[test]
    fn the_gate_alone_is_held_until_the_end() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = crate::testing::run(folder.path());
        let noticed = || {
            let notice = Notice::<GateSays>::read(&run.store, GATE).expect("the store works");
            notice.expect("a notice")
        };
        let held = Hold::of_gate(&run).expect("the store works");
        assert!(held.is_some() && !noticed().ended);
        drop(held);
        assert!(noticed().ended);
    }
}
