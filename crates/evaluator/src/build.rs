//! Builds players from their descriptions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tengen_gtp::{ControllerError, Timeouts};
use tengen_search::{Predictor, SearchConfig, SearchMethod, UniformPredictor};

use crate::gtp_player::GtpPlayer;
use crate::mcts_player::{MctsPlayer, USUAL_PLAYOUTS};
use crate::player::{Player, PlayerError};
use crate::random_player::RandomPlayer;
use crate::search_player::{MOST_VISITS, SearchPlayer, Temperature};
use crate::spec::{PlayerKind, PlayerOptions, PlayerSpec};

/// Visits per move when the description does not set them.
const USUAL_VISITS: u32 = 64;
/// Plies during which a temperature applies when the description does not set them.
const USUAL_TEMPERATURE_PLIES: usize = 8;

/// Where to load a network from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// A model folder or file.
    Path(String),
    /// A run store: its champion, or the model of a generation.
    Store {
        /// Folder or address of the store.
        location: String,
        /// The model's generation; `None` means the champion.
        generation: Option<u32>,
    },
}

/// A loaded network, ready to predict.
pub struct LoadedModel {
    /// Evaluates positions with the network.
    pub predictor: Box<dyn Predictor>,
    /// The network's name in results, such as a model id.
    pub name: String,
}

/// Loads networks; implemented by code with a network library.
pub trait PredictorLoader {
    /// Loads the network.
    ///
    /// # Errors
    /// A sentence saying why the network cannot be loaded.
    fn load(&mut self, source: &ModelSource) -> Result<LoadedModel, String>;
}

/// A loader for programs built without a network library: every load fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoModels;

impl PredictorLoader for NoModels {
    fn load(&mut self, _source: &ModelSource) -> Result<LoadedModel, String> {
        Err("this program was built without a network library".to_owned())
    }
}

/// Makes the player that `spec` describes; networks come from `loader`.
///
/// By default, a search with a network uses 64 visits without noise. `uniform` uses 64 visits with noise, because
/// without noise it would always play the same game; `mcts` plays 1,000 random games for each move. An engine gets as
/// many processes as the machine has threads.
///
/// # Errors
/// [`PlayerError::Load`] when a model cannot be loaded, [`PlayerError::Start`] when an engine does not start, and
/// [`PlayerError::Settings`] when options contradict each other.
pub fn build_player(spec: &PlayerSpec, loader: &mut dyn PredictorLoader) -> Result<Box<dyn Player>, PlayerError> {
    build_player_until(spec, loader, &Arc::default())
}

