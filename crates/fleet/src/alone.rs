//! A whole run in one process, in a store that other machines can reach: it holds the tasks of the trainer and of the
//! gate, so that nobody else does them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tengen_report::notices::{GateSays, TrainerSays};
use tengen_run::{Opened, RunConfig, Setup, Summary, Watch, run_locked};
use tengen_store::Store;

use crate::author;
use crate::lease::{Lease, Replaced, Task, silence};
use crate::pause::pause;

/// [`tengen_run::run`], but in a store that is not a folder, waits until no other trainer or gate works there, and
/// keeps others from beginning. In a folder, a lock does that.
///
/// # Errors
/// As [`tengen_run::run`], and if the store fails.
pub fn run_alone(config: &RunConfig, location: &str, setup: &Setup) -> anyhow::Result<Option<Summary>> {
    let mut run = Opened::open(config, location, setup)?;
    run.be_patient();
    let _lock = run.lock()?;
    let _gate = run.store.lock_gate()?;
    let _hold = match run.store.local_path() {
        Some(_) => None,
        None => {
            let look_seconds = run.config.loop_config.look_seconds;
            match Hold::take(&run.store, look_seconds, &run.watch, &run.stop)? {
                None => return Ok(None),
                hold => hold,
            }
        }
    };
    run_locked(&mut run)
}

/// The task of the gate, and of the trainer too for a whole run, until it is dropped.
pub(crate) struct Hold {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hold {
    /// Waits until nobody else has the task of the gate. `None` if [`Opened::stop`] was set before. If the task is lost
    /// later, says so and sets that.
    pub(crate) fn of_gate(run: &Opened) -> anyhow::Result<Option<Hold>> {
        let (author, _) = author::own()?;
        let look_seconds = run.config.loop_config.look_seconds;
        let silence = silence(look_seconds);
        let taken = Lease::take::<GateSays>(&run.store, Task::GATE, &author, silence, &*run.watch, &run.stop)?;
        let Some((lease, before)) = taken else {
            return Ok(None);
        };
        let mut holder = Holder {
            store: run.store.clone(),
            trainer: None,
            gate: Some(lease),
            says: Says {
                gate: GateSays {
                    playing: String::new(),
                    ..before.unwrap_or_default()
                },
                ..Says::default()
            },
        };
        holder.beat(false)?;
        holder.start(look_seconds, &run.watch, &run.stop).map(Some)
    }

    /// Waits until nobody else has the tasks. `None` if `stop` was set before. If they are lost later, because this
    /// process was cut off for long, says so and sets `stop`.
    fn take(
        store: &Store,
        look_seconds: f64,
        watch: &Arc<dyn Watch>,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Option<Hold>> {
        let (author, _) = author::own()?;
        let silence = silence(look_seconds);
        let Some((trainer, before)) =
            Lease::take::<TrainerSays>(store, Task::TRAINER, &author, silence, &**watch, stop)?
        else {
            return Ok(None);
        };
        let mut holder = Holder {
            store: store.clone(),
            trainer: Some(trainer),
            gate: None,
            says: Says {
                // Workers of other machines wait, because the games of this run are its own.
                trainer: TrainerSays {
                    room: 0,
                    finished: false,
                    ..before.unwrap_or_default()
                },
                gate: GateSays::default(),
            },
        };
        // Waiting for the gate must not look like silence.
        holder.beat(false)?;
        let Some((gate, _)) = Lease::take::<GateSays>(store, Task::GATE, &author, silence, &**watch, stop)? else {
            holder.beat(true)?;
            return Ok(None);
        };
        holder.gate = Some(gate);
        holder.beat(false)?;
        holder.start(look_seconds, watch, stop).map(Some)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // The thread has nothing to report that it has not said.
            thread.join().ok();
        }
    }
}

/// What the holding thread works with.
struct Holder {
    store: Store,
    trainer: Option<Lease>,
    gate: Option<Lease>,
    says: Says,
}

/// What it writes.
#[derive(Default)]
struct Says {
    trainer: TrainerSays,
    gate: GateSays,
}

impl Holder {
    /// Starts the thread. If a task is lost, it says so and sets `stop`.
    fn start(self, look_seconds: f64, watch: &Arc<dyn Watch>, stop: &Arc<AtomicBool>) -> anyhow::Result<Hold> {
        let ended = Arc::new(AtomicBool::new(false));
        let (watch, stop, end) = (Arc::clone(watch), Arc::clone(stop), Arc::clone(&ended));
        let thread = std::thread::Builder::new().name("hold".to_owned()).spawn(move || {
            if let Err(error) = self.keep(Duration::from_secs_f64(look_seconds), &end) {
                watch.say(&format!("{error}; this one stops"));
                stop.store(true, Ordering::SeqCst);
            }
        })?;
        Ok(Hold {
            ended,
            thread: Some(thread),
        })
    }

    /// Shows signs of life until `ended` is set.
    ///
    /// # Errors
    /// If another process has a task now.
    fn keep(mut self, look_every: Duration, ended: &AtomicBool) -> Result<(), Replaced> {
        loop {
            let ending = ended.load(Ordering::SeqCst);
            if let Err(error) = self.beat(ending) {
                match error.downcast::<Replaced>() {
                    Ok(replaced) => return Err(replaced),
                    // The run itself reports a store that stays away.
                    Err(error) => tracing::warn!("cannot say that this run goes on: {error}"),
                }
            }
            if ending {
                return Ok(());
            }
            pause(look_every, || ended.load(Ordering::SeqCst));
        }
    }

    /// Writes the notices.
    fn beat(&mut self, ended: bool) -> anyhow::Result<()> {
        if let Some(trainer) = &mut self.trainer {
            self.says.trainer.operations = self.store.operations();
            trainer.beat(&self.store, ended, self.says.trainer.clone())?;
        }
        if let Some(gate) = &mut self.gate {
            gate.beat(&self.store, ended, self.says.gate.clone())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tengen_report::notices::{GATE, Notice};
    use tengen_run::Silent;
    use tengen_store::{Create, StoreError};

    const LOOK_SECONDS: f64 = 0.1;

    fn hold(store: &Store, stop: &Arc<AtomicBool>) -> Option<Hold> {
        let watch: Arc<dyn Watch> = Arc::new(Silent);
        Hold::take(store, LOOK_SECONDS, &watch, stop).expect("the store works")
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
        // Longer than a silent holder would be waited for.
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
        // Another process has seen nothing of this one for long.
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
