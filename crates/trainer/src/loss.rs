//! How wrong was the network? Four terms, each a weighted mean over samples.

use serde::Serialize;
use tch::{Kind, Tensor};

use tengen_network::{NetworkInputs, Outputs, log_results};

use crate::config::LossWeights;
use crate::targets::Targets;

/// The losses of one training step, before it changed the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Losses {
    /// The weighted sum of the four terms and, if the network predicts it, of the cross-entropy of the opponent's
    /// reply.
    pub total: f64,
    /// Cross-entropy of the moves in nats.
    pub policy: f64,
    /// Cross-entropy of win, tie, and loss in nats.
    pub value: f64,
    /// Cross-entropy of the final board margin in nats.
    pub margin: f64,
    /// Mean squared error of the ownership (values -1 to 1) over all points.
    pub ownership: f64,
    /// Entropy of the network's policy in nats; it falls as the network becomes certain of its moves.
    pub policy_entropy: f64,
    /// Euclidean norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// The learning rate of the step.
    pub learning_rate: f64,
}

impl Losses {
    /// Losses from their terms in the order of [`Losses::terms`].
    pub fn new(terms: [f64; 7], learning_rate: f64) -> Losses {
        let [total, policy, value, margin, ownership, policy_entropy, gradient_norm] = terms;
        Losses {
            total,
            policy,
            value,
            margin,
            ownership,
            policy_entropy,
            gradient_norm,
            learning_rate,
        }
    }

    /// All figures but the learning rate, in the order of the fields, so that they can be averaged over steps.
    pub fn terms(&self) -> [f64; 7] {
        [
            self.total,
            self.policy,
            self.value,
            self.margin,
            self.ownership,
            self.policy_entropy,
            self.gradient_norm,
        ]
    }
}

/// The terms of one batch as tensors without dimensions.
pub(crate) struct Terms {
    pub(crate) total: Tensor,
    parts: [Tensor; 5],
}

impl Terms {
    /// Computes the terms from outputs and targets.
    pub(crate) fn new(outputs: &Outputs, inputs: &NetworkInputs, targets: &Targets, weights: &LossWeights) -> Terms {
        let share = &targets.weight / targets.weight.sum(Kind::Float).clamp_min(1e-6);
        let mean = |per_sample: Tensor| (per_sample * &share).sum(Kind::Float);
        let over = |tensor: Tensor| tensor.sum_dim_intlist([1i64].as_slice(), false, Kind::Float);

        let log_policy = outputs.policy.log_softmax(-1, Kind::Float);
        let policy = mean(over(&targets.policy * &log_policy) * &targets.policy_weight).neg();
        let counted = |per_sample: Tensor| mean(per_sample * &targets.result_weight);
        let value = counted(over(&targets.value * log_results(&outputs.margins, inputs.komi()))).neg();
        let margin = counted(
            outputs
                .margins
                .log_softmax(-1, Kind::Float)
                .gather(1, &targets.margin, false)
                .squeeze_dim(1),
        );
        let margin = margin.neg();
        let ownership = counted(over((&outputs.ownership - &targets.ownership).square()) / &targets.areas);
        let mut total = &policy * weights.policy
            + &value * weights.value
            + &margin * weights.margin
            + &ownership * weights.ownership;
        if let Some(reply) = &outputs.reply {
            let log_reply = reply.log_softmax(-1, Kind::Float);
            total += mean(over(&targets.reply * log_reply)).neg() * weights.reply;
        }
        let log_policy = log_policy.detach();
        let entropy = mean(over(log_policy.exp() * &log_policy)).neg();
        Terms {
            total,
            parts: [policy, value, margin, ownership, entropy],
        }
    }

    /// Reads all terms and the gradient's norm in a single copy.
    pub(crate) fn read(&self, gradient_norm: &Tensor, learning_rate: f64) -> Losses {
        let mut all = vec![self.total.detach()];
        all.extend(self.parts.iter().map(Tensor::detach));
        all.push(gradient_norm.shallow_clone());
        let mut values = [0.0f32; 7];
        Tensor::stack(&all, 0).copy_data(&mut values, 7);
        Losses::new(values.map(f64::from), learning_rate)
    }
}
