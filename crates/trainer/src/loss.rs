//! How wrong the network was: four terms, each a weighted mean over samples, and those of the heads that only training
//! uses.

use serde::Serialize;
use tch::{Kind, Tensor};

use tengen_network::{LibtorchError, NetworkInputs, Outputs, ReadLater, log_results};

use crate::config::{LossWeights, OwnershipLoss};
use crate::targets::Targets;

/// The losses of one training step, before it changed the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Losses {
    /// The weighted sum of the four terms below and of those of the heads that only training uses: the opponent's
    /// reply, the softened policy, and the values over the next plies.
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

/// The exponent of the softened policy, as in KataGo.
const SOFTNESS: f64 = 0.25;

/// Distance from certainty at which the cross-entropy of owners stops growing.
const CERTAIN: f64 = 1e-4;

/// A policy, `[B, A + 1]`, to the power of [`SOFTNESS`], with rows that sum to 1; rows of zeros stay as they are.
fn softened(policy: &Tensor) -> Tensor {
    let powers = policy.pow_tensor_scalar(SOFTNESS);
    let sums = powers.sum_dim_intlist([1i64].as_slice(), true, Kind::Float);
    powers / sums.clamp_min(1e-6)
}

/// The cross-entropy of winning in nats, where `logits` are half the log-odds and `values` are P(win) - P(loss).
fn binary_entropy(logits: &Tensor, values: &Tensor) -> Tensor {
    let win = (values + 1.0) / 2.0;
    let lose: Tensor = 1.0 - &win;
    ((logits * 2.0).log_sigmoid() * win + (logits * -2.0).log_sigmoid() * lose).neg()
}

/// The divergence of the predicted owner of each point from the actual or expected one in nats, `[B, A]`: the
/// cross-entropy, less the entropy of the target. It is 0 off the board, where outputs and targets are 0.
fn owner_divergence(outputs: &Outputs, targets: &Targets) -> Tensor {
    let own = ((&outputs.ownership + 1.0) / 2.0).clamp(CERTAIN, 1.0 - CERTAIN);
    let target = (&targets.ownership + 1.0) / 2.0;
    let (other, not_target): (Tensor, Tensor) = (1.0 - &own, 1.0 - &target);
    let entropy = (own.log() * &target + other.log() * &not_target).neg();
    entropy + target.xlogy(&target) + not_target.xlogy(&not_target)
}

/// The terms of one batch as scalar tensors.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) total: Tensor,
    pub(crate) parts: [Tensor; 5],
    /// The sum of the samples' weights, divided by the same number as the terms.
    pub(crate) weight: Tensor,
}

impl Terms {
    /// Computes the terms from outputs and targets. They are means over the batch, or if `samples` is given, sums
    /// divided by that number.
    pub(crate) fn new(
        outputs: &Outputs,
        inputs: &NetworkInputs,
        targets: &Targets,
        weights: &LossWeights,
        samples: Option<usize>,
    ) -> Terms {
        let share = match samples {
            Some(samples) => &targets.weight / samples as f64,
            None => &targets.weight / targets.weight.sum(Kind::Float).clamp_min(1e-6),
        };
        let mean = |per_sample: Tensor| (per_sample * &share).sum(Kind::Float);
        let over = |tensor: Tensor| tensor.sum_dim_intlist([1i64].as_slice(), false, Kind::Float);

        let log_policy = outputs.policy.log_softmax(-1, Kind::Float);
        let policy = mean(over(&targets.policy * &log_policy) * &targets.policy_weight).neg();
        let counted = |per_sample: Tensor| mean(per_sample * &targets.result_weight);
        let known = |per_sample: Tensor| mean(per_sample * &targets.value_weight);
        let value = known(over(&targets.value * log_results(&outputs.margins, inputs.komi()))).neg();
        let margin = counted(
            outputs
                .margins
                .log_softmax(-1, Kind::Float)
                .gather(1, &targets.margin, false)
                .squeeze_dim(1),
        );
        let margin = margin.neg();
        let owned = |per_sample: Tensor| mean(per_sample * &targets.ownership_weight);
        let ownership = owned(over((&outputs.ownership - &targets.ownership).square()) / &targets.areas);
        let owners = match weights.ownership_kind {
            OwnershipLoss::Squared => ownership.shallow_clone(),
            OwnershipLoss::CrossEntropy => owned(over(owner_divergence(outputs, targets)) / &targets.areas),
        };
        let mut total =
            &policy * weights.policy + &value * weights.value + &margin * weights.margin + owners * weights.ownership;
        if let Some(reply) = &outputs.reply {
            let log_reply = reply.log_softmax(-1, Kind::Float);
            total += mean(over(&targets.reply * log_reply)).neg() * weights.reply;
        }
        if let Some(soft) = &outputs.soft {
            let log_soft = soft.log_softmax(-1, Kind::Float);
            let softened = over(softened(&targets.policy) * log_soft) * &targets.policy_weight;
            total += mean(softened).neg() * weights.soft_policy;
        }
        if let Some(short_term) = &outputs.short_term {
            let entropy = binary_entropy(short_term, &targets.short_term);
            let all = entropy.mean_dim([1i64].as_slice(), false, Kind::Float);
            total += known(all) * weights.short_term;
        }
        let log_policy = log_policy.detach();
        let entropy = mean(over(log_policy.exp() * &log_policy)).neg();
        Terms {
            total,
            parts: [policy, value, margin, ownership, entropy],
            weight: share.sum(Kind::Float),
        }
    }

    /// All terms and the gradient's norm in one tensor, in the order of [`Losses::terms`].
    pub(crate) fn stacked(&self, gradient_norm: &Tensor) -> Tensor {
        let mut all = vec![self.total.detach()];
        all.extend(self.parts.iter().map(Tensor::detach));
        all.push(gradient_norm.shallow_clone());
        Tensor::stack(&all, 0)
    }
}

/// Losses that a GPU may not have computed yet.
#[derive(Debug)]
pub(crate) struct LossesLater {
    values: ReadLater,
    learning_rate: f64,
}

impl LossesLater {
    /// Starts one copy of all numbers of [`Terms::stacked`], without waiting for a GPU.
    pub(crate) fn new(values: &Tensor, learning_rate: f64) -> Result<LossesLater, LibtorchError> {
        Ok(LossesLater {
            values: ReadLater::new(values)?,
            learning_rate,
        })
    }

    /// The losses. Waits until the GPU has computed them.
    pub(crate) fn read(self) -> Result<Losses, LibtorchError> {
        let mut values = [0.0f32; 7];
        self.values.read()?.copy_data(&mut values, 7);
        Ok(Losses::new(values.map(f64::from), self.learning_rate))
    }
}
