//! Training from a process's first step to its last.

use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::bail;

use tengen_report::notices::TrainerSays;
use tengen_run::{Failures, Opened, Training};
use tengen_trainer::Losses;

use crate::herald::Herald;
use crate::lease::Lease;

use super::costs::Costs;
use super::follower::Follower;
use super::plan::{Next, Plan};
use super::stand_by::resume_alive;
use super::{Goal, Learned, WAIT, no_games};

/// The trainer's lease, with the previous trainer's last notice.
pub(super) type Held = (Lease, Option<TrainerSays>);

/// Trains until the goal is reached. `held` is set for the trainer of workers.
pub(super) fn train(
    run: &Opened,
    goal: Goal,
    held: Option<Held>,
    progress: &mut dyn FnMut(Option<&Losses>),
) -> anyhow::Result<Learned> {
    anyhow::ensure!(
        !run.config.reanalysis.is_on(),
        "reanalysis.share is {}, but only `tengen run` searches old games again: set it to 0, or use `tengen run`",
        run.config.reanalysis.share
    );
    let mut trainer = Trainer::start(run, goal, held)?;
    let failures = Failures::default();
    failures.catch("training", || trainer.work(progress));
    progress(None);
    if trainer.is_first {
        trainer.close(&failures);
    }
    failures.into_result(&*run.watch)?;
    Ok(trainer.learned())
}

/// A process that trains.
struct Trainer<'a> {
    run: &'a Opened,
    goal: Goal,
    /// Whether it is the only process, or rank 0 of several.
    is_first: bool,
    training: Training,
    costs: Costs,
    follower: Follower,
    plan: Plan<'a>,
    began: Instant,
    /// Steps of the run when this process started.
    first: u64,
    /// Losses of the last step.
    losses: Option<Losses>,
    /// The last model that this process published.
    model: Option<String>,
}

impl<'a> Trainer<'a> {
    fn start(run: &'a Opened, goal: Goal, held: Option<Held>) -> anyhow::Result<Trainer<'a>> {
        let is_first = run.is_first();
        let (held, (training, before)) = match held {
            Some((mut lease, says)) => {
                let (mut training, before) = resume_alive(run, &mut lease, says.clone().unwrap_or_default())?;
                // A checkpoint or a model may wait so long for the store that another trainer takes over.
                let (term, store) = (lease.term(), run.store.clone());
                training.set_guard(Box::new(move || term.check(&store)));
                (Some((lease, says)), (training, before))
            }
            None => (None, Training::resume(run)?),
        };
        run.watch.say(&format!("device {}", training.device_in_words()));
        if is_first {
            training.say_changed_settings()?;
        }
        let costs = Costs::start(run, before)?;
        if training.positions() == 0 && !goal.follow {
            bail!("{}", no_games(run.store.location()));
        }
        let (first, began) = (training.steps(), Instant::now());
        let generation = run.store.models().list()?.last().map_or(0, |model| model.generation());
        let herald = match held {
            Some((lease, says)) => {
                let now = (&training, generation, costs.read(None).elapsed_seconds);
                Some(Herald::start(run, lease, says, now)?)
            }
            None => None,
        };
        let follower = Follower::new(run, herald, generation, training.trained())?;
        follower.record_start(run, &training, before.elapsed_seconds)?;
        Ok(Trainer {
            run,
            goal,
            is_first,
            costs,
            follower,
            plan: Plan::new(run, goal, first),
            training,
            began,
            first,
            losses: None,
            model: None,
        })
    }

    /// Trains, and serves workers between steps, until there is nothing left to do.
    fn work(&mut self, progress: &mut dyn FnMut(Option<&Losses>)) -> anyhow::Result<()> {
        loop {
            self.follower.attend(self.run, &mut self.training, &self.costs)?;
            self.plan.finished =
                self.goal.follow && self.is_first && self.follower.is_finished(self.run, &self.training, &self.costs);
            self.plan.has_fresh = self.follower.has_fresh();
            match self.plan.next(&self.training)? {
                Next::Stop => break,
                Next::Look => self.training.take_in_together(self.follower.fresh())?,
                Next::Wait => {
                    std::thread::sleep(WAIT);
                    self.save_if_due()?;
                }
                Next::Step => self.step(progress)?,
            }
        }
        for last in self.training.settle()? {
            progress(Some(&last));
            self.losses = Some(last);
        }
        Ok(())
    }

    /// Saves the costs of a trainer that waits for games.
    fn save_if_due(&mut self) -> anyhow::Result<()> {
        let ledger = self.costs.read(self.follower.herald.as_ref());
        match self.is_first && !self.follower.is_replaced {
            true => self.training.checkpoint_if_due(|| ledger),
            false => Ok(()),
        }
    }

    /// Trains one step, then publishes and saves whatever is due.
    fn step(&mut self, progress: &mut dyn FnMut(Option<&Losses>)) -> anyhow::Result<()> {
        self.training.say(self.plan.word(&self.training));
        let ledger = self.costs.read(self.follower.herald.as_ref());
        let losses = self.training.step(&ledger)?;
        losses.iter().for_each(|losses| progress(Some(losses)));
        self.losses = losses.last().copied().or(self.losses);
        self.follower
            .measure(self.run, &mut self.training, self.losses.as_ref(), &ledger)?;
        if !self.is_first {
            return Ok(());
        }
        if self.goal.follow
            && let Some(model) = self.follower.publish_if_due(self.run, &mut self.training, &ledger)?
        {
            self.model = Some(model);
        }
        self.training.checkpoint_if_due(|| ledger)
    }

    /// Saves and publishes the result, and sends workers the final notice.
    fn close(&mut self, failures: &Failures) {
        let ledger = self.costs.read(self.follower.herald.as_ref());
        // A replaced trainer must not write anymore.
        if (self.made() > 0 || self.goal.follow && self.is_first) && !self.follower.is_replaced {
            failures.catch("writing the last checkpoint", || self.training.last_checkpoint(&ledger));
        }
        // Without workers, any training at all gives a result.
        let has_result = if self.goal.follow {
            self.plan.finished
        } else {
            self.made() > 0
        };
        if has_result && failures.is_empty() {
            let last = failures.catch("publishing the last model", || match self.goal.follow {
                true => self.follower.publish_last(self.run, &mut self.training, &ledger),
                false => self.follower.publish(&mut self.training, &ledger).map(Some),
            });
            self.model = last.flatten().or(self.model.take());
        }
        if let Some(herald) = self.follower.herald.take() {
            failures.catch("telling workers about the end", || herald.end(self.plan.finished));
        }
    }

    /// Steps of this process.
    fn made(&self) -> u64 {
        self.training.steps() - self.first
    }

    fn learned(self) -> Learned {
        let (steps, made, finished) = (self.training.steps(), self.made(), self.plan.finished);
        let samples = made * self.run.config.training.batch as u64;
        Learned {
            steps,
            made,
            samples_per_second: samples as f64 / self.began.elapsed().as_secs_f64(),
            stopped: !finished && !self.plan.is_reached(steps) && self.run.stop.load(Ordering::SeqCst),
            losses: self.losses,
            model: self.model,
            device: Some(self.training.device_in_words()),
            finished,
        }
    }
}
