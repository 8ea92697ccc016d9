//! The trainer, and what happens in one training step.

use std::collections::VecDeque;

use tch::{Device, Tensor};

use tengen_encoding::{HORIZONS, InputBatch, PlaneSet, Sample, TrainingBatch};
use tengen_model::{GrowthError, NetworkConfig, Weights, WeightsError};
use tengen_network::{
    DeviceChoice, DeviceError, GroupError, LibtorchError, Mode, Network, NetworkInputs, Precision, Shapes, Span,
    ThreadLimit, Work, catching, in_words,
};
use tengen_rules::SettingError;

use crate::config::TrainerConfig;
use crate::loss::{Losses, LossesLater, Terms};
use crate::optimizer::{OptimizerState, clip};
use crate::pace::Pace;
use crate::recorded::Recorded;
use crate::targets::{Placement, Targets};
use crate::together::Together;
use crate::validation::{Judged, Validation, chances};

/// A network in training. It stays on one thread.
#[derive(Debug)]
pub struct Trainer {
    pub(crate) config: TrainerConfig,
    /// Dropped before the network that they refer to.
    recordings: Shapes<Recorded>,
    pub(crate) network: Network,
    pub(crate) optimizer: OptimizerState,
    pub(crate) average: Average,
    pub(crate) step: u64,
    pub(crate) samples: u64,
    /// The share of the run's budget that is spent.
    pub(crate) budget_spent: f64,
    pub(crate) precision: Precision,
    /// The ranks that this trainer trains with, if it does not train alone.
    pub(crate) together: Option<Together>,
    threads: ThreadLimit,
    /// Steps whose losses have not been read, oldest first.
    unread: VecDeque<Unread>,
    /// Maximum number of steps whose losses may remain unread.
    behind: usize,
}

/// How many steps a GPU may be behind: while it computes one, the batch of the next is drawn and copied.
const BEHIND: usize = 2;

/// A step that a GPU may not have finished yet.
#[derive(Debug)]
struct Unread {
    /// Number of steps, including this one.
    step: u64,
    losses: LossesLater,
    span: Span,
}

/// Moving averages of the trained weights and of the running statistics, as flat tensors.
#[derive(Debug)]
pub(crate) struct Average {
    pub(crate) trained: Tensor,
    pub(crate) statistics: Tensor,
}

impl Trainer {
    /// A trainer with a new network; the same seed gives the same network.
    ///
    /// # Errors
    /// When a setting is out of range or the device cannot be used.
    pub fn new(
        network: &NetworkConfig,
        config: TrainerConfig,
        device: DeviceChoice,
        seed: u64,
    ) -> Result<Trainer, TrainerError> {
        Trainer::from_weights(&Weights::random(network, seed)?, config, device)
    }

    /// A trainer that starts from the given weights with a fresh optimizer, at step 0.
    ///
    /// # Errors
    /// When a setting is out of range or the device cannot be used.
    pub fn from_weights(
        weights: &Weights,
        config: TrainerConfig,
        device: DeviceChoice,
    ) -> Result<Trainer, TrainerError> {
        config.validate()?;
        let device = device.resolve()?;
        let threads = ThreadLimit::new(config.threads, device, Work::Training);
        let precision = Precision::for_training(config.precision, device, weights.config().channels);
        let (network, optimizer, average) = catching(|| {
            let network = Network::new(weights, device, precision);
            let optimizer = OptimizerState::new(config.optimizer, &network);
            let average = Average {
                trained: network.trained().copy(),
                statistics: network.statistics().copy(),
            };
            (network, optimizer, average)
        })?;
        Ok(Trainer {
            config,
            recordings: Shapes::default(),
            network,
            optimizer,
            average,
            step: 0,
            samples: 0,
            budget_spent: 0.0,
            precision,
            together: None,
            threads,
            unread: VecDeque::new(),
            behind: if device.is_cuda() { BEHIND } else { 0 },
        })
    }

