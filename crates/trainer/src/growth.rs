//! Continues training with a larger network: weights, average, and optimizer state keep what they have learned.

use tengen_model::{GrowthError, NetworkConfig, Weights};
use tengen_network::{DeviceChoice, Network};

use crate::trainer::{Trainer, TrainerError};

impl Trainer {
    /// The network in training.
    pub fn network(&self) -> &NetworkConfig {
        self.network.config()
    }

    /// A trainer that continues with a larger network, whose outputs are the same at first. The step, the settings, the
    /// averages, and the moments of the optimizer stay the same; the moments of new weights are zero.
    ///
    /// # Errors
    /// [`TrainerError::Growth`] if the other network is not larger, and [`TrainerError::Device`] if the device cannot
    /// be used.
    pub fn grown(&self, larger: &NetworkConfig, device: DeviceChoice, seed: u64) -> Result<Trainer, TrainerError> {
        let weights = self.raw_weights().grown(larger, seed)?;
        let mut trainer = Trainer::from_weights(&weights, self.config.clone(), device)?;
        let average = self.ema_weights().grown(larger, seed)?;
        let average = Network::new(&average, trainer.device(), trainer.precision());
        trainer.average.trained = average.trained();
        trainer.average.statistics = average.statistics();
        let nothing = weights.values().iter().map(|values| vec![0.0; values.len()]).collect();
        let nothing = Weights::from_values(larger, nothing)?;
        let moments = self.optimizer.moments.iter().zip(&mut trainer.optimizer.moments);
        for ((_, before), (_, after)) in moments {
            let before = self.network.weights_of(before, &self.network.statistics());
            let placed: Result<Weights, GrowthError> = before.placed_in(&nothing);
            *after = Network::new(&placed?, trainer.network.device(), trainer.precision).trained();
        }
        trainer.step = self.step;
        trainer.samples = self.samples;
        trainer.budget_spent = self.budget_spent;
        if let Some(together) = &self.together {
            trainer.take_part(together.clone());
        }
        Ok(trainer)
    }
}
