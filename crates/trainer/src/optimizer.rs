//! Applies gradients to the weights. All weights are in one flat tensor, so that a step is a handful of operations.

use tch::Tensor;

use tengen_network::Network;

use crate::config::{Optimizer, TrainerConfig};
use crate::muon::Matrices;
use crate::pace::Pace;

/// Keeps the denominator of AdamW away from zero.
const ADAM_EPSILON: f64 = 1e-8;

/// The state of an optimizer: one flat tensor for each moment, laid out like the trained weights.
#[derive(Debug)]
pub(crate) struct OptimizerState {
    /// The name and tensor of each moment, in a fixed order.
    pub(crate) moments: Vec<(&'static str, Tensor)>,
    /// 1 where weight decay applies.
    decayed: Tensor,
    /// The matrices that Muon updates; none for other optimizers.
    matrices: Matrices,
}

impl OptimizerState {
    /// A fresh state, all zero, for the weights of this network.
    pub(crate) fn new(optimizer: Optimizer, network: &Network) -> OptimizerState {
        let matrices = match optimizer {
            Optimizer::Muon => Matrices::new(&network.hidden_matrices()),
            Optimizer::AdamW | Optimizer::Sgd => Matrices::default(),
        };
        OptimizerState::of(optimizer, network.decayed(), matrices)
    }

    /// A fresh state, all zero. `decayed` is 1 for each weight to which weight decay applies.
    fn of(optimizer: Optimizer, decayed: Tensor, matrices: Matrices) -> OptimizerState {
        let names: &[&'static str] = match optimizer {
            Optimizer::AdamW | Optimizer::Muon => &["mean", "square"],
            Optimizer::Sgd => &["momentum"],
        };
        let moments = names.iter().map(|&name| (name, decayed.zeros_like())).collect();
        OptimizerState {
            moments,
            decayed,
            matrices,
        }
    }

    /// Updates `weights` in place by one step. Gradients must be disabled.
    pub(crate) fn apply(&mut self, weights: &mut Tensor, gradient: &Tensor, config: &TrainerConfig, pace: &Pace) {
        let shrink = &self.decayed * &pace.shrink + 1.0;
        let _ = weights.g_mul_(&shrink);
        match config.optimizer {
            Optimizer::AdamW | Optimizer::Muon => self.adam(weights, gradient, config, pace),
            Optimizer::Sgd => self.momentum(weights, gradient, config, pace),
        }
    }

    /// Kingma and Ba (2015), algorithm 1, except for the matrices of Muon.
    fn adam(&mut self, weights: &mut Tensor, gradient: &Tensor, config: &TrainerConfig, pace: &Pace) {
        let [(_, mean), (_, square)] = self.moments.as_mut_slice() else {
            unreachable!("AdamW keeps two moments");
        };
        let _ = mean.lerp_(gradient, 1.0 - config.beta1);
        let _ = square.lerp_(&gradient.square(), 1.0 - config.beta2);
        let denominator = square.sqrt() * &pace.root_scale + ADAM_EPSILON;
        let mut change = &*mean / denominator * &pace.mean_rate;
        self.matrices
            .replace(&mut change, mean, gradient, config.beta1, &pace.rate);
        let _ = weights.g_sub_(&change);
    }

    fn momentum(&mut self, weights: &mut Tensor, gradient: &Tensor, config: &TrainerConfig, pace: &Pace) {
        let [(_, momentum)] = self.moments.as_mut_slice() else {
            unreachable!("SGD keeps one moment");
        };
        let _ = momentum.g_mul_scalar_(config.momentum);
        let _ = momentum.g_add_(gradient);
        let _ = weights.g_sub_(&(&*momentum * &pace.rate));
    }
}

/// Clips a gradient to a norm of at most `limit` (0 means no limit) without reading the norm back. Returns the norm
/// before clipping.
pub(crate) fn clip(gradient: &mut Tensor, limit: f64) -> Tensor {
    let norm = gradient.norm();
    if limit > 0.0 {
        let factor = (limit / (&norm + 1e-6)).clamp_max(1.0);
        let _ = gradient.g_mul_(&factor);
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Placement;
    use tch::{Device, Kind};

    fn pace(config: &TrainerConfig, step: u64, rate: f64) -> Pace {
        let numbers = Pace::numbers(config, step, rate);
        Pace::placed(&numbers, &mut Placement::new(Device::Cpu)).expect("the CPU")
    }

    fn read(tensor: &Tensor) -> Vec<f32> {
        let mut values = vec![0.0; tensor.numel()];
        let length = values.len();
        tensor.copy_data(&mut values, length);
        values
    }

    #[test]
    fn adam_follows_its_formula() {
        tengen_network::limit_threads();
        let config = TrainerConfig {
            warmup_steps: 0,
            learning_rate: 0.1,
            weight_decay: 0.5,
            ..TrainerConfig::default()
        };
        let mut state = OptimizerState::of(
            Optimizer::AdamW,
            Tensor::from_slice(&[1.0f32, 0.0]),
            Matrices::default(),
        );
        let mut weights = Tensor::from_slice(&[2.0f32, 2.0]);
        let (mut m, mut v, mut expected) = ([0.0f64; 2], [0.0f64; 2], [2.0f64, 2.0]);
        for step in 0..5u64 {
            let gradient = [0.3 * (step as f64 + 1.0), -0.7];
            state.apply(
                &mut weights,
                &Tensor::from_slice(&gradient.map(|g| g as f32)),
                &config,
                &pace(&config, step, config.learning_rate_at(step, 0.0)),
            );
            for index in 0..2 {
                let decay = if index == 0 { 0.05 } else { 0.0 };
                m[index] = 0.9 * m[index] + 0.1 * gradient[index];
                v[index] = 0.99 * v[index] + 0.01 * gradient[index] * gradient[index];
                let power = step as i32 + 1;
                let (m_hat, v_hat) = (
                    m[index] / (1.0 - 0.9f64.powi(power)),
                    v[index] / (1.0 - 0.99f64.powi(power)),
                );
                expected[index] = expected[index] * (1.0 - decay) - 0.1 * m_hat / (v_hat.sqrt() + 1e-8);
            }
        }
        for (found, expected) in read(&weights).iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn clipping_keeps_the_direction() {
        tengen_network::limit_threads();
        let mut gradient = Tensor::from_slice(&[3.0f32, 4.0]);
        assert_eq!(read(&clip(&mut gradient, 10.0)), [5.0]);
        assert_eq!(read(&gradient), [3.0, 4.0]);
        let _ = clip(&mut gradient, 1.0);
        let values = read(&gradient);
        assert!(
            (values[0] - 0.6).abs() < 1e-5 && (values[1] - 0.8).abs() < 1e-5,
            "{values:?}"
        );
        let mut zero = Tensor::zeros([2], (Kind::Float, Device::Cpu));
        let _ = clip(&mut zero, 1.0);
        assert_eq!(read(&zero), [0.0, 0.0]);
    }
}
