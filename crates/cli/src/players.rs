//! Turns the text after `--model` or of a PLAYER into a player or a predictor.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};

use tengen_evaluator::{LoadedModel, ModelSource, Player, PlayerKind, PlayerOptions, PlayerSpec, PredictorLoader};
use tengen_model::{Model, ModelId};
use tengen_rules::Rules;
use tengen_search::{Predictor, UniformPredictor};
use tengen_store::{Create, RunInfo, Store};

use crate::device::DeviceArgs;
use crate::output;
use tengen_matches::TrainedOn;

/// Loads networks onto one device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loader {
    device: DeviceArgs,
    rules: Rules,
}

impl Loader {
    /// A loader for the requested device and the rules that the networks will play under.
    ///
    /// # Errors
    /// If that device cannot be used, before any other work is done.
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
        let (name, model, run) = read_model(source)?;
        let training = TrainedOn::of(&name, &model.info, run.as_ref());
        let predictor = self
            .build(&name, &model)
            .with_context(|| format!("cannot use the model {name}"))?;
        Ok((LoadedModel { predictor, name }, training))
    }

    /// The predictor behind a MODEL, which takes no options. Warns on stderr if it was trained under other rules.
    pub(crate) fn predictor(&self, model: &PlayerSpec) -> anyhow::Result<Box<dyn Predictor>> {
        let (predictor, training) = self.predictor_and_training(model)?;
        self.warn_about_rules(&training);
        Ok(predictor)
    }

    /// The same, with what is known about its training; prints no warning.
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

    /// The player that a PLAYER text describes, which gives up its turns once `stop` is set.
    pub(crate) fn player_until(&self, spec: &PlayerSpec, stop: &Arc<AtomicBool>) -> anyhow::Result<Box<dyn Player>> {
        let mut loader = *self;
        Ok(tengen_evaluator::build_player_until(spec, &mut loader, stop)?)
    }

    #[cfg(feature = "torch")]
    fn build(&self, name: &str, model: &Model) -> anyhow::Result<Box<dyn Predictor>> {
        self.device.announce()?;
        let options = self.device.predictor_options()?;
        Ok(tengen_network::on_all_cores(name, &model.weights, options)?)
    }

    #[cfg(not(feature = "torch"))]
    fn build(&self, _name: &str, _model: &Model) -> anyhow::Result<Box<dyn Predictor>> {
        bail!("this tengen was built without libtorch and cannot run a network; rebuild with the feature torch")
    }
}

impl PredictorLoader for Loader {
    fn load(&mut self, source: &ModelSource) -> Result<LoadedModel, String> {
        self.model(source).map_err(|error| format!("{error:#}"))
    }
}

/// A model with its name and, if it is in a store, the run that trained it.
pub(crate) fn read_model(source: &ModelSource) -> anyhow::Result<(String, Model, Option<RunInfo>)> {
    match source {
        ModelSource::Path(path) => {
            let model = Model::load(Path::new(path)).with_context(|| format!("cannot use the model {path}"))?;
            Ok((name_of(Path::new(path)), model, None))
        }
        ModelSource::Store { location, generation } => {
            let store = Store::open(location, Create::Never)?;
            let id = find_model(&store, *generation)?;
            Ok((id.to_string(), store.models().load(&id)?, store.run_info()?))
        }
    }
}

/// What the first of these players that is a network was trained on; nothing if none is a network.
pub(crate) fn training_of<'a>(players: impl IntoIterator<Item = &'a PlayerSpec>) -> anyhow::Result<TrainedOn> {
    let source = players.into_iter().find_map(|player| source_of(&player.kind));
    let Some(source) = source else {
        return Ok(TrainedOn::default());
    };
    let (name, model, run) = read_model(&source)?;
    Ok(TrainedOn::of(&name, &model.info, run.as_ref()))
}

/// Where a player's network is; `None` for players without one.
pub(crate) fn source_of(kind: &PlayerKind) -> Option<ModelSource> {
    match kind {
        PlayerKind::Model(path) => Some(ModelSource::Path(path.clone())),
        PlayerKind::Store { location, generation } => Some(ModelSource::Store {
            location: location.clone(),
            generation: *generation,
        }),
        PlayerKind::Random | PlayerKind::Mcts | PlayerKind::Uniform | PlayerKind::Gtp(_) => None,
    }
}

/// The id of the champion, or of the model of this generation.
fn find_model(store: &Store, generation: Option<u32>) -> anyhow::Result<ModelId> {
    let location = store.location();
    let Some(generation) = generation else {
        return match store.models().champion()? {
            Some((_, promotion)) => Ok(promotion.model_id),
            None => bail!("the store at {location} has no champion yet; continue the run, or name a generation"),
        };
    };
    let models = store.models().list()?;
    match models.iter().rev().find(|model| model.generation() == generation) {
        Some(model) => Ok(model.clone()),
        None => {
            let last = models.last().map_or("it has no models".to_owned(), |model| {
                format!("its last model is {model}")
            });
            bail!("the store at {location} has no model of generation {generation}; {last}")
        }
    }
}

/// The name of the model at a path: the folder's name, or the file's name without its extension.
fn name_of(path: &Path) -> String {
    let name = if path.is_dir() {
        path.file_name()
    } else {
        path.file_stem()
    };
    name.map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
