//! Training on the games of a store, without playing: by one process, or by several together; until the available games
//! are used up, or as the trainer of workers that play at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::Serialize;

use tengen_report::metrics::{Event, Measured, Metrics, Selfplay, Train};
use tengen_report::notices::TrainerSays;
use tengen_report::{counted, thousands};
use tengen_run::{Clock, Failures, Ledger, Opened, Ranks, Training, Warnings};
use tengen_store::{Create, GamesOf, Operations, RunLock, Store, StoreError};
use tengen_trainer::{Losses, Word};

use crate::author;
use crate::herald::Herald;
use crate::lease::{Lease, Replaced, Task, silence};
use crate::workers::Effort;

/// How often to check whether there are enough games for a step.
const WAIT: Duration = Duration::from_millis(50);

/// How often to record the losses.
const METRICS_EVERY: Duration = Duration::from_secs(5);

/// When training ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// Number of steps to train, regardless of the reuse ratio; `None` trains until the reuse ratio is reached.
    pub steps: Option<u64>,
    /// Whether to be the trainer of workers: to wait for more games and publish weights and candidates until the run's
    /// budget is spent.
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
    /// Whether the run's budget is spent.
    pub finished: bool,
}

/// Trains on the games of an open run and publishes the result as a model. `progress` is told the losses of each step,
/// and `None` after the last.
///
/// # Errors
/// If there are no games, the store or a step fails, or another process that trains with this one is gone. A checkpoint
/// keeps the steps up to that point.
pub fn learn(run: &mut Opened, goal: Goal, progress: &mut dyn FnMut(Option<&Losses>)) -> anyhow::Result<Learned> {
    let is_first = run.ranks.as_ref().is_none_or(|ranks| ranks.is_first());
    let follows = goal.follow && is_first;
    let lock = match follows {
        true => wait_for_lock(run)?,
        false => is_first.then(|| run.lock()).transpose()?,
    };
    if follows && lock.is_none() {
        return Ok(Learned::nothing());
    }
    run.be_patient();
    if is_first {
        run.say_when_away();
    }
    if !follows {
        return train(run, goal, None, progress);
    }
    loop {
        let Some(lease) = take_lease(run)? else {
            return Ok(Learned::nothing());
        };
        match train(run, goal, Some(lease), progress) {
            Err(error) if error.downcast_ref::<Replaced>().is_some() && run.ranks.is_none() => {
                run.watch.say(&format!("{error:#}; standing by"));
            }
            learned => return learned,
        }
    }
}

/// Trains as far as the goal says; as the trainer of workers with a lease and what the last trainer said.
fn train(
    run: &Opened,
    goal: Goal,
    lease: Option<(Lease, Option<TrainerSays>)>,
    progress: &mut dyn FnMut(Option<&Losses>),
) -> anyhow::Result<Learned> {
    anyhow::ensure!(
        !run.config.reanalysis.is_on(),
        "reanalysis.share is {}, but only `tengen run` searches old games again: set it to 0, or use `tengen run`",
        run.config.reanalysis.share
    );
    let is_first = run.ranks.as_ref().is_none_or(|ranks| ranks.is_first());
    let (lease, (mut training, before)) = match lease {
        Some((mut lease, says)) => {
            let resumed = resume_alive(run, &mut lease, says.clone().unwrap_or_default())?;
            (Some((lease, says)), resumed)
        }
        None => (None, Training::resume(run)?),
    };
    if is_first {
        training.say_changed_settings()?;
    }
    let costs = Costs::start(run, before)?;
    if training.positions() == 0 && !goal.follow {
        bail!("{}", no_games(run.store.location()));
    }
    let (first, began) = (training.steps(), Instant::now());
    let generation = run.store.models().list()?.last().map_or(0, |model| model.generation());
    let herald = match lease {
        Some((lease, says)) => {
            let now = (&training, generation, costs.read(None).elapsed_seconds);
            Some(Herald::start(run, lease, says, now)?)
        }
        None => None,
    };
    let mut follower = Follower::new(run, herald, generation)?;
    let mut losses = None;
    let mut model = None;
    let mut plan = Plan::new(run, goal, first);
    let failures = Failures::default();
    failures.catch("training", || {
        loop {
            follower.attend(run, &mut training, &costs)?;
            plan.finished = goal.follow && is_first && follower.is_finished(run, &training, &costs);
            plan.has_fresh = follower.has_fresh();
            match plan.next(&training)? {
                Next::Stop => break,
                Next::Look => {
                    training.take_in_together(follower.fresh())?;
                    continue;
                }
                Next::Wait => {
                    std::thread::sleep(WAIT);
                    continue;
                }
                Next::Step => training.say(plan.word(&training)),
            }
            let ledger = costs.read(follower.herald.as_ref());
            let now = training.step(&ledger)?;
            now.iter().for_each(|losses| progress(Some(losses)));
            losses = now.last().copied().or(losses);
            follower.measure(run, &mut training, losses.as_ref(), &ledger)?;
            if !is_first {
                continue;
            }
            if goal.follow {
                model = follower.publish_if_due(run, &mut training, &ledger)?.or(model.take());
            }
            training.checkpoint_if_due(|| ledger)?;
        }
        for last in training.settle()? {
            progress(Some(&last));
            losses = Some(last);
        }
        Ok(())
    });
    progress(None);
    let (made, finished) = (training.steps() - first, plan.finished);
    if is_first {
        let ledger = costs.read(follower.herald.as_ref());
        // A trainer that was replaced must not write any more.
        if made > 0 && !follower.is_replaced {
            failures.catch("writing the last checkpoint", || training.last_checkpoint(&ledger));
        }
        // Without workers, whatever was learned is the result.
        let has_result = if goal.follow { finished } else { made > 0 };
        if has_result && failures.is_empty() {
            let last = failures.catch("publishing the last model", || match goal.follow {
                true => follower.publish_last(run, &mut training, &ledger),
                false => follower.publish(&mut training, &ledger).map(Some),
            });
            model = last.flatten().or(model);
        }
        if let Some(herald) = follower.herald.take() {
            failures.catch("telling workers about the end", || herald.end(finished));
        }
    }
    failures.into_result(&*run.watch)?;
    Ok(Learned {
        steps: training.steps(),
        made,
        samples_per_second: (made * run.config.training.batch as u64) as f64 / began.elapsed().as_secs_f64(),
        losses,
        model,
        stopped: !finished && !plan.is_reached(training.steps()) && run.stop.load(Ordering::SeqCst),
        finished,
    })
}

