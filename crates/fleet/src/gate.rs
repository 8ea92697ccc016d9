//! The gate as a separate process: decides on one candidate after another until the run is finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;

use tengen_metrics::{Gate, Measured, Metrics};
use tengen_report::notices::{GateSays, Notice, TRAINER, TrainerSays, Work};
use tengen_run::{Clock, Failures, Gating, GpuMeter, Ledger, Opened, Settled, left_over, rejected};

use crate::alone::Hold;
use crate::author;
use crate::lease::{Lease, Replaced, Task, silence};
use crate::lock::wait_for_lock;
use crate::pause::pause;

/// Callbacks for the score of a match in progress and for each verdict.
type Listeners<'a> = (&'a (dyn Fn(String) + Sync), &'a dyn Fn(&Settled));

/// What a gate has decided.
#[derive(Clone, Debug, Default)]
pub struct Decided {
    /// The verdicts, in order.
    pub verdicts: Vec<Gate>,
    /// Whether the run is finished and no candidate is left.
    pub finished: bool,
}

/// Decides on every candidate that a run's trainer publishes, until the run is finished or [`Opened::stop`] is set.
/// Stands by while another gate is active. Calls `progress` with the score of the match in progress and `settled` with
/// each verdict.
///
/// # Errors
/// If the store stays unreachable for longer than the configured patience, or a match fails.
pub fn decide(
    run: &mut Opened,
    progress: &(dyn Fn(String) + Sync),
    settled: &dyn Fn(&Settled),
) -> anyhow::Result<Decided> {
    run.be_patient();
    run.say_when_away();
    let run = &*run;
    let mut decided = Decided::default();
    let lock = || Ok(run.store.lock_gate()?);
    let Some(_lock) = wait_for_lock(run, "another gate works for this run", lock)? else {
        return Ok(decided);
    };
    loop {
        match decide_in_turn(run, progress, settled, &mut decided) {
            Err(error) if error.downcast_ref::<Replaced>().is_some() => {
                run.watch.say(&format!("{error:#}; standing by"));
            }
            done => return done.map(|()| decided),
        }
    }
}

/// Decides on the candidates that exist now, then returns. Unless the store is a folder, first waits until no other
/// gate is active.
///
/// # Errors
/// As [`decide`], and if another gate or a run is active in the same folder.
pub fn decide_once(
    run: &mut Opened,
    progress: &(dyn Fn(String) + Sync),
    settled: &dyn Fn(&Settled),
) -> anyhow::Result<Decided> {
    run.be_patient();
    run.say_when_away();
    let run = &*run;
    let mut decided = Decided::default();
    let lock = run.store.lock_gate()?;
    let _hold = match &lock {
        Some(_) => None,
        None => match Hold::of_gate(run)? {
            None => return Ok(decided),
            hold => hold,
        },
    };
    let stopping = || run.stop.load(Ordering::SeqCst);
    let mut gating = Gating::new(run);
    while !stopping()
        && let Some(candidate) = left_over(run)?
    {
        if let Some(done) = gating.settle(&candidate, progress, &stopping)? {
            settled(&done);
            decided.verdicts.push(done.event());
        }
    }
    Ok(decided)
}

/// Waits for the gate's lease, then decides until the run is finished or stopped.
fn decide_in_turn(
    run: &Opened,
    progress: &(dyn Fn(String) + Sync),
    settled: &dyn Fn(&Settled),
    decided: &mut Decided,
) -> anyhow::Result<()> {
    let (author, _) = author::own()?;
    let silence = silence(run.config.loop_config.look_seconds);
    let taken = Lease::take::<GateSays>(&run.store, Task::GATE, &author, silence, &*run.watch, &run.stop)?;
    let Some((lease, before)) = taken else {
        return Ok(());
    };
    let clock = Clock::start(Ledger::default(), false);
    let says = Arc::new(Mutex::new(GateSays {
        device: run.device_in_words(),
        rejected: rejected(run)?,
        work: before.map_or_else(Work::default, |before| before.work),
        ..GateSays::default()
    }));
    let (ended, failures) = (AtomicBool::new(false), Failures::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let done = failures.catch("telling others about the gate", || {
                tell(run, lease, &says, &clock, &ended)
            });
            if done.is_none() {
                ended.store(true, Ordering::SeqCst);
            }
        });
        failures.catch("the gate", || work(run, &says, &ended, (progress, settled), decided));
        ended.store(true, Ordering::SeqCst);
    });
    failures.into_result(&*run.watch)
}

