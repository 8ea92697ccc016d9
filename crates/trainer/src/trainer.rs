//! What happens in one training step?

use tch::{Device, Tensor};

use tengen_encoding::{HORIZONS, PlaneSet, Sample, TrainingBatch};
use tengen_model::{GrowthError, NetworkConfig, Weights, WeightsError};
use tengen_network::{
    DeviceChoice, DeviceError, GroupError, LibtorchError, Mode, Network, NetworkInputs, Precision, Shapes, ThreadLimit,
    Work, catching,
};
use tengen_rules::SettingError;

use crate::config::TrainerConfig;
use crate::loss::{Losses, Terms};
use crate::optimizer::{OptimizerState, clip};
use crate::recorded::Recorded;
use crate::targets::Targets;
use crate::together::Together;
use crate::validation::{Judged, Validation};

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
        })
    }

    /// The settings that the trainer was created or restored with.
    pub fn config(&self) -> &TrainerConfig {
        &self.config
    }

    /// Number of training steps since the network was new.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Number of samples trained on since the network was new, whatever the sizes of the batches were.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// States the share of the run's budget that is spent, from 0 to 1, which the schedule `budget` follows. A trainer
    /// begins with 0.
    pub fn set_budget_spent(&mut self, share: f64) {
        self.budget_spent = share;
    }

    /// Changes the learning rate after the warm-up, from the next step on.
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

    /// Collects samples in a batch with the input planes that the network sees.
    ///
    /// # Panics
    /// If there are no samples.
    pub fn batch(&self, samples: &[Sample]) -> TrainingBatch {
        TrainingBatch::with_planes(samples, self.network.config().plane_set())
    }

    /// Performs one step: forward pass, losses, gradient, optimizer, moving average. On the CPU with one thread, steps
    /// are exactly reproducible. After [`Trainer::join`], the batch is this rank's part of that of all ranks.
    ///
    /// # Errors
    /// [`TrainerError::Batch`] when the batch is empty or its arrays do not fit together,
    /// [`TrainerError::Diverged`] when the loss is not finite; the weights are then useless, and
    /// [`TrainerError::Group`] when another rank is gone; the weights are then those of before the step.
    pub fn step(&mut self, batch: &TrainingBatch) -> Result<Losses, TrainerError> {
        check(batch, self.network.config().plane_set())?;
        self.threads.apply();
        let losses = match self.together {
            Some(_) => self.step_together(batch)?,
            None => catching(|| self.change(batch))??,
        };
        self.step += 1;
        self.samples += (batch.inputs.len() * self.ranks()) as u64;
        if losses.total.is_finite() && losses.gradient_norm.is_finite() {
            Ok(losses)
        } else {
            Err(TrainerError::Diverged { step: self.step })
        }
    }

    /// Changes the weights by one step.
    fn change(&mut self, batch: &TrainingBatch) -> Result<Losses, LibtorchError> {
        let (network, weights) = (&self.network, &self.config.loss);
        let recorded = match network.device().is_cuda() {
            true => self
                .recordings
                .recorded(&batch.inputs, |other| Recorded::new(network, batch, weights, other)),
            false => None,
        };
        let (gradient, terms) = match recorded {
            Some(recorded) => recorded.compute(batch)?,
            None => self.gradient(batch)?,
        };
        let _no_grad = tch::no_grad_guard();
        Ok(self.follow(gradient, &terms))
    }

    /// The gradient and the losses of a batch.
    fn gradient(&self, batch: &TrainingBatch) -> Result<(Tensor, Terms), LibtorchError> {
        let inputs = NetworkInputs::new(&batch.inputs, self.device(), self.precision);
        let targets = Targets::new(batch, self.device())?;
        let outputs = self.network.forward(&inputs, Mode::Training);
        let terms = Terms::new(&outputs, &inputs, &targets, &self.config.loss, None);
        Ok((self.network.gradient(&terms.total), terms))
    }

    /// Changes the weights by a gradient. Gradients must be disabled.
    pub(crate) fn follow(&mut self, mut gradient: Tensor, terms: &Terms) -> Losses {
        let norm = clip(&mut gradient, self.config.clip_norm);
        let rate = self.learning_rate();
        self.optimizer
            .apply(&mut self.network.trained(), &gradient, &self.config, (self.step, rate));
        self.average
            .follow(&self.network, self.config.average_rate_at(self.step));
        terms.read(&norm, rate)
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
            let losses = terms.read(&terms.total.zeros_like(), self.learning_rate());
            judged.add(losses, &outputs, &inputs, &targets, batch);
        }
        Ok(Validation::of(&judged))
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
    fn follow(&mut self, network: &Network, rate: f64) {
        let _ = self.trained.lerp_(&network.trained(), rate);
        let _ = self.statistics.lerp_(&network.statistics(), rate);
    }
}

/// Checks that a batch's arrays belong together and every margin is possible.
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
    let arrays: [(&str, &[usize], &[usize]); 10] = [
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
    #[error(transparent)]
    Libtorch(#[from] LibtorchError),
    /// The ranks that train together are not together any more.
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
