//! Turns the text of `--model` or of a PLAYER into a player or a predictor.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
#[cfg(not(feature = "torch"))]
use anyhow::bail;

use tengen_evaluator::{LoadedModel, ModelSource, Player, PlayerKind, PlayerOptions, PlayerSpec, PredictorLoader};
use tengen_rules::Rules;
use tengen_search::{Predictor, UniformPredictor};

use crate::device::DeviceArgs;
use crate::output;
use tengen_matches::{NamedNetwork, TrainedOn, read_network, source_of};

/// Loads networks onto one device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loader {
    device: DeviceArgs,
    rules: Rules,
}

impl Loader {
    /// A loader for the requested device and the rules that the networks will play under. Checks the device now, before
    /// any other work is done.
    ///
    /// # Errors
    /// If the device cannot be used.
    pub(crate) fn new(device: &DeviceArgs, rules: Rules) -> anyhow::Result<Loader> {
        device.check()?;
        Ok(Loader { device: *device, rules })
    }

    /// The network of a source and its name. Warns on stderr if it was trained under other rules.
    pub(crate) fn model(&self, source: &ModelSource) -> anyhow::Result<LoadedModel> {
        let (model, training) = self.model_and_training(source)?;
        self.warn_about_rules(&training);
        Ok(model)
    }

    fn warn_about_rules(&self, training: &TrainedOn) {
        if let Some(warning) = training.about_rules(self.rules) {
            output::say(format!("warning: {warning}"));
        }
    }

    /// The network of a source and what its description says about its training.
    pub(crate) fn model_and_training(&self, source: &ModelSource) -> anyhow::Result<(LoadedModel, TrainedOn)> {
        let network = read_network(source)?;
        let (name, training) = match &network {
            NamedNetwork::Model(name, model, run) => (name, TrainedOn::of(name, &model.info, run.as_ref())),
            NamedNetwork::Katago(name, _) => (name, TrainedOn::default()),
        };
        let predictor = self
            .build(&network)
            .with_context(|| format!("cannot use the model {name}"))?;
        let name = name.clone();
        Ok((LoadedModel { predictor, name }, training))
    }

    /// The predictor behind a MODEL, which takes no options. Warns on stderr if it was trained under other rules.
    pub(crate) fn predictor(&self, model: &PlayerSpec) -> anyhow::Result<Box<dyn Predictor>> {
        let (predictor, training) = self.predictor_and_training(model)?;
        self.warn_about_rules(&training);
        Ok(predictor)
    }

    /// Like [`Loader::predictor`], with what is known about its training and without the warning.
    pub(crate) fn predictor_and_training(&self, model: &PlayerSpec) -> anyhow::Result<(Box<dyn Predictor>, TrainedOn)> {
        if model.options != PlayerOptions::default() {
            return Err(output::usage("--model takes no options here; use --visits instead"));
        }
        if model.kind == PlayerKind::Uniform {
            return Ok((Box::new(UniformPredictor), TrainedOn::default()));
        }
        let Some(source) = source_of(&model.kind) else {
            return Err(output::usage(match model.kind {
                PlayerKind::Gtp(_) => "--model must be a network or uniform, not another engine".to_owned(),
                _ => format!("{model} cannot analyze positions; --model must be a network or uniform"),
            }));
        };
        let (model, training) = self.model_and_training(&source)?;
        Ok((model.predictor, training))
    }

    /// The player that a PLAYER text describes.
    pub(crate) fn player(&self, spec: &PlayerSpec) -> anyhow::Result<Box<dyn Player>> {
        self.player_until(spec, &Arc::default())
    }

    /// Like [`Loader::player`], for a player that gives up its turns once `stop` is set.
    pub(crate) fn player_until(&self, spec: &PlayerSpec, stop: &Arc<AtomicBool>) -> anyhow::Result<Box<dyn Player>> {
        let mut loader = *self;
        Ok(tengen_evaluator::build_player_until(spec, &mut loader, stop)?)
    }

    #[cfg(feature = "torch")]
    fn build(&self, network: &NamedNetwork) -> anyhow::Result<Box<dyn Predictor>> {
        let device = match network {
            NamedNetwork::Model(..) => self.device,
            NamedNetwork::Katago(..) => self.device.exact(),
        };
        device.announce()?;
        let options = device.predictor_options()?;
        Ok(match network {
            NamedNetwork::Model(name, model, _) => tengen_predictors::on_all_cores(name, &model.weights, options)?,
            NamedNetwork::Katago(name, network) => tengen_predictors::on_all_cores(name, network, options)?,
        })
    }

    #[cfg(not(feature = "torch"))]
    fn build(&self, _: &NamedNetwork) -> anyhow::Result<Box<dyn Predictor>> {
        bail!("this tengen was built without libtorch and cannot run a network; rebuild with the feature torch")
    }
}

impl PredictorLoader for Loader {
    fn load(&mut self, source: &ModelSource) -> Result<LoadedModel, String> {
        self.model(source).map_err(|error| format!("{error:#}"))
    }
}

/// What the first of these players that is a network was trained on; nothing if none is a network.
pub(crate) fn training_of<'a>(players: impl IntoIterator<Item = &'a PlayerSpec>) -> anyhow::Result<TrainedOn> {
    let source = players.into_iter().find_map(|player| source_of(&player.kind));
    let Some(source) = source else {
        return Ok(TrainedOn::default());
    };
    Ok(match read_network(&source)? {
        NamedNetwork::Model(name, model, run) => TrainedOn::of(&name, &model.info, run.as_ref()),
        NamedNetwork::Katago(..) => TrainedOn::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_store::{Create, Store};

    #[test]
    fn players_without_a_network_need_no_files() {
        let loader = Loader::new(&DeviceArgs::default(), Rules::tromp_taylor()).unwrap();
        for text in ["random", "uniform,visits=3"] {
            assert_eq!(
                loader.player(&text.parse().unwrap()).unwrap().name(),
                text.split(',').next().unwrap()
            );
        }
    }

    #[test]
    fn names_missing_models() {
        let loader = Loader::new(&DeviceArgs::default(), Rules::tromp_taylor()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let refuse = |source: &ModelSource| format!("{:#}", loader.model(source).err().unwrap());
        assert!(refuse(&ModelSource::Path(path.clone())).contains("model.json"));
        assert!(refuse(&ModelSource::Path("/no/such/file".to_owned())).contains("/no/such/file"));
        let store = Store::open(&format!("{path}/store"), Create::Always).unwrap();
        let run = tengen_store::RunInfo::new("test", 0, "tromp_taylor", Vec::new(), serde_json::Value::Null);
        store.put_run_info(&run).unwrap();
        let source = |generation| ModelSource::Store {
            location: store.location().to_owned(),
            generation,
        };
        assert!(refuse(&source(None)).contains("no champion"));
        assert!(refuse(&source(Some(3))).contains("no model of generation 3"));
    }
}
