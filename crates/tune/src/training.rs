//! Measures how fast a network trains on this machine.

use std::time::{Duration, Instant};

use anyhow::Context;

use tengen_model::NetworkConfig;
use tengen_network::{DeviceChoice, Precision};
use tengen_rules::Size;
use tengen_samples::{SampleConfig, SampleSource, SymmetryMode};
use tengen_selfplay::games_without_network;
use tengen_trainer::{Trainer, TrainerConfig};

/// Number of batches that are drawn beforehand and used in turn.
const BATCHES: u64 = 8;

/// Number of games that the batches are drawn from.
const GAMES: u32 = 32;

/// Visits per move in these games.
const GAME_VISITS: u32 = 8;

/// The measured speed of whole training steps.
#[derive(Clone, Copy, Debug)]
pub struct TrainingSpeed {
    /// Steps done.
    pub steps: u64,
    /// The wall-clock time they took, in seconds.
    pub seconds: f64,
    /// The total loss of the last step.
    pub last_loss: f64,
    /// The number format they were computed in.
    pub precision: Precision,
}

impl TrainingSpeed {
    /// Steps per second.
    pub fn steps_per_second(&self) -> f64 {
        self.steps as f64 / self.seconds
    }

    /// Trains a network on games played without one, in batches drawn beforehand, for this long and at least one step.
    /// The first step, which selects kernels and allocates memory, does not count.
    ///
    /// # Errors
    /// If the device cannot be used, or the trainer fails.
    pub fn measure(
        network: &NetworkConfig,
        config: &TrainerConfig,
        device: DeviceChoice,
        size: Size,
        duration: Duration,
        seed: u64,
    ) -> anyhow::Result<TrainingSpeed> {
        let games = games_without_network(size, GAMES, GAME_VISITS, seed)?;
        let mut source = SampleSource::new(SampleConfig::default());
        source.add_games("bench", &games)?;
        let mut trainer = Trainer::new(network, config.clone(), device, seed)?;
        let draw = |number| source.draw_samples(config.batch, seed + number, SymmetryMode::Canonical);
        let batches = (0..BATCHES).map(|number| Some(trainer.batch(&draw(number)?)));
        let batches: Option<Vec<_>> = batches.collect();
        let batches = batches.context("the sample games have no positions to train on")?;
        trainer.step(&batches[0])?;
        let start = Instant::now();
        let mut steps = 0;
        loop {
            // Like a run, this does not wait for the GPU.
            let known = trainer.advance(&batches[steps % batches.len()])?;
            steps += 1;
            if start.elapsed() >= duration {
                let losses = trainer.settle()?.pop().or(known).context("a step has no losses")?;
                return Ok(TrainingSpeed {
                    steps: steps as u64,
                    seconds: start.elapsed().as_secs_f64(),
                    last_loss: losses.total,
                    precision: trainer.precision(),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_with_optional_planes_are_measured() {
        let network = NetworkConfig {
            pass_alive_inputs: true,
            ladder_inputs: true,
            ..NetworkConfig::new(1, 8)
        };
        let config = TrainerConfig {
            batch: 8,
            ..TrainerConfig::default()
        };
        let size = Size::square(5).expect("a size");
        let speed = TrainingSpeed::measure(&network, &config, DeviceChoice::Cpu, size, Duration::ZERO, 1);
        assert_eq!(speed.expect("a speed").steps, 1);
    }
}
