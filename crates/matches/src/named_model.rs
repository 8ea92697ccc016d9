//! Finds the model that a text such as `store:DIR@g000012` names.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};

use tengen_evaluator::{ModelSource, PlayerKind};
use tengen_katago::{Network, is_network_file};
use tengen_model::{Model, ModelId};
use tengen_store::{Create, RunInfo, Store};

/// Where a player's network is; `None` for players without one.
pub fn source_of(kind: &PlayerKind) -> Option<ModelSource> {
    match kind {
        PlayerKind::Model(path) => Some(ModelSource::Path(path.clone())),
        PlayerKind::Store { location, generation } => Some(ModelSource::Store {
            location: location.clone(),
            generation: *generation,
        }),
        PlayerKind::Random | PlayerKind::Mcts | PlayerKind::Uniform | PlayerKind::Gtp(_) => None,
    }
}

/// A network that can play, analyze, and teach.
#[derive(Clone, Debug)]
pub enum NamedNetwork {
    /// One of our models: its name and, if it is in a store, the run that trained it.
    Model(String, Box<Model>, Option<RunInfo>),
    /// A KataGo network, with the name of its file.
    Katago(String, Arc<Network>),
}

/// The network of a source.
///
/// # Errors
/// If there is no such network, or it cannot be read.
pub fn read_network(source: &ModelSource) -> anyhow::Result<NamedNetwork> {
    if let ModelSource::Path(path) = source
        && is_network_file(Path::new(path))
    {
        let network = Network::load(Path::new(path)).with_context(|| format!("cannot use the model {path}"))?;
        return Ok(NamedNetwork::Katago(name_of(Path::new(path)), Arc::new(network)));
    }
    let (name, model, run) = read_model(source)?;
    Ok(NamedNetwork::Model(name, Box::new(model), run))
}

/// A model with its name and, if it is in a store, the run that trained it.
///
/// # Errors
/// If there is no such model, it cannot be read, or it is a network of another program.
pub fn read_model(source: &ModelSource) -> anyhow::Result<(String, Model, Option<RunInfo>)> {
    match source {
        ModelSource::Path(path) if is_network_file(Path::new(path)) => bail!(
            "{path} is a network of KataGo, which can play, analyze, and label games, but not be trained, described, \
             or exported; expected a model of Tengen"
        ),
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
    let name = name.map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    // KataGo networks have two extensions.
    let short = [".bin", ".txt"].iter().find_map(|end| name.strip_suffix(end));
    short.map_or(name.clone(), str::to_owned)
}
