//! Training on the games of a store, without playing: by one process, or by several together.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::bail;

use tengen_store::RunLock;
use tengen_trainer::{Losses, Word};

use crate::failures::Failures;
use crate::ledger::Clock;
use crate::opened::Opened;
use crate::ranks::Ranks;
use crate::training::Training;

/// How often to check the store for new games.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How often to check whether there are enough games for a step.
const WAIT: Duration = Duration::from_millis(100);

/// When training ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// Number of steps to train, regardless of the reuse ratio; `None` trains until the reuse ratio is reached.
    pub steps: Option<u64>,
    /// Whether to wait for more games and never to end.
    pub follow: bool,
}

/// What training has done.
#[derive(Clone, Debug)]
pub struct Learned {
    /// Training steps since the run began.
    pub steps: u64,
    /// Those of this process.
    pub made: u64,
    /// Samples trained on in a second, by all processes together.
    pub samples_per_second: f64,
    /// The losses of the last step.
    pub losses: Option<Losses>,
    /// The last model that was published.
    pub model: Option<String>,
    /// Whether a signal ended training before it was done.
    pub stopped: bool,
}

/// Trains on the games of an open run and publishes the result as a model. `progress` is told the losses of each step,
/// and `None` after the last.
///
/// # Errors
/// If there are no games, the store or a step fails, or another process that trains with this one is gone. A checkpoint
/// keeps the steps up to that point.
pub fn learn(run: &mut Opened, goal: Goal, progress: &mut dyn FnMut(Option<&Losses>)) -> anyhow::Result<Learned> {
    let is_first = run.ranks.as_ref().is_none_or(|ranks| ranks.is_first());
    let _lock: Option<RunLock> = is_first.then(|| run.lock()).transpose()?;
    run.be_patient();
    if is_first {
        run.say_when_away();
    }
    let (mut training, before) = Training::resume(run)?;
    if is_first {
        training.say_changed_settings()?;
    }
    let clock = Clock::start(before, run.options.device.resolve()?.is_cuda());
    if training.positions() == 0 && !goal.follow {
        bail!(
            "{} has no self-play games yet; play some with `tengen selfplay`",
            run.store.location()
        );
    }
    let (first, began) = (training.steps(), Instant::now());
    let mut generation = run.store.models().list()?.last().map_or(0, |model| model.generation());
    let (mut losses, mut model) = (None, None);
    let mut plan = Plan::new(run, goal, first);
    let failures = Failures::default();
    failures.catch("training", || {
        loop {
            match plan.next(&training)? {
                Next::Stop => break,
                Next::Look => {
                    training.look()?;
                    continue;
                }
                Next::Wait => {
                    std::thread::sleep(WAIT);
                    continue;
                }
                Next::Step => training.say(plan.word(&training)),
            }
            let now = training.step(&clock.read(0))?;
            progress(Some(&now));
            losses = Some(now);
            if !is_first {
                continue;
            }
            let every = run.config.loop_config.candidate_every_steps;
            if goal.follow && training.steps().is_multiple_of(every) {
                generation += 1;
                model = Some(training.publish(generation, &clock.read(0))?.0.to_string());
            }
            training.checkpoint_if_due(|| clock.read(0))?;
        }
        Ok(())
    });
    progress(None);
    let made = training.steps() - first;
    if made > 0 && is_first {
        failures.catch("writing the last checkpoint", || {
            training.last_checkpoint(&clock.read(0))
        });
    }
    failures.into_result(&*run.watch)?;
    if made > 0 && is_first && !goal.follow {
        model = Some(training.publish(generation + 1, &clock.read(0))?.0.to_string());
    }
    Ok(Learned {
        steps: training.steps(),
        made,
        samples_per_second: (made * run.config.training.batch as u64) as f64 / began.elapsed().as_secs_f64(),
        losses,
        model,
        stopped: !plan.is_reached(training.steps()) && run.stop.load(Ordering::SeqCst),
    })
}

/// What training does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Stop,
    Step,
    Wait,
    Look,
}

/// Decides what to do next. Of several processes, rank 0 decides.
struct Plan<'a> {
    run: &'a Opened,
    ranks: Option<Arc<Ranks>>,
    goal: Goal,
    /// The number of the last step.
    last: Option<u64>,
    looked: Instant,
    /// What the processes did last, once they have begun.
    before: Option<Next>,
}

impl Plan<'_> {
    fn new(run: &Opened, goal: Goal, first: u64) -> Plan<'_> {
        Plan {
            run,
            ranks: run.ranks.clone(),
            goal,
            last: goal.steps.map(|steps| first + steps),
            looked: Instant::now(),
            before: None,
        }
    }

    /// What all processes do next.
    fn next(&mut self, training: &Training) -> anyhow::Result<Next> {
        let next = match self.ranks.clone() {
            Some(ranks) => self.agreed(training, &ranks)?,
            None => self.own(training),
        };
        if next == Next::Look {
            self.looked = Instant::now();
        }
        self.before = Some(next);
        Ok(next)
    }

    /// What all processes do next: a step if nobody has said anything else with the last one. Otherwise, they talk.
    fn agreed(&self, training: &Training, ranks: &Ranks) -> anyhow::Result<Next> {
        let Word { stop, pause } = training.heard();
        let mut next = Next::Step;
        let mut stops = f64::from(u8::from(stop));
        if self.before != Some(Next::Step) || pause {
            const ALL: [Next; 4] = [Next::Stop, Next::Step, Next::Wait, Next::Look];
            let own = self.own(training);
            let number = ALL.iter().position(|&next| next == own).unwrap_or(0);
            let number = if ranks.is_first() { number } else { 0 };
            let signaled = self.run.stop.load(Ordering::SeqCst);
            let sums = ranks.sums([number as f64, f64::from(u8::from(signaled))])?;
            next = ALL[sums[0] as usize % ALL.len()];
            stops += sums[1];
        }
        if stops > 0.0 {
            self.run.stop.store(true, Ordering::SeqCst);
            next = Next::Stop;
        }
        Ok(next)
    }

    /// What this process would do next.
    fn own(&self, training: &Training) -> Next {
        match () {
            () if self.run.stop.load(Ordering::SeqCst) || self.is_reached(training.steps()) => Next::Stop,
            () if self.is_time_to_look() => Next::Look,
            () if self.goal.steps.is_some() || training.may_step() => Next::Step,
            () if self.goal.follow => Next::Wait,
            () => Next::Stop,
        }
    }

    /// What this process says to the others with the next step.
    fn word(&self, training: &Training) -> Word {
        let goes_on = match self.last {
            Some(last) => training.steps() + 1 < last,
            None => training.may_make(2) && !self.is_time_to_look(),
        };
        let is_first = self.ranks.as_ref().is_some_and(|ranks| ranks.is_first());
        Word {
            stop: self.run.stop.load(Ordering::SeqCst),
            pause: is_first && !goes_on,
        }
    }

    fn is_time_to_look(&self) -> bool {
        self.goal.follow && self.looked.elapsed() >= LOOK_EVERY
    }

    fn is_reached(&self, steps: u64) -> bool {
        self.last.is_some_and(|last| steps >= last)
    }
}