/// Sends the gate's heartbeats until the gate has ended.
fn tell(
    run: &Opened,
    mut lease: Lease,
    says: &Mutex<GateSays>,
    clock: &Clock,
    ended: &AtomicBool,
) -> anyhow::Result<()> {
    let look_every = Duration::from_secs_f64(run.config.loop_config.look_seconds);
    let before = says.lock().unwrap_or_else(PoisonError::into_inner).work;
    let mut gpus = GpuMeter::default();
    loop {
        let ending = ended.load(Ordering::SeqCst);
        let mut now = says.lock().unwrap_or_else(PoisonError::into_inner).clone();
        now.work.cpu_seconds = before.cpu_seconds + clock.read(0).cpu_seconds;
        now.gpu_busy = gpus.busy();
        now.operations = run.store.operations();
        lease.beat(&run.store, ending, now)?;
        if ending {
            return Ok(());
        }
        pause(look_every, || ended.load(Ordering::SeqCst));
    }
}

/// Decides on one candidate after another.
fn work(
    run: &Opened,
    says: &Mutex<GateSays>,
    ended: &AtomicBool,
    (progress, tell): Listeners<'_>,
    decided: &mut Decided,
) -> anyhow::Result<()> {
    let look_every = Duration::from_secs_f64(run.config.loop_config.look_seconds);
    let stopping = || run.stop.load(Ordering::SeqCst) || ended.load(Ordering::SeqCst);
    let says = || says.lock().unwrap_or_else(PoisonError::into_inner);
    let metrics = Metrics::of(&run.store, &run.folder()?)?;
    let mut gating = Gating::new(run);
    // The newest model at the last poll that found nothing to do.
    let mut looked_at = None;
    while !stopping() {
        let trainer = Notice::<TrainerSays>::read(&run.store, TRAINER)?.map(|notice| notice.says);
        let newest = trainer.as_ref().and_then(|says| says.newest_model.clone());
        // Listing all models gets slower as a run ages, so skip it if the trainer still names the same model.
        let candidate = match newest.is_some() && newest == looked_at {
            true => None,
            false => left_over(run)?,
        };
        let Some(candidate) = candidate else {
            looked_at = newest;
            if trainer.is_some_and(|says| says.finished) {
                decided.finished = true;
                break;
            }
            pause(look_every, stopping);
            continue;
        };
        let show = |text: String| {
            says().playing.clone_from(&text);
            progress(text);
        };
        let settled = gating.settle(&candidate, &show, &stopping);
        says().playing.clear();
        let Some(settled) = settled.context("the match failed; the same command resumes it")? else {
            break;
        };
        says().rejected += u32::from(!settled.promoted);
        let elapsed = trainer.map_or(0.0, |says| says.elapsed_seconds);
        metrics.note(elapsed, Measured::Gate(settled.event()));
        let ratings = gating.ratings()?;
        for rating in gating.moved(ratings) {
            metrics.note(elapsed, Measured::Rating(rating));
        }
        tell(&settled);
        decided.verdicts.push(settled.event());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use tengen_store::StoreError;

    #[test]
    fn in_a_folder_one_gate_works_at_a_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let other = testing::run(folder.path()).store.lock_gate().expect("free");
        let once = |run: &mut Opened| decide_once(run, &|_| {}, &|_| {});
        let refused = once(&mut testing::run(folder.path())).expect_err("another gate works");
        assert!(
            matches!(refused.downcast_ref(), Some(StoreError::Locked { .. })),
            "{refused}"
        );

        let mut run = testing::run(folder.path());
        let (store, stop) = (run.store.clone(), Arc::clone(&run.stop));
        let waiting = std::thread::spawn(move || decide(&mut run, &|_| {}, &|_| {}).map(|decided| decided.finished));
        std::thread::sleep(Duration::from_millis(200));
        let terms = store.files().list("fleet/terms").expect("the store works");
        assert!(terms.is_empty(), "it has begun: {terms:?}");
        stop.store(true, Ordering::SeqCst);
        assert!(!waiting.join().expect("no panic").expect("a clean end"));

        drop(other);
        let decided = once(&mut testing::run(folder.path())).expect("nobody works");
        assert!(decided.verdicts.is_empty());
    }
}