    /// Continues counting from this step, for weights that were trained before but come without the rest of a
    /// checkpoint. Counts their samples as this many batches of the current size; the optimizer remains fresh.
    #[must_use]
    pub fn counting_from(mut self, step: u64) -> Trainer {
        self.step = step;
        self.samples = step * self.config.batch as u64;
        self
    }

    /// The settings that the trainer was created or restored with.
    pub fn config(&self) -> &TrainerConfig {
        &self.config
    }

    /// Number of training steps since the network was new.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Number of samples trained on since the network was new, regardless of batch sizes.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Sets the share of the run's budget that is spent, from 0 to 1, which the `budget` schedule follows. It starts at
    /// 0.
    pub fn set_budget_spent(&mut self, share: f64) {
        self.budget_spent = share;
    }

    /// The share of the run's budget that was last set, here or on rank 0; see [`Trainer::set_budget_spent`].
    pub fn budget_spent(&self) -> f64 {
        self.budget_spent
    }

    /// Sets the learning rate that applies after the warm-up, from the next step on.
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.config.learning_rate = rate;
    }

    /// The learning rate of the next step.
    pub fn learning_rate(&self) -> f64 {
        self.config.learning_rate_at(self.step, self.budget_spent)
    }

    /// The device that the network is trained on.
    pub fn device(&self) -> Device {
        self.network.device()
    }

    /// The number format of the network's tower.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The device that the network is trained on with the number format, for display.
    pub fn device_in_words(&self) -> String {
        in_words(&[self.device().into()], self.precision)
    }

    /// Collects samples in a batch with the input planes that the network sees.
    ///
    /// # Panics
    /// If there are no samples.
    pub fn batch(&self, samples: &[Sample]) -> TrainingBatch {
        TrainingBatch::of(samples, self.network.config().plane_set())
    }

    /// Performs one step: forward pass, losses, gradient, optimizer, moving average. On the CPU with one thread, steps
    /// are exactly reproducible. After [`Trainer::join`], the batch is this rank's part of the whole batch.
    ///
    /// # Errors
    /// [`TrainerError::Batch`] when the batch is empty or its arrays do not fit together, [`TrainerError::Diverged`]
    /// when the loss is not finite, which leaves useless weights, and [`TrainerError::Group`] when another rank is
    /// gone, which leaves the weights as they were before the step.
    pub fn step(&mut self, batch: &TrainingBatch) -> Result<Losses, TrainerError> {
        self.settle()?;
        let known = self.advance(batch)?;
        let losses = self.settle()?.pop().or(known);
        Ok(losses.expect("all steps are read"))
    }

    /// Performs a step like [`Trainer::step`], but does not wait for a GPU to finish it, so that the caller can prepare
    /// the next batch meanwhile. Returns the losses of this step if it has finished, as on the CPU and in a group, and
    /// otherwise those of an earlier step; `None` until the first are known.
    ///
    /// # Errors
    /// As [`Trainer::step`]. A diverged step is noticed a few steps later: call [`Trainer::settle`] before using the
    /// weights for anything that lasts.
    pub fn advance(&mut self, batch: &TrainingBatch) -> Result<Option<Losses>, TrainerError> {
        check(batch, self.network.config().plane_set())?;
        self.threads.apply();
        let samples = (batch.inputs.len() * self.ranks()) as u64;
        if let Some(together) = self.together.clone() {
            let losses = self.step_together(together, batch)?;
            self.step += 1;
            self.samples += samples;
            return finite(losses, self.step).map(Some);
        }
        let (losses, span) = catching(|| self.change(batch))??;
        self.step += 1;
        self.samples += samples;
        self.unread.push_back(Unread {
            step: self.step,
            losses,
            span,
        });
        match self.unread.len() > self.behind {
            true => self.read_next(),
            false => Ok(None),
        }
    }

    /// Waits for all steps, and returns the losses that [`Trainer::advance`] has not returned yet, oldest first.
    ///
    /// # Errors
    /// [`TrainerError::Diverged`] if one of the steps diverged, and [`TrainerError::Libtorch`] if a GPU failed.
    pub fn settle(&mut self) -> Result<Vec<Losses>, TrainerError> {
        let mut all = Vec::new();
        while let Some(losses) = self.read_next()? {
            all.push(losses);
        }
        Ok(all)
    }

    /// Waits for the oldest step whose losses have not been read.
    fn read_next(&mut self) -> Result<Option<Losses>, TrainerError> {
        let Some(Unread { step, losses, span }) = self.unread.pop_front() else {
            return Ok(None);
        };
        let losses = catching(|| losses.read())??;
        span.count_step();
        finite(losses, step).map(Some)
    }

    /// Updates the weights by one step. On a GPU, returns before it is finished.
    fn change(&mut self, batch: &TrainingBatch) -> Result<(LossesLater, Span), LibtorchError> {
        let rate = self.learning_rate();
        let numbers = Pace::numbers(&self.config, self.step, rate);
        let (recordings, mut learner) = self.learner();
        let recorded = match learner.network.device().is_cuda() {
            true => recordings.recorded(&batch.inputs, |other| {
                Recorded::new(&mut learner, batch, &numbers, other)
            }),
            false => None,
        };
        let (losses, mut span) = match recorded {
            Some(recorded) => recorded.compute(batch, &numbers)?,
            None => {
                let device = learner.network.device();
                let inputs = NetworkInputs::new(&batch.inputs, device, learner.network.precision());
                let mut place = Placement::new(device);
                let targets = Targets::placed(batch, &mut place)?;
                let pace = Pace::placed(&numbers, &mut place)?;
                let span = Span::begin(device, Work::Training);
                (learner.learn(&inputs, &targets, &pace), span)
            }
        };
        span.end();
        Ok((LossesLater::new(&losses, rate)?, span))
    }

    /// Updates the weights with a gradient.
    pub(crate) fn follow(&mut self, gradient: Tensor, terms: &Terms) -> Result<LossesLater, LibtorchError> {
        let rate = self.learning_rate();
        let numbers = Pace::numbers(&self.config, self.step, rate);
        let pace = Pace::placed(&numbers, &mut Placement::new(self.device()))?;
        let (_, mut learner) = self.learner();
        LossesLater::new(&learner.follow(gradient, terms, &pace), rate)
    }

    /// What a step changes, and the recorded steps.
    fn learner(&mut self) -> (&mut Shapes<Recorded>, Learner<'_>) {
        let learner = Learner {
            network: &self.network,
            optimizer: &mut self.optimizer,
            average: &mut self.average,
            config: &self.config,
        };
        (&mut self.recordings, learner)
    }

    /// How well the averaged weights predict a batch, without learning from it.
    ///
    /// # Errors
    /// [`TrainerError::Batch`] when the batch is empty or its arrays do not fit together.
    pub fn validate(&mut self, batch: &TrainingBatch) -> Result<Validation, TrainerError> {
        self.validate_all(std::slice::from_ref(batch))
    }

    /// [`Trainer::validate`] on several batches together, one after the other on the device. Each sample counts once.
    ///
    /// # Errors
    /// As [`Trainer::validate`].
    pub fn validate_all(&mut self, batches: &[TrainingBatch]) -> Result<Validation, TrainerError> {
        for batch in batches {
            check(batch, self.network.config().plane_set())?;
        }
        self.threads.apply();
        Ok(catching(|| self.compare(batches))??)
    }

    fn compare(&self, batches: &[TrainingBatch]) -> Result<Validation, LibtorchError> {
        let _no_grad = tch::no_grad_guard();
        let network = Network::new(&self.ema_weights(), self.device(), self.precision);
        let mut judged = Judged::default();
        for batch in batches {
            let inputs = NetworkInputs::new(&batch.inputs, self.device(), self.precision);
            let targets = Targets::new(batch, self.device())?;
            let outputs = network.forward(&inputs, Mode::Evaluation);
            let terms = Terms::new(&outputs, &inputs, &targets, &self.config.loss, None);
            let nothing = terms.total.zeros_like();
            let losses = LossesLater::new(&terms.stacked(&nothing), self.learning_rate())?.read()?;
            judged.add(losses, &outputs, &inputs, &targets, batch);
        }
        Ok(Validation::of(&judged))
    }

    /// The score that the averaged weights expect for the side to move in each position of each batch: its chance of
    /// winning, plus half of the chance of a tie.
    ///
    /// # Errors
    /// [`TrainerError::Libtorch`] if the device fails.
    pub fn chances(&mut self, batches: &[InputBatch]) -> Result<Vec<Vec<f32>>, TrainerError> {
        self.threads.apply();
        let judge = || {
            let _no_grad = tch::no_grad_guard();
            let network = Network::new(&self.ema_weights(), self.device(), self.precision);
            let of = |batch: &InputBatch| {
                let inputs = NetworkInputs::new(batch, self.device(), self.precision);
                chances(&network.forward(&inputs, Mode::Evaluation), &inputs)
            };
            batches.iter().map(of).collect()
        };
        Ok(catching(judge)?)
    }

    /// The moving average of the weights and of the running statistics: what plays and what is published.
    pub fn ema_weights(&self) -> Weights {
        self.network.weights_of(&self.average.trained, &self.average.statistics)
    }

    /// The current weights, without averaging.
    pub fn raw_weights(&self) -> Weights {
        self.network.weights()
    }
}

