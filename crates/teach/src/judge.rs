//! How well does a network predict games that it never saw?

use anyhow::Context;
use serde::Serialize;

use tengen_rng::fold;
use tengen_run::{RunConfig, Setup};
use tengen_samples::SampleSource;
use tengen_trainer::{Trainer, TrainerError};

use crate::material::Material;
use crate::start::Origin;
use crate::teach::{device, say_device};

/// Positions that a network is judged by, of each origin. The standard error of a share is at most 0.8%.
const SAMPLES: usize = 4096;

/// Positions predicted at once.
const BATCH: usize = 256;

/// The predictions of a network, as means over positions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeldOut {
    /// The weighted sum of the losses, as in training.
    pub total_loss: f64,
    /// Cross-entropy of the moves in nats.
    pub policy_loss: f64,
    /// Cross-entropy of win, tie, and loss in nats.
    pub value_loss: f64,
    /// Cross-entropy of the final margin in nats.
    pub margin_loss: f64,
    /// Squared error of the owners.
    pub ownership_loss: f64,
    /// Share of the positions in which the network's most probable move is the target's, 0 to 1; `None` without
    /// targets.
    pub policy_top1: Option<f64>,
    /// Mean squared difference between the predicted score and the game's, 0 to 1; `None` if no result is known.
    pub brier: Option<f64>,
    /// Mean distance between the expected and the actual margin in points; `None` if no margin is known.
    pub margin_error: Option<f64>,
}

/// The games that positions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    HeldOut,
    Trained,
}

/// Judges the averaged weights by held-out games: the mean over the sources by their shares. `None` if a source has no
/// held-out games.
///
/// The positions depend on the games and the seed alone, so every network is judged by the same ones.
///
/// # Errors
/// If the network cannot predict them.
pub fn judge(trainer: &mut Trainer, material: &Material, config: &RunConfig) -> Result<Option<HeldOut>, TrainerError> {
    judge_by(Of::HeldOut, trainer, material, config)
}

/// Judges a model by the held-out games of `[[train.from]]`.
///
/// # Errors
/// If the games cannot be read, none are held out, or the network cannot predict them.
pub fn judge_model(config: &RunConfig, origin: &Origin, setup: &Setup) -> anyhow::Result<HeldOut> {
    let material = Material::gather(config, &*setup.watch)?;
    setup.watch.say(&material.in_words());
    let mut trainer = Trainer::from_weights(&origin.model.weights, config.training.clone(), device(config, setup))?;
    say_device(&trainer, setup);
    judge(&mut trainer, &material, config)?.context("no games are held out: raise loop.held_out or add games")
}

pub(crate) fn judge_by(
    of: Of,
    trainer: &mut Trainer,
    material: &Material,
    config: &RunConfig,
) -> Result<Option<HeldOut>, TrainerError> {
    let mut sum: Option<HeldOut> = None;
    for (source, share) in material.mixture.sources().zip(material.mixture.shares()) {
        let Some(one) = one(of, trainer, source, config)? else {
            return Ok(None);
        };
        sum = Some(match sum {
            None => one.times(share),
            Some(sum) => sum.plus(one.times(share)),
        });
    }
    Ok(sum)
}

fn one(
    of: Of,
    trainer: &mut Trainer,
    source: &SampleSource,
    config: &RunConfig,
) -> Result<Option<HeldOut>, TrainerError> {
    let (seed, symmetry) = (fold(config.seed, &[u64::MAX]), config.loop_config.symmetry_at(1.0));
    let samples = match of {
        Of::HeldOut => source.draw_held_out(SAMPLES, seed, symmetry),
        Of::Trained => source.draw_samples(SAMPLES, seed, symmetry),
    };
    let Some(samples) = samples else { return Ok(None) };
    let batches: Vec<_> = samples.chunks(BATCH).map(|chunk| trainer.batch(chunk)).collect();
    let found = trainer.validate_all(&batches)?;
    let known = |value: f64| value.is_finite().then_some(value);
    Ok(Some(HeldOut {
        total_loss: found.losses.total,
        policy_loss: found.losses.policy,
        value_loss: found.losses.value,
        margin_loss: found.losses.margin,
        ownership_loss: found.losses.ownership,
        policy_top1: known(found.policy_top1),
        brier: known(found.brier),
        margin_error: known(found.margin_error),
    }))
}

impl HeldOut {
    fn map(self, other: HeldOut, of: impl Fn(f64, f64) -> f64) -> HeldOut {
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| of(a, b));
        HeldOut {
            total_loss: of(self.total_loss, other.total_loss),
            policy_loss: of(self.policy_loss, other.policy_loss),
            value_loss: of(self.value_loss, other.value_loss),
            margin_loss: of(self.margin_loss, other.margin_loss),
            ownership_loss: of(self.ownership_loss, other.ownership_loss),
            policy_top1: both(self.policy_top1, other.policy_top1),
            brier: both(self.brier, other.brier),
            margin_error: both(self.margin_error, other.margin_error),
        }
    }

    fn times(self, factor: f64) -> HeldOut {
        self.map(self, |value, _| value * factor)
    }

    fn plus(self, other: HeldOut) -> HeldOut {
        self.map(other, |a, b| a + b)
    }
}
