//! How a network learns: optimizer, learning-rate schedule, and loss weights.

use serde::{Deserialize, Serialize};

use tengen_model::PrecisionChoice;
use tengen_rules::{SettingError, above, check_setting};

/// Settings of a trainer. The defaults solve 5x5 in under a minute on two cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainerConfig {
    /// Positions per training step (usual 128; 256 for 9x9 and larger). Larger batches mean fewer, steadier steps and
    /// are faster per position.
    pub batch: usize,
    /// The algorithm that turns gradients into steps (usual `adamw`).
    pub optimizer: Optimizer,
    /// Learning rate after the warm-up, above 0 (usual 3e-3 for adamw on small boards, 1e-3 later; 2e-2 for sgd).
    /// Larger values learn faster, up to the point where training no longer converges.
    pub learning_rate: f64,
    /// Steps during which the learning rate rises from zero (usual 100). More steps are safer at a large learning rate.
    pub warmup_steps: u64,
    /// How the learning rate changes after the warm-up (usual `constant`).
    pub schedule: Schedule,
    /// Share of the run's budget, 0 to 1, after which the `budget` schedule decays the learning rate (usual 0.5).
    /// Larger values keep learning fast for longer. Unused by the other schedules.
    pub decay_from: f64,
    /// Steps, counted from zero, over which the cosine schedule decays the learning rate, 1 or more (usual: the length
    /// of the run). Unused by the other schedules.
    pub decay_steps: u64,
    /// Share of the learning rate that remains at the end (usual 0.1). Unused by `constant`.
    pub final_share: f64,
    /// Share of each weight that is removed per step and unit of learning rate (usual 1e-3), except for biases and
    /// normalization. Larger values keep weights smaller and forget faster.
    pub weight_decay: f64,
    /// AdamW and Muon: decay rate of the mean gradient, 0 to 1 (usual 0.9). Larger values are smoother and change
    /// direction more slowly.
    pub beta1: f64,
    /// AdamW and Muon: decay rate of the squared gradient, 0 to 1 (usual 0.99). Larger values react more slowly to
    /// changes in the gradient's size.
    pub beta2: f64,
    /// SGD: decay rate of the momentum, 0 to 1 (usual 0.9). Larger values take larger steps in persistent directions.
    pub momentum: f64,
    /// Maximum Euclidean norm of the gradient over all weights (usual 5; 0 means no limit). Larger values let rare bad
    /// batches move the network further.
    pub clip_norm: f64,
    /// Decay rate of the moving average of the weights, which plays and is published, 0 to 1 (usual 0.98 on CPUs,
    /// 0.999 in long runs). Larger values average over more steps, so the average is steadier but lags more.
    pub average: f64,
    /// Whether the average begins short, see [`TrainerConfig::average_rate_at`] (usual true). Otherwise it begins as it
    /// goes on, and the random initial weights play for a long time.
    pub average_warmup: bool,
    /// Weights of the terms of the loss.
    pub loss: LossWeights,
    /// Number format of the tower's convolutions (usual `auto`, see
    /// [`Precision::for_training`](tengen_network::Precision::for_training)). Weights, normalization, heads, and losses
    /// are always fp32.
    pub precision: PrecisionChoice,
    /// Threads of one libtorch operation on the CPU (usual 1 while self-play runs; all cores when training alone).
    pub threads: usize,
}

impl Default for TrainerConfig {
    fn default() -> TrainerConfig {
        TrainerConfig {
            batch: 128,
            optimizer: Optimizer::AdamW,
            learning_rate: 3e-3,
            warmup_steps: 100,
            schedule: Schedule::Constant,
            decay_from: 0.5,
            decay_steps: 100_000,
            final_share: 0.1,
            weight_decay: 1e-3,
            beta1: 0.9,
            beta2: 0.99,
            momentum: 0.9,
            clip_norm: 5.0,
            average: 0.97,
            average_warmup: true,
            loss: LossWeights::default(),
            precision: PrecisionChoice::Auto,
            threads: 1,
        }
    }
}

/// The algorithm that turns gradients into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
    AdamW,
    /// Stochastic gradient descent with momentum and decoupled weight decay.
    Sgd,
    /// Muon (Jordan et al., 2024) for the matrices of hidden layers, AdamW for all other weights. Both use the same
    /// learning rate, weight decay, and `beta1`.
    Muon,
}

