//! Which weights does training begin with? Random ones, those of another model, or those grown from it.

use anyhow::bail;

use tengen_evaluator::{ModelSource, PlayerOptions, PlayerSpec};
use tengen_matches::{read_model, source_of, usage};
use tengen_model::{Model, NetworkConfig, Weights};
use tengen_rng::fold;
use tengen_run::{RunConfig, Watch};

/// A model that training or a run begins with.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Its name: the id of a model in a store, or its path.
    pub name: String,
    /// The model.
    pub model: Model,
    /// The store that has it, if it comes from one.
    pub store: Option<String>,
}

impl Origin {
    /// The model that `model:PATH` or `store:DIR` names.
    ///
    /// # Errors
    /// A usage error for a player that is not a model; otherwise if it cannot be read.
    pub fn load(spec: &PlayerSpec) -> anyhow::Result<Origin> {
        let source = source_of(&spec.kind).filter(|_| spec.options == PlayerOptions::default());
        let source = source.ok_or_else(|| usage(format!("{spec}: expected model:PATH or store:DIR")))?;
        let (name, model, _) = read_model(&source)?;
        Ok(match source {
            ModelSource::Path(_) => Origin {
                name: format!("{name}-{}", &model.encode().info.weights_sha256[..12]),
                model,
                store: None,
            },
            ModelSource::Store { location, .. } => Origin {
                name,
                model,
                store: Some(location),
            },
        })
    }
}

/// How a model becomes one of another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It has that shape.
    Same,
    /// It can grow: the larger network begins with the same outputs.
    Grows,
    /// It cannot: a network of that shape has to learn from games.
    Differs,
}

impl Origin {
    /// Whether the model has a shape, or can grow into it.
    pub(crate) fn fit(&self, network: &NetworkConfig) -> Fit {
        match self.model.weights.config() {
            own if own == network => Fit::Same,
            own if own.can_grow_into(network) => Fit::Grows,
            _ => Fit::Differs,
        }
    }

    /// The model's weights in the shape of the configuration; `None` if it cannot have that shape. Says so if the model
    /// grows, or was trained under other rules.
    pub(crate) fn weights(&self, config: &RunConfig, watch: &dyn Watch) -> anyhow::Result<Option<Weights>> {
        if let Some(rules) = &self.model.info.rules
            && rules.parse() != Ok(config.rules)
        {
            watch.say(&format!(
                "warning: {} was trained under {rules}, and goes on under {}",
                self.name, config.rules
            ));
        }
        match self.fit(&config.network) {
            Fit::Same => Ok(Some(self.model.weights.clone())),
            Fit::Grows => {
                let shape = |network: &NetworkConfig| {
                    format!("{} with {} input planes", network.name(), network.input_planes())
                };
                watch.say(&format!(
                    "{} grows from {} to {}: the larger network begins with the same outputs",
                    self.name,
                    shape(self.model.weights.config()),
                    shape(&config.network)
                ));
                let network = &config.network;
                let seed = fold(config.seed, &[network.blocks as u64, network.channels as u64]);
                Ok(Some(self.model.weights.grown(network, seed)?))
            }
            Fit::Differs => Ok(None),
        }
    }
}

/// The weights that training on games begins with.
///
/// # Errors
/// If the model cannot have the shape of the configuration.
pub(crate) fn weights(config: &RunConfig, origin: Option<&Origin>, watch: &dyn Watch) -> anyhow::Result<Weights> {
    let Some(origin) = origin else {
        return Ok(Weights::random(&config.network, config.seed)?);
    };
    match origin.weights(config, watch)? {
        Some(weights) => Ok(weights),
        None => bail!(
            "{} is {}, which cannot become {}: a network can only gain blocks and channels; leave out --init to train \
             a fresh network, or set [network] to fit the model",
            origin.name,
            origin.model.weights.config().name(),
            config.network.name()
        ),
    }
}