/// Like [`build_player`], for a player that can be stopped: once `stop` is set, the player gives up its turns with
/// [`PlayerError::Stopped`] instead of thinking to the end, and an engine that does not answer is killed.
///
/// # Errors
/// Same as [`build_player`], and [`PlayerError::Stopped`] if `stop` is set before an engine has started.
pub fn build_player_until(
    spec: &PlayerSpec,
    loader: &mut dyn PredictorLoader,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn Player>, PlayerError> {
    let options = &spec.options;
    let mut load = |source: ModelSource| {
        let model = loader.load(&source).map_err(|reason| PlayerError::Load {
            player: spec.to_string(),
            reason,
        })?;
        search_player(spec, model.name, model.predictor, false, stop)
    };
    match &spec.kind {
        PlayerKind::Random => Ok(Box::new(RandomPlayer::new(options.name.clone()))),
        PlayerKind::Mcts => {
            let playouts = options.playouts.unwrap_or(USUAL_PLAYOUTS);
            Ok(Box::new(MctsPlayer::new(options.name.clone(), playouts)))
        }
        PlayerKind::Uniform => search_player(spec, "uniform".to_owned(), Box::new(UniformPredictor), true, stop),
        PlayerKind::Model(path) => load(ModelSource::Path(path.clone())),
        PlayerKind::Store { location, generation } => load(ModelSource::Store {
            location: location.clone(),
            generation: *generation,
        }),
        PlayerKind::Gtp(command) => {
            let engines = options.engines.unwrap_or_else(usual_engines);
            let (timeouts, name, stop) = (timeouts(options), options.name.clone(), Arc::clone(stop));
            let player = GtpPlayer::start(command.clone(), timeouts, engines, name, stop);
            let player = player.map_err(|reason| match reason {
                ControllerError::Stopped { .. } => PlayerError::Stopped,
                reason => PlayerError::Start {
                    player: spec.to_string(),
                    reason,
                },
            })?;
            Ok(Box::new(player))
        }
    }
}

/// The search that a player's options ask for, with defaults for competitive play.
pub fn search_config(options: &PlayerOptions, visits: u32, method: SearchMethod, noise: bool) -> SearchConfig {
    let usual = SearchConfig::for_play(visits);
    SearchConfig {
        method: options.method.unwrap_or(method),
        candidates: options.candidates.unwrap_or(usual.candidates),
        noise: options.noise.unwrap_or(noise),
        c_scale: options.c_scale.unwrap_or(usual.c_scale),
        lcb: options.lcb.unwrap_or(usual.lcb),
        images: options.images.unwrap_or(usual.images),
        root_images: options.root_images.unwrap_or(usual.root_images),
        margin_share: options.margin_share.unwrap_or(usual.margin_share),
        ..usual
    }
}

fn search_player(
    spec: &PlayerSpec,
    name: String,
    predictor: Box<dyn Predictor>,
    usual_noise: bool,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn Player>, PlayerError> {
    let options = &spec.options;
    let by_time = options.time.map(Duration::from_secs_f64);
    let (usual_visits, usual_method) = match by_time {
        Some(_) => (MOST_VISITS, SearchMethod::Puct),
        None => (USUAL_VISITS, SearchMethod::default()),
    };
    let visits = options.visits.unwrap_or(usual_visits);
    let config = search_config(options, visits, usual_method, usual_noise);
    let refuse = |reason| PlayerError::Settings {
        player: spec.to_string(),
        reason,
    };
    config.validate().map_err(|error| refuse(error.to_string()))?;
    if by_time.is_some() && !config.method.is_anytime() {
        let anytime = SearchMethod::ALL.into_iter().filter(|method| method.is_anytime());
        let names: Vec<String> = anytime.map(|method| format!("method={}", method.name())).collect();
        return Err(refuse(format!("only {} can be limited by time", names.join(" or "))));
    }
    if options.lcb.is_some() && config.method != SearchMethod::Puct {
        return Err(refuse("only method=puct can choose by lcb".to_owned()));
    }
    let name = options.name.clone().unwrap_or(name);
    let temperature = Temperature {
        value: options.temperature.unwrap_or(0.0),
        plies: options.temperature_plies.unwrap_or(USUAL_TEMPERATURE_PLIES),
    };
    let mut player = SearchPlayer::new(name, predictor, config)
        .with_temperature(temperature)
        .with_leaves(options.leaves.unwrap_or(1))
        .with_stop(Arc::clone(stop));
    if let Some(time) = by_time {
        player = player.with_time(time);
    }
    if let Some(value) = options.resign {
        player = player.with_resignation(value);
    }
    Ok(Box::new(player))
}

fn usual_engines() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn timeouts(options: &PlayerOptions) -> Timeouts {
    let usual = Timeouts::default();
    let seconds = |option: Option<f64>, usual| option.map_or(usual, Duration::from_secs_f64);
    Timeouts {
        startup: seconds(options.start_s, usual.startup),
        command: usual.command,
        per_move: seconds(options.move_s, usual.per_move),
        total: options.game_s.map(Duration::from_secs_f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<Box<dyn Player>, PlayerError> {
        build_player(&text.parse().expect("a player"), &mut NoModels)
    }

    #[test]
    fn players_are_built_from_descriptions() {
        assert_eq!(build("random").expect("a player").name(), "random");
        assert_eq!(build("mcts,playouts=9").expect("a player").name(), "mcts");
        assert_eq!(build("uniform,visits=9,name=nine").expect("a player").name(), "nine");
        assert_eq!(build("uniform,time=1s").expect("a player").name(), "uniform");
        let error = build("uniform,time=1,method=gumbel")
            .err()
            .expect("an error")
            .to_string();
        assert!(error.contains("only method=puct can be limited by time"), "{error}");
        let error = build("uniform,lcb=2").err().expect("an error").to_string();
        assert!(error.contains("only method=puct can choose by lcb"), "{error}");
        assert_eq!(build("uniform,method=puct,lcb=2").expect("a player").name(), "uniform");
        let error = build("model:nowhere").err().expect("an error").to_string();
        assert_eq!(
            error,
            "cannot load the model of player 'model:nowhere': this program was built without a network library"
        );
        let error = build("gtp:no-such-engine").err().expect("an error").to_string();
        assert!(
            error.contains("no such program") && error.lines().count() == 1,
            "{error}"
        );
    }
}