/// How the learning rate changes after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// Stays constant.
    Constant,
    /// Decays along half a cosine to `final_share` of its value and stays there.
    Cosine,
    /// Stays constant until `decay_from` of the run's budget is spent, then decays along half a cosine and reaches
    /// `final_share` of its value when the run ends.
    Budget,
}

/// How much each term counts in the loss. A larger weight improves that term at the cost of the others; 0 omits it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LossWeights {
    /// Cross-entropy of the moves (usual 1).
    pub policy: f64,
    /// Cross-entropy of win, tie, and loss (usual 1).
    pub value: f64,
    /// Cross-entropy of the final board margin (usual 0.25).
    pub margin: f64,
    /// Mean squared error of the final ownership over all points (usual 0.5).
    pub ownership: f64,
    /// Cross-entropy of the opponent's reply, for networks that predict it (usual 0.15).
    pub reply: f64,
    /// Cross-entropy of the softened policy, for networks that learn it (usual 8, as in KataGo, since its gradients are
    /// small).
    pub soft_policy: f64,
    /// Cross-entropy of winning over the next plies, averaged over the horizons, for networks that learn it (usual
    /// 0.5).
    pub short_term: f64,
    /// The loss function for ownership (usual `squared`).
    pub ownership_kind: OwnershipLoss,
}

/// The loss function for ownership. The reported loss of ownership is always the squared error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnershipLoss {
    /// The squared error.
    Squared,
    /// The cross-entropy, as in KataGo: confident errors count much more.
    CrossEntropy,
}

impl Default for LossWeights {
    fn default() -> LossWeights {
        LossWeights {
            policy: 1.0,
            value: 1.0,
            margin: 0.25,
            ownership: 0.5,
            reply: 0.15,
            soft_policy: 8.0,
            short_term: 0.5,
            ownership_kind: OwnershipLoss::Squared,
        }
    }
}

