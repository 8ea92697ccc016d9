//! What a trainer does for its workers: publishes weights and candidates, and records metrics and the cost of the run.

use std::time::{Duration, Instant};

use tengen_health::Warnings;
use tengen_metrics::{Measured, Metrics, Selfplay, Train, Warning};
use tengen_run::{Ledger, Opened, Training};
use tengen_store::Operations;
use tengen_trainer::Losses;

use crate::herald::Herald;
use crate::workers::Effort;

use super::costs::Costs;

/// How often to record the losses.
const METRICS_EVERY: Duration = Duration::from_secs(5);

/// What a trainer does for its workers.
pub(super) struct Follower {
    /// `None` for training without workers, and on ranks other than the first.
    pub(super) herald: Option<Herald>,
    metrics: Option<Metrics>,
    pace: Pace,
    /// What the workers had done when that was last recorded.
    played: Effort,
    /// The store operations of all processes when they were last recorded, and when that was.
    asked: (Operations, Instant),
    warnings: Warnings,
    /// Number of the newest generation.
    generation: u32,
    /// Whether the herald has failed, as it does when another trainer takes over.
    pub(super) is_replaced: bool,
    alone: bool,
}

impl Follower {
    /// `trained` is the number of samples that the run has trained on so far.
    pub(super) fn new(run: &Opened, herald: Option<Herald>, generation: u32, trained: u64) -> anyhow::Result<Follower> {
        let metrics = herald
            .as_ref()
            .map(|_| Metrics::of(&run.store, &run.folder()?))
            .transpose()?;
        Ok(Follower {
            herald,
            metrics,
            pace: Pace::from(trained),
            played: Effort::default(),
            asked: (Operations::default(), Instant::now()),
            warnings: Warnings::default(),
            generation,
            is_replaced: false,
            alone: run.ranks.is_none(),
        })
    }

    /// Records what this process starts or resumes training with.
    pub(super) fn record_start(&self, run: &Opened, training: &Training, elapsed: f64) -> anyhow::Result<()> {
        let Some(metrics) = &self.metrics else { return Ok(()) };
        let start = tengen_run::start::of(run, training, false)?;
        metrics.note(elapsed, Measured::Start(start));
        Ok(())
    }

    /// Takes in new games from the herald, records self-play metrics, and passes the progress of training to the
    /// herald.
    pub(super) fn attend(&mut self, run: &Opened, training: &mut Training, costs: &Costs) -> anyhow::Result<()> {
        if run.is_first()
            && training.lacks_results()
            && let Some(text) = self.warnings.miss_results(training.window_positions())
        {
            self.warn(run, text, costs.read(None).elapsed_seconds);
        }
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
            metrics.note(elapsed, Measured::Selfplay(event));
        }
        let told = herald.tell(training, self.generation, elapsed);
        self.is_replaced |= told.is_err();
        told
    }

    pub(super) fn is_finished(&self, run: &Opened, training: &Training, costs: &Costs) -> bool {
        let ledger = costs.read(self.herald.as_ref());
        run.config.budget.spent(&ledger, training.games(), training.steps()) >= 1.0
    }

    /// Whether there are new games that all ranks must take in together.
    pub(super) fn has_fresh(&self) -> bool {
        !self.alone && self.herald.as_ref().is_some_and(Herald::has_fresh)
    }

    pub(super) fn fresh(&self) -> Vec<tengen_store::ShardInfo> {
        self.herald.as_ref().map_or(Vec::new(), Herald::fresh)
    }

    /// Publishes weights and candidates when they are due; returns the id of a new candidate.
    pub(super) fn publish_if_due(
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

    /// Publishes the trainer's weights as the last model, unless the newest model already has them.
    pub(super) fn publish_last(
        &mut self,
        run: &Opened,
        training: &mut Training,
        ledger: &Ledger,
    ) -> anyhow::Result<Option<String>> {
        match training.is_published(run)? {
            true => Ok(None),
            false => self.publish(training, ledger).map(Some),
        }
    }

    pub(super) fn publish(&mut self, training: &mut Training, ledger: &Ledger) -> anyhow::Result<String> {
        self.generation += 1;
        let id = training.publish(self.generation, ledger)?.0.to_string();
        if let Some(herald) = &self.herald {
            herald.name_model(&id);
        }
        if let Some(metrics) = &self.metrics {
            let model = training.model_event(&id, ledger);
            metrics.note(ledger.elapsed_seconds, Measured::Model(model));
        }
        Ok(id)
    }

    /// Tells the user that something goes wrong, now and in the report.
    fn warn(&self, run: &Opened, text: String, elapsed: f64) {
        run.watch.say(&text);
        if let Some(metrics) = &self.metrics {
            metrics.note(elapsed, Measured::Warning(Warning { text }));
        }
    }

    /// Records the losses and, when it is due, a validation on held-out games.
    pub(super) fn measure(
        &mut self,
        run: &Opened,
        training: &mut Training,
        losses: Option<&Losses>,
        ledger: &Ledger,
    ) -> anyhow::Result<()> {
        let Some(metrics) = &self.metrics else { return Ok(()) };
        if let Some(comparison) = training.validate_if_due()? {
            metrics.note(ledger.elapsed_seconds, Measured::Validation(comparison.event()));
            for text in self.warnings.look(&comparison) {
                self.warn(run, text, ledger.elapsed_seconds);
            }
        }
        let (Some(metrics), Some(losses)) = (&self.metrics, losses) else {
            return Ok(());
        };
        if self.pace.since.elapsed() >= METRICS_EVERY {
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
                positions_per_second: self.pace.samples_per_second(training.trained()),
            };
            metrics.note(ledger.elapsed_seconds, Measured::Train(train));
        }
        Ok(())
    }
}

/// Measures the speed of training between calls.
struct Pace {
    since: Instant,
    /// Samples trained on at the last call.
    trained: u64,
}

impl Pace {
    fn from(trained: u64) -> Pace {
        Pace {
            since: Instant::now(),
            trained,
        }
    }

    /// Samples per second since the last call, given the run's total so far.
    fn samples_per_second(&mut self, trained: u64) -> f64 {
        let before = std::mem::replace(self, Pace::from(trained));
        (trained - before.trained) as f64 / before.since.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_earlier_processes_do_not_count() {
        let mut pace = Pace::from(1_000_000);
        std::thread::sleep(Duration::from_millis(10));
        let speed = pace.samples_per_second(1_000_001);
        assert!(speed > 0.0 && speed <= 100.0, "{speed}");
        assert_eq!(pace.samples_per_second(1_000_001), 0.0);
    }
}
