//! How does training go on with a larger network? Weights, average, and the optimizer's state keep what they learned.

use tengen_model::{GrowthError, NetworkConfig, Weights};
use tengen_network::{DeviceChoice, Network};

use crate::trainer::{Trainer, TrainerError};

impl Trainer {
    /// The network in training.
    pub fn network(&self) -> &NetworkConfig {
        self.network.config()
    }

    /// A trainer that goes on with a larger network, which starts with the same outputs: the same step, settings,
    /// averages, and moments of the optimizer, which are zero for new weights.
    ///
    /// # Errors
    /// [`TrainerError::Growth`] if the other network is not larger, or if the device cannot be used.
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