impl Average {
    /// Moves toward a network by `share`, a scalar tensor.
    fn follow(&mut self, network: &Network, share: &Tensor) {
        let _ = self.trained.lerp_tensor_(&network.trained(), share);
        let _ = self.statistics.lerp_tensor_(&network.statistics(), share);
    }
}

/// What a step changes. It holds everything that a step does to tensors, so that it can be recorded.
pub(crate) struct Learner<'a> {
    pub(crate) network: &'a Network,
    optimizer: &'a mut OptimizerState,
    average: &'a mut Average,
    config: &'a TrainerConfig,
}

impl Learner<'_> {
    /// Updates the weights with one batch. Returns [`Terms::stacked`].
    pub(crate) fn learn(&mut self, inputs: &NetworkInputs, targets: &Targets, pace: &Pace) -> Tensor {
        let outputs = self.network.forward(inputs, Mode::Training);
        let terms = Terms::new(&outputs, inputs, targets, &self.config.loss, None);
        let gradient = self.network.gradient(&terms.total);
        self.follow(gradient, &terms, pace)
    }

    /// Updates the weights with a gradient. Returns [`Terms::stacked`].
    fn follow(&mut self, mut gradient: Tensor, terms: &Terms, pace: &Pace) -> Tensor {
        let _no_grad = tch::no_grad_guard();
        let norm = clip(&mut gradient, self.config.clip_norm);
        self.optimizer
            .apply(&mut self.network.trained(), &gradient, self.config, pace);
        self.average.follow(self.network, &pace.average);
        terms.stacked(&norm)
    }
}

