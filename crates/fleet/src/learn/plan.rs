//! Decides what training does next. With several ranks, rank 0 decides for all.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tengen_run::{Opened, Ranks, Training};
use tengen_trainer::Word;

use super::Goal;

/// What training does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Stop,
    Step,
    Wait,
    Look,
}

/// Decides what training does next.
pub(super) struct Plan<'a> {
    run: &'a Opened,
    ranks: Option<Arc<Ranks>>,
    goal: Goal,
    /// The step at which training ends, if the goal sets one.
    last: Option<u64>,
    /// Whether the run's budget is spent.
    pub(super) finished: bool,
    /// Whether there are new games that all ranks must take in together.
    pub(super) has_fresh: bool,
    /// The previous action, if there was one.
    before: Option<Next>,
}

impl Plan<'_> {
    pub(super) fn new(run: &Opened, goal: Goal, first: u64) -> Plan<'_> {
        Plan {
            run,
            ranks: run.ranks.clone(),
            goal,
            last: goal.steps.map(|steps| first + steps),
            finished: false,
            has_fresh: false,
            before: None,
        }
    }

    /// The next action of all ranks.
    pub(super) fn next(&mut self, training: &Training) -> anyhow::Result<Next> {
        let next = match self.ranks.clone() {
            Some(ranks) => self.agreed(training, &ranks)?,
            None => self.own(training),
        };
        self.before = Some(next);
        Ok(next)
    }

    /// The next action of all ranks. After a step without a request to pause, the words sent with it decide: another
    /// step, or a stop. Otherwise, the ranks all-reduce rank 0's choice and any stop signals.
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

    /// The next action if this process were to decide alone.
    fn own(&self, training: &Training) -> Next {
        match () {
            () if self.run.stop.load(Ordering::SeqCst) || self.finished || self.is_reached(training.steps()) => {
                Next::Stop
            }
            () if self.has_fresh => Next::Look,
            () if self.goal.steps.is_some() || training.may_step() => Next::Step,
            () if self.goal.follow => Next::Wait,
            () => Next::Stop,
        }
    }

    /// The word that this rank sends to the others with the next step.
    pub(super) fn word(&self, training: &Training) -> Word {
        let goes_on = match self.last {
            Some(last) => training.steps() + 1 < last,
            None => training.may_make(2) && !self.has_fresh && !self.finished,
        };
        let is_first = self.ranks.as_ref().is_some_and(|ranks| ranks.is_first());
        Word {
            stop: self.run.stop.load(Ordering::SeqCst),
            pause: is_first && !goes_on,
        }
    }

    pub(super) fn is_reached(&self, steps: u64) -> bool {
        self.last.is_some_and(|last| steps >= last)
    }
}
