//! Training on the games in a store, without self-play, in one process or several together: either until the available
//! games are used up, or as the trainer of workers that play at the same time.

mod costs;
mod follower;
mod plan;
mod stand_by;
mod trainer;

use std::time::Duration;

use anyhow::bail;
use serde::Serialize;

use tengen_report::{counted, thousands};
use tengen_run::Opened;
use tengen_store::{Create, GamesOf, Store, StoreError};
use tengen_trainer::Losses;

use crate::lease::Replaced;
use crate::lock::wait_for_lock;

use stand_by::take_lease;
use trainer::train;

/// How often to check whether there are enough games for a step.
const WAIT: Duration = Duration::from_millis(50);

/// When training ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// Number of steps to train, regardless of the reuse ratio; `None` trains until the reuse ratio is reached.
    pub steps: Option<u64>,
    /// Whether to be the trainer of workers, that is, wait for more games and publish weights and candidates until the
    /// run's budget is spent.
    pub follow: bool,
}

/// The result of training.
#[derive(Clone, Debug)]
pub struct Learned {
    /// Training steps since the run began.
    pub steps: u64,
    /// Training steps of this process.
    pub made: u64,
    /// Samples trained on per second, by all processes together.
    pub samples_per_second: f64,
    /// The losses of the last step.
    pub losses: Option<Losses>,
    /// The last model that was published.
    pub model: Option<String>,
    /// What the network was trained on, with the number format; `None` for a process that only stood by.
    pub device: Option<String>,
    /// Whether a signal ended training before it was done.
    pub stopped: bool,
    /// Whether the run's budget is spent.
    pub finished: bool,
}

/// Trains on the games of an open run and publishes the result as a model. Calls `progress` with the losses of each
/// step, and with `None` after the last.
///
/// # Errors
/// If there are no games, the store or a step fails, or another process that trains with this one is gone. A checkpoint
/// keeps the steps up to that point.
pub fn learn(run: &mut Opened, goal: Goal, progress: &mut dyn FnMut(Option<&Losses>)) -> anyhow::Result<Learned> {
    let is_first = run.is_first();
    let follows = goal.follow && is_first;
    let lock = match follows {
        true => wait_for_lock(run, "another trainer or run works here", || run.lock())?,
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

/// Refuses to train on a store without games before anything is written to it.
///
/// # Errors
/// If the store has no self-play games or cannot be read. A location without a store or a run is refused only if
/// `is_new` is set, that is, if a run would be started there.
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

/// The result of training, for programs.
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
    device: Option<String>,
    /// Whether the run's budget is spent; always false without workers.
    finished: bool,
}

impl Learned {
    /// The result, to be written as JSON.
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
            device: self.device.clone(),
            finished: self.finished,
        }
    }

    /// The result in one line, for people.
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

    /// The result of a process that was stopped while standing by.
    fn nothing() -> Learned {
        Learned {
            steps: 0,
            made: 0,
            samples_per_second: 0.0,
            losses: None,
            model: None,
            device: None,
            stopped: true,
            finished: false,
        }
    }
}