impl TrainerConfig {
    /// The learning rate of step `step`, counted from 0, when the share `spent` of the run's budget is spent.
    pub fn learning_rate_at(&self, step: u64, spent: f64) -> f64 {
        let warm = ((step + 1) as f64 / self.warmup_steps.max(1) as f64).min(1.0);
        let done = match self.schedule {
            Schedule::Constant => 0.0,
            Schedule::Cosine => step as f64 / self.decay_steps.max(1) as f64,
            Schedule::Budget => (spent - self.decay_from) / (1.0 - self.decay_from),
        };
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * done.clamp(0.0, 1.0)).cos());
        self.learning_rate * warm * (self.final_share + (1.0 - self.final_share) * cosine)
    }

    /// How far the moving average of the weights moves toward them after step `step`, counted from 0: by 1 - `average`,
    /// but with `average_warmup` most of the way at first, so that the random initial weights are soon forgotten.
    pub fn average_rate_at(&self, step: u64) -> f64 {
        let early = if self.average_warmup {
            9.0 / (10.0 + step as f64)
        } else {
            0.0
        };
        early.max(1.0 - self.average)
    }

    /// Checks that every field is in range.
    ///
    /// # Errors
    /// Names the first field that is not.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("training.batch", self.batch, 1..=1_000_000)?;
        check_setting("training.learning_rate", self.learning_rate, above(0.0, 100.0))?;
        check_setting("training.decay_from", self.decay_from, 0.0..1.0)?;
        check_setting("training.decay_steps", self.decay_steps, 1..)?;
        check_setting("training.final_share", self.final_share, 0.0..=1.0)?;
        check_setting("training.weight_decay", self.weight_decay, 0.0..=10.0)?;
        check_setting("training.beta1", self.beta1, 0.0..1.0)?;
        check_setting("training.beta2", self.beta2, 0.0..1.0)?;
        check_setting("training.momentum", self.momentum, 0.0..1.0)?;
        check_setting("training.clip_norm", self.clip_norm, 0.0..=1e9)?;
        check_setting("training.average", self.average, 0.0..1.0)?;
        check_setting("training.loss.policy", self.loss.policy, 0.0..=1e6)?;
        check_setting("training.loss.value", self.loss.value, 0.0..=1e6)?;
        check_setting("training.loss.margin", self.loss.margin, 0.0..=1e6)?;
        check_setting("training.loss.ownership", self.loss.ownership, 0.0..=1e6)?;
        check_setting("training.loss.reply", self.loss.reply, 0.0..=1e6)?;
        check_setting("training.loss.soft_policy", self.loss.soft_policy, 0.0..=1e6)?;
        check_setting("training.loss.short_term", self.loss.short_term, 0.0..=1e6)?;
        if self.precision == PrecisionChoice::Fp16 {
            let expected = "auto, fp32, or bf16, because small gradients would become zero in fp16";
            return Err(SettingError::new("training.precision", "\"fp16\"", expected));
        }
        check_setting("training.threads", self.threads, 1..=4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_learning_rate_warms_up_and_falls() {
        let config = TrainerConfig {
            learning_rate: 1.0,
            warmup_steps: 10,
            ..TrainerConfig::default()
        };
        assert!((config.learning_rate_at(0, 0.0) - 0.1).abs() < 1e-12);
        assert_eq!(config.learning_rate_at(9, 0.0), 1.0);
        assert_eq!(config.learning_rate_at(1_000_000, 0.0), 1.0);
        let falling = TrainerConfig {
            schedule: Schedule::Cosine,
            decay_steps: 1000,
            ..config.clone()
        };
        assert!((falling.learning_rate_at(500, 0.0) - 0.55).abs() < 1e-9);
        assert!((falling.learning_rate_at(2000, 0.0) - 0.1).abs() < 1e-9);
        let budget = TrainerConfig {
            schedule: Schedule::Budget,
            decay_from: 0.6,
            ..config
        };
        let rates = [0.0, 0.6, 0.8, 1.0, 1.2].map(|spent| budget.learning_rate_at(1_000, spent));
        let expected = [1.0, 1.0, 0.55, 0.1, 0.1];
        assert!(
            rates
                .iter()
                .zip(expected)
                .all(|(rate, expected)| (rate - expected).abs() < 1e-9),
            "{rates:?}"
        );
    }

    #[test]
    fn the_average_soon_forgets_the_random_weights() {
        let left_after = |average: f64, average_warmup: bool, steps: u64| {
            let config = TrainerConfig {
                average,
                average_warmup,
                ..TrainerConfig::default()
            };
            (0..steps)
                .map(|step| 1.0 - config.average_rate_at(step))
                .product::<f64>()
        };
        assert!(left_after(0.999, true, 10) < 2e-5);
        assert!(left_after(0.999, true, 1000) < 1e-20);
        assert!((left_after(0.999, false, 1000) - 0.999f64.powi(1000)).abs() < 1e-9);
        let long = TrainerConfig {
            average: 0.97,
            ..TrainerConfig::default()
        };
        assert!((long.average_rate_at(290) - 0.03).abs() < 1e-9);
        assert!((long.average_rate_at(1_000_000) - 0.03).abs() < 1e-9);
        let none = TrainerConfig { average: 0.0, ..long };
        assert_eq!(none.average_rate_at(0), 1.0);
    }

    #[test]
    fn settings_are_validated_and_unknown_keys_rejected() {
        assert_eq!(TrainerConfig::default().validate(), Ok(()));
        let wrong = TrainerConfig {
            average: 1.0,
            ..TrainerConfig::default()
        };
        assert_eq!(wrong.validate().unwrap_err().key, "training.average");
        let wrong = TrainerConfig {
            learning_rate: f64::NAN,
            ..TrainerConfig::default()
        };
        assert_eq!(wrong.validate().unwrap_err().key, "training.learning_rate");
        let wrong = TrainerConfig {
            learning_rate: 0.0,
            ..TrainerConfig::default()
        };
        assert_eq!(
            wrong.validate().unwrap_err().to_string(),
            "training.learning_rate is 0: expected above 0, up to 100"
        );
        let wrong = TrainerConfig {
            precision: PrecisionChoice::Fp16,
            ..TrainerConfig::default()
        };
        assert_eq!(
            wrong.validate().unwrap_err().to_string(),
            "training.precision is \"fp16\": expected auto, fp32, or bf16, because small gradients would become zero \
             in fp16"
        );
        assert!(serde_json::from_str::<TrainerConfig>(r#"{"learning_rat":1}"#).is_err());
        let some = r#"{"optimizer":"sgd","loss":{"margin":0.5},"precision":"bf16"}"#;
        let some: TrainerConfig = serde_json::from_str(some).expect("the rest has defaults");
        assert_eq!(
            (some.optimizer, some.loss.margin, some.loss.policy),
            (Optimizer::Sgd, 0.5, 1.0)
        );
    }
}