/// The losses of a step, or an error if it diverged.
fn finite(losses: Losses, step: u64) -> Result<Losses, TrainerError> {
    match losses.total.is_finite() && losses.gradient_norm.is_finite() {
        true => Ok(losses),
        false => Err(TrainerError::Diverged { step }),
    }
}

/// Checks that a batch's arrays fit together and that every margin is possible.
fn check(batch: &TrainingBatch, plane_set: PlaneSet) -> Result<(), TrainerError> {
    let samples = batch.inputs.len();
    if samples == 0 {
        return Err(TrainerError::Batch("it has no samples".to_owned()));
    }
    if batch.inputs.plane_set() != plane_set {
        let found = batch.inputs.plane_set();
        return Err(TrainerError::Batch(format!(
            "it has input planes {found:?}, but the network expects {plane_set:?}"
        )));
    }
    let canvas = batch.inputs.canvas();
    let arrays: [(&str, &[usize], &[usize]); 11] = [
        ("policy", batch.policy.shape(), &[samples, canvas.area() + 1]),
        ("reply", batch.reply.shape(), &[samples, canvas.area() + 1]),
        ("policy_weight", batch.policy_weight.shape(), &[samples]),
        ("board_margin", batch.board_margin.shape(), &[samples]),
        ("value", batch.value.shape(), &[samples, 3]),
        ("short_term", batch.short_term.shape(), &[samples, HORIZONS]),
        (
            "ownership",
            batch.ownership.shape(),
            &[samples, canvas.height(), canvas.width()],
        ),
        ("ownership_weight", batch.ownership_weight.shape(), &[samples]),
        ("result_weight", batch.result_weight.shape(), &[samples]),
        ("value_weight", batch.value_weight.shape(), &[samples]),
        ("weight", batch.weight.shape(), &[samples]),
    ];
    for (name, found, expected) in arrays {
        if found != expected {
            return Err(TrainerError::Batch(format!(
                "`{name}` has the shape {found:?}, expected {expected:?}"
            )));
        }
    }
    let sizes = batch.inputs.sizes();
    match batch
        .board_margin
        .iter()
        .zip(sizes)
        .find(|(margin, size)| margin.unsigned_abs() as usize > size.area())
    {
        Some((margin, size)) => Err(TrainerError::Batch(format!(
            "it has a margin of {margin} points on a {size} board"
        ))),
        None => Ok(()),
    }
}

