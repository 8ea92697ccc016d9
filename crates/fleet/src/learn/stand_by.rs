//! Makes a process the only trainer of its run, and keeps its heartbeat going while it resumes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tengen_report::notices::TrainerSays;
use tengen_run::{Ledger, Opened, Training};

use crate::author;
use crate::lease::{Lease, Task, silence};

use super::WAIT;

/// Waits for the trainer's lease and takes it; `None` if the run is stopped first.
pub(super) fn take_lease(run: &Opened) -> anyhow::Result<Option<(Lease, Option<TrainerSays>)>> {
    let (author, _) = author::own()?;
    let silence = silence(run.config.loop_config.look_seconds);
    Lease::take(&run.store, Task::TRAINER, &author, silence, &*run.watch, &run.stop)
}

/// Resumes training, which takes a while if the window is large. Meanwhile, repeats the last trainer's notice as a
/// heartbeat, so that other processes see a live trainer.
pub(super) fn resume_alive(run: &Opened, lease: &mut Lease, says: TrainerSays) -> anyhow::Result<(Training, Ledger)> {
    let look_every = Duration::from_secs_f64(run.config.loop_config.look_seconds);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beating = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                lease.beat(&run.store, false, says.clone())?;
                let began = Instant::now();
                while began.elapsed() < look_every && !done.load(Ordering::SeqCst) {
                    std::thread::sleep(WAIT);
                }
            }
            anyhow::Ok(())
        });
        let resumed = {
            let _done = SetOnDrop(&done);
            Training::resume(run)
        };
        beating
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        resumed
    })
}

/// Sets a flag when dropped, even during a panic.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