/// Refuses to train on the games of a store that has none, before anything is written there.
///
/// # Errors
/// If the store has no self-play games, or cannot be read. A location without a store is refused only if `is_new` says
/// that a run would be started there.
pub fn check_games(location: &str, is_new: bool) -> anyhow::Result<()> {
    let store = match Store::open(location, Create::Never) {
        Err(StoreError::Missing { .. } | StoreError::NotAStore { .. }) if is_new => bail!("{}", no_games(location)),
        Err(StoreError::Missing { .. } | StoreError::NotAStore { .. }) => return Ok(()),
        store => store?,
    };
    match store.games().list(&GamesOf::SelfPlay)?.published().positions {
        0 if is_new || store.run_info()?.is_some() => bail!("{}", no_games(location)),
        _ => Ok(()),
    }
}

fn no_games(location: &str) -> String {
    format!("{location} has no self-play games yet; play some with `tengen selfplay`")
}

/// What training has done, for programs.
#[derive(Clone, Debug, Serialize)]
pub struct LearnedSummary {
    steps: u64,
    steps_made: u64,
    samples_per_second: f64,
    total_loss: Option<f64>,
    policy_loss: Option<f64>,
    value_loss: Option<f64>,
    margin_loss: Option<f64>,
    ownership_loss: Option<f64>,
    model: Option<String>,
    /// Whether the run's budget is spent; only a trainer of workers heeds it.
    finished: bool,
}

impl Learned {
    /// What was done, to be written as JSON.
    pub fn summary(&self) -> LearnedSummary {
        let losses = self.losses;
        LearnedSummary {
            steps: self.steps,
            steps_made: self.made,
            samples_per_second: self.samples_per_second,
            total_loss: losses.map(|losses| losses.total),
            policy_loss: losses.map(|losses| losses.policy),
            value_loss: losses.map(|losses| losses.value),
            margin_loss: losses.map(|losses| losses.margin),
            ownership_loss: losses.map(|losses| losses.ownership),
            model: self.model.clone(),
            finished: self.finished,
        }
    }

    /// What was done, for people.
    pub fn in_words(&self) -> String {
        let loss = self
            .losses
            .map_or("no steps".to_owned(), |losses| format!("loss {:.3}", losses.total));
        let model = self.model.as_deref().unwrap_or("none");
        format!(
            "{} trained, {} in total, {loss}, {} samples/s; new model: {model}",
            counted(self.made, "step"),
            thousands(self.steps),
            thousands(self.samples_per_second as u64)
        )
    }

    /// What a process has learned that was stopped while it stood by.
    fn nothing() -> Learned {
        Learned {
            steps: 0,
            made: 0,
            samples_per_second: 0.0,
            losses: None,
            model: None,
            stopped: true,
            finished: false,
        }
    }
}