/// Why training cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// A setting is out of range.
    #[error(transparent)]
    Config(#[from] SettingError),
    /// The network's configuration or its weights are invalid.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The network cannot grow into the requested one.
    #[error(transparent)]
    Growth(#[from] GrowthError),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// libtorch could not do the step, for example for lack of memory.
    #[error(
        "{0}{advice}",
        advice = if .0.is_out_of_memory() { ": use a smaller training.batch or network" } else { "" }
    )]
    Libtorch(#[from] LibtorchError),
    /// Training with the other ranks failed.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// The training batch cannot be used.
    #[error("the training batch cannot be used: {0}")]
    Batch(String),
    /// The loss or the gradient is not finite.
    #[error("training diverged at step {step}: go back to a checkpoint and use a smaller learning rate")]
    Diverged {
        /// Number of steps, including the failed one.
        step: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_test::batch;

    /// A trainer that may be some steps behind, as on a GPU.
    fn trainer(behind: usize) -> Trainer {
        tengen_network::limit_threads();
        let config = TrainerConfig {
            warmup_steps: 0,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(&NetworkConfig::new(1, 8), config, DeviceChoice::Cpu, 3).expect("the CPU");
        trainer.behind = behind;
        trainer
    }

    #[test]
    fn losses_that_are_read_later_are_those_of_steps_that_wait() {
        let batch = batch();
        let mut waiting = trainer(0);
        let expected: Vec<Losses> = (0..7).map(|_| waiting.step(&batch).expect("a step")).collect();
        let mut ahead = trainer(2);
        let mut found = Vec::new();
        for step in 0..7 {
            let known = ahead.advance(&batch).expect("a step");
            assert_eq!(known.is_some(), step >= 2, "step {step}");
            found.extend(known);
        }
        assert_eq!(ahead.steps(), 7);
        found.extend(ahead.settle().expect("all steps"));
        assert_eq!(found, expected);
        assert_eq!(ahead.checkpoint(), waiting.checkpoint());
        assert!(ahead.settle().expect("nothing is left").is_empty());
        // A step that waits returns its own losses, even after steps that did not.
        waiting.advance(&batch).expect("a step");
        ahead.advance(&batch).expect("a step");
        assert_eq!(
            ahead.step(&batch).expect("a step"),
            waiting.step(&batch).expect("a step")
        );
        assert_eq!(trainer(0).advance(&batch).expect("a step"), Some(expected[0]));
    }

    #[test]
    fn a_step_that_diverged_is_named_when_its_losses_are_read() {
        let batch = batch();
        let mut trainer = trainer(2);
        trainer.set_learning_rate(f64::INFINITY);
        // The first step has finite losses, but leaves useless weights.
        for _ in 0..2 {
            assert_eq!(trainer.advance(&batch).expect("not read yet"), None);
        }
        assert!(trainer.advance(&batch).expect("the first step").is_some());
        let error = trainer.settle().expect_err("the second step");
        assert!(matches!(error, TrainerError::Diverged { step: 2 }), "{error}");
    }
}