/// Locks the run, once no other process on this machine or file system has it; `None` if a signal came before.
fn wait_for_lock(run: &Opened) -> anyhow::Result<Option<RunLock>> {
    let mut said = false;
    loop {
        match run.lock() {
            Ok(lock) => return Ok(Some(lock)),
            Err(error) => {
                let Some(StoreError::Locked { holder, .. }) = error.downcast_ref::<StoreError>() else {
                    return Err(error);
                };
                if !said {
                    said = true;
                    run.watch.say(&format!(
                        "another trainer or run works here (process {holder}): standing by until it ends"
                    ));
                }
            }
        }
        if run.stop.load(Ordering::SeqCst) {
            return Ok(None);
        }
        std::thread::sleep(WAIT);
    }
}

/// Takes the trainer's lease, once no other machine has it; `None` if a signal came before.
fn take_lease(run: &Opened) -> anyhow::Result<Option<(Lease, Option<TrainerSays>)>> {
    let (author, _) = author::own()?;
    let silence = silence(run.config.loop_config.look_seconds);
    Lease::take(&run.store, Task::TRAINER, &author, silence, &*run.watch, &run.stop)
}

/// Resumes training, which takes long if the window is large, and meanwhile repeats what the last trainer said, so that
/// everybody sees that there is a trainer.
fn resume_alive(run: &Opened, lease: &mut Lease, says: TrainerSays) -> anyhow::Result<(Training, Ledger)> {
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

/// Sets a flag when it is dropped, even by a panic.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The cost of the run: this trainer's and the workers'.
struct Costs {
    clock: Clock,
    before: Ledger,
}

impl Costs {
    fn start(run: &Opened, before: Ledger) -> anyhow::Result<Costs> {
        Ok(Costs {
            clock: Clock::start(before, run.options.device.resolve()?.is_cuda()),
            before,
        })
    }

    fn read(&self, herald: Option<&Herald>) -> Ledger {
        let own = self.clock.read(0);
        herald.map_or(own, |herald| {
            let work = herald.effort().work;
            own.with_workers(self.before, work.evaluations, work.cpu_seconds)
        })
    }
}

/// What a trainer does for its workers.
struct Follower {
    /// `None` for training without workers, and on other ranks than the first.
    herald: Option<Herald>,
    metrics: Option<Metrics>,
    measured: Instant,
    /// Samples trained on when the losses were last recorded.
    trained: u64,
    /// What the workers had done when it was last recorded.
    played: Effort,
    /// What all processes had asked of the store, and when.
    asked: (Operations, Instant),
    warnings: Warnings,
    /// Number of the newest generation.
    generation: u32,
    /// Whether the herald has failed, as it does if another trainer takes over.
    is_replaced: bool,
    alone: bool,
}

impl Follower {
    fn new(run: &Opened, herald: Option<Herald>, generation: u32) -> anyhow::Result<Follower> {
        let metrics = herald
            .as_ref()
            .map(|_| Metrics::of(&run.store, &run.folder()?))
            .transpose()?;
        Ok(Follower {
            herald,
            metrics,
            measured: Instant::now(),
            trained: 0,
            played: Effort::default(),
            asked: (Operations::default(), Instant::now()),
            warnings: Warnings::default(),
            generation,
            is_replaced: false,
            alone: run.ranks.is_none(),
        })
    }

    /// Exchanges news with the herald.
    fn attend(&mut self, run: &Opened, training: &mut Training, costs: &Costs) -> anyhow::Result<()> {
        let Some(herald) = &self.herald else { return Ok(()) };
        if self.alone {
            training.offer(herald.fresh())?;
            training.admit_ready()?;
        }
        let elapsed = costs.read(None).elapsed_seconds;
        let effort = herald.effort();
        if let Some(metrics) = &self.metrics
            && effort != self.played
        {
            let asked = effort.operations.plus(run.store.operations());
            let (before, since) = std::mem::replace(&mut self.asked, (asked, Instant::now()));
            let games = effort.work.games.saturating_sub(self.played.work.games);
            self.played = effort;
            let event = Selfplay {
                games: training.games(),
                positions: training.positions(),
                evaluations: costs.read(Some(herald)).evaluations,
                games_per_second: effort.games_per_second,
                evaluations_per_second: effort.evaluations_per_second,
                window_positions: training.window_positions(),
                ..Selfplay::default()
            }
            .with_store(asked.since(before), games, since.elapsed().as_secs_f64());
            metrics.record(&Event::now(elapsed, Measured::Selfplay(event)))?;
        }
        let told = herald.tell(training, self.generation, elapsed);
        self.is_replaced |= told.is_err();
        told
    }

    fn is_finished(&self, run: &Opened, training: &Training, costs: &Costs) -> bool {
        let ledger = costs.read(self.herald.as_ref());
        run.config.budget.spent(&ledger, training.games(), training.steps()) >= 1.0
    }

    /// Whether there are games that several processes have to take in together.
    fn has_fresh(&self) -> bool {
        !self.alone && self.herald.as_ref().is_some_and(Herald::has_fresh)
    }

    fn fresh(&self) -> Vec<tengen_store::ShardInfo> {
        self.herald.as_ref().map_or(Vec::new(), Herald::fresh)
    }

    /// Publishes weights and candidates when they are due; returns the id of a candidate.
    fn publish_if_due(
        &mut self,
        run: &Opened,
        training: &mut Training,
        ledger: &Ledger,
    ) -> anyhow::Result<Option<String>> {
        let Some(herald) = &self.herald else { return Ok(None) };
        let (step, settings) = (training.steps(), &run.config.loop_config);
        let is_due = step.is_multiple_of(settings.weights_every_steps) || herald.has_no_weights();
        if is_due && !settings.champions_only && herald.wants_weights() {
            herald.hand_over(step, training.weights()?);
        }
        if !step.is_multiple_of(settings.candidate_every_steps) {
            return Ok(None);
        }
        self.publish(training, ledger).map(Some)
    }

    /// Publishes the trainer's weights as the last model, unless the newest one has them.
    fn publish_last(
        &mut self,
        run: &Opened,
        training: &mut Training,
        ledger: &Ledger,
    ) -> anyhow::Result<Option<String>> {
        let newest = run.store.models().list()?.pop();
        let step = newest.map(|id| run.store.models().info(&id)).transpose()?;
        match step.is_some_and(|info| info.provenance.step >= training.steps()) {
            true => Ok(None),
            false => self.publish(training, ledger).map(Some),
        }
    }

    fn publish(&mut self, training: &mut Training, ledger: &Ledger) -> anyhow::Result<String> {
        self.generation += 1;
        let id = training.publish(self.generation, ledger)?.0.to_string();
        if let Some(herald) = &self.herald {
            herald.name_model(&id);
        }
        if let Some(metrics) = &self.metrics {
            let model = training.model_event(&id, ledger);
            metrics.record(&Event::now(ledger.elapsed_seconds, Measured::Model(model)))?;
        }
        Ok(id)
    }

    /// Records the losses and, when it is due, how well the network predicts games that it is not trained on.
    fn measure(
        &mut self,
        run: &Opened,
        training: &mut Training,
        losses: Option<&Losses>,
        ledger: &Ledger,
    ) -> anyhow::Result<()> {
        let Some(metrics) = &self.metrics else { return Ok(()) };
        if let Some(comparison) = training.validate_if_due()? {
            let event = Measured::Validation(comparison.event());
            metrics.record(&Event::now(ledger.elapsed_seconds, event))?;
            self.warnings
                .look(&comparison)
                .for_each(|warning| run.watch.say(&warning));
        }
        let Some(losses) = losses else { return Ok(()) };
        if self.measured.elapsed() >= METRICS_EVERY {
            let seconds = self.measured.elapsed().as_secs_f64();
            self.measured = Instant::now();
            let train = Train {
                step: training.steps(),
                samples: training.trained(),
                learning_rate: losses.learning_rate,
                total_loss: losses.total,
                policy_loss: losses.policy,
                value_loss: losses.value,
                margin_loss: losses.margin,
                ownership_loss: losses.ownership,
                policy_entropy: losses.policy_entropy,
                grad_norm: losses.gradient_norm,
                positions_per_second: (training.trained() - self.trained) as f64 / seconds,
            };
            self.trained = training.trained();
            metrics.record(&Event::now(ledger.elapsed_seconds, Measured::Train(train)))?;
        }
        Ok(())
    }
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
    /// Whether the run's budget is spent.
    finished: bool,
    /// Whether there are games to take in together.
    has_fresh: bool,
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
            finished: false,
            has_fresh: false,
            before: None,
        }
    }

    /// What all processes do next.
    fn next(&mut self, training: &Training) -> anyhow::Result<Next> {
        let next = match self.ranks.clone() {
            Some(ranks) => self.agreed(training, &ranks)?,
            None => self.own(training),
        };
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
            () if self.run.stop.load(Ordering::SeqCst) || self.finished || self.is_reached(training.steps()) => {
                Next::Stop
            }
            () if self.has_fresh => Next::Look,
            () if self.goal.steps.is_some() || training.may_step() => Next::Step,
            () if self.goal.follow => Next::Wait,
            () => Next::Stop,
        }
    }

    /// What this process says to the others with the next step.
    fn word(&self, training: &Training) -> Word {
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

    fn is_reached(&self, steps: u64) -> bool {
        self.last.is_some_and(|last| steps >= last)
    }
}
