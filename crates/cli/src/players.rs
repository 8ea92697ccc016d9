//! Turns the text after `--model` or of a PLAYER into a player or a predictor.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};

use tengen_evaluator::{LoadedModel, ModelSource, Player, PlayerKind, PlayerOptions, PlayerSpec, PredictorLoader};
use tengen_model::{Model, ModelId, ModelInfo};
use tengen_rules::{Komi, Rules, Size};
use tengen_search::{Predictor, UniformPredictor};
use tengen_store::{Create, Store};

use crate::output;

/// The device and the number format that networks run with.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct DeviceArgs {
    /// Where networks run: the CPU, the first GPU, or the GPU if there is one
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    pub(crate) device: DeviceName,
    /// Number format of networks; bf16 is faster on a GPU, and on a CPU from about 48 channels up
    #[arg(long, value_enum, default_value_t = Dtype::Fp32)]
    pub(crate) dtype: Dtype,
}

/// A device, by its command-line name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DeviceName {
    /// The CPU
    #[default]
    Cpu,
    /// The first GPU
    Cuda,
    /// The first GPU if it can be used, otherwise the CPU
    Auto,
}

/// A number format, by its command-line name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Dtype {
    /// 32-bit floats
    #[default]
    Fp32,
    /// 16-bit floats with the range of 32-bit floats
    Bf16,
}

impl DeviceName {
    /// The command-line name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DeviceName::Cpu => "cpu",
            DeviceName::Cuda => "cuda",
            DeviceName::Auto => "auto",
        }
    }
}

impl Dtype {
    /// The command-line name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Dtype::Fp32 => "fp32",
            Dtype::Bf16 => "bf16",
        }
    }
}

#[cfg(feature = "torch")]
impl DeviceArgs {
    /// Predictor options for this device and number format, with one thread.
    pub(crate) fn predictor_options(self) -> tengen_network::PredictorOptions {
        use tengen_network::{DeviceChoice, Precision, PredictorOptions};
        let device = match self.device {
            DeviceName::Cpu => DeviceChoice::Cpu,
            DeviceName::Cuda => DeviceChoice::Cuda,
            DeviceName::Auto => DeviceChoice::Auto,
        };
        let precision = match self.dtype {
            Dtype::Fp32 => Precision::Fp32,
            Dtype::Bf16 => Precision::Bf16,
        };
        PredictorOptions {
            device,
            precision,
            ..PredictorOptions::default()
        }
    }
}

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
        #[cfg(feature = "torch")]
        device.predictor_options().device.resolve()?;
        Ok(Loader { device: *device, rules })
    }

    /// The network of a source and its name. Warns on stderr if it was trained under other rules.
    pub(crate) fn model(&self, source: &ModelSource) -> anyhow::Result<LoadedModel> {
        let (model, training) = self.model_and_training(source)?;
        self.warn_about_rules(&training);
        Ok(model)
    }

    fn warn_about_rules(&self, training: &Training) {
        if let Some(warning) = training.about_rules(self.rules) {
            output::say(format!("warning: {warning}"));
        }
    }

    /// The network of a source and what its description says about its training.
    pub(crate) fn model_and_training(&self, source: &ModelSource) -> anyhow::Result<(LoadedModel, Training)> {
        let (name, model) = match source {
            ModelSource::Path(path) => {
                let model = Model::load(Path::new(path)).with_context(|| format!("cannot use the model {path}"))?;
                (name_of(Path::new(path)), model)
            }
            ModelSource::Store { location, generation } => {
                let store = Store::open(location, Create::Never)?;
                let id = find_model(&store, *generation)?;
                (id.to_string(), store.models().load(&id)?)
            }
        };
        let training = Training::of(&name, &model.info);
        let predictor = self
            .build(&name, &model)
            .with_context(|| format!("cannot use the model {name}"))?;
        Ok((LoadedModel { predictor, name }, training))
    }

    /// The predictor behind a MODEL, which takes no options; `None` for the random player, which needs no predictor.
    /// Warns on stderr if it was trained under other rules.
    pub(crate) fn predictor(&self, model: &PlayerSpec) -> anyhow::Result<Option<Box<dyn Predictor>>> {
        let (predictor, training) = self.predictor_and_training(model)?;
        self.warn_about_rules(&training);
        Ok(predictor)
    }

    /// The same, with what is known about its training; prints no warning.
    pub(crate) fn predictor_and_training(
        &self,
        model: &PlayerSpec,
    ) -> anyhow::Result<(Option<Box<dyn Predictor>>, Training)> {
        if model.options != PlayerOptions::default() {
            return Err(output::usage("--model takes no options here; use --visits instead"));
        }
        let source = match &model.kind {
            PlayerKind::Random => return Ok((None, Training::default())),
            PlayerKind::Uniform => return Ok((Some(Box::new(UniformPredictor)), Training::default())),
            PlayerKind::Model(path) => ModelSource::Path(path.clone()),
            PlayerKind::Store { location, generation } => ModelSource::Store {
                location: location.clone(),
                generation: *generation,
            },
            PlayerKind::Gtp(_) => {
                return Err(output::usage(
                    "--model must be a network, uniform or random, not another engine",
                ));
            }
        };
        let (model, training) = self.model_and_training(&source)?;
        Ok((Some(model.predictor), training))
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
        let predictor = tengen_network::TorchPredictor::new(&model.weights, self.device.predictor_options())?;
        Ok(Box::new(predictor.with_name(name)))
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

/// What a model was trained on, as far as its description says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Training {
    name: String,
    rules: Option<String>,
    /// The boards it trained on; empty if unknown.
    boards: Vec<Size>,
}

impl Training {
    fn of(name: &str, info: &ModelInfo) -> Training {
        Training {
            name: name.to_owned(),
            rules: info.rules.clone(),
            boards: info
                .fair_komi_half_points
                .keys()
                .filter_map(|board| board.parse().ok())
                .collect(),
        }
    }

    /// A warning if the model was never trained under these rules.
    fn about_rules(&self, rules: Rules) -> Option<String> {
        let trained = self.rules.as_ref().filter(|trained| trained.parse() != Ok(rules))?;
        let name = &self.name;
        Some(format!(
            "the model {name} was trained under {trained} but plays under {rules} here"
        ))
    }

    /// A warning for everything here that the model was not trained on.
    pub(crate) fn warnings(&self, size: Size, rules: Rules, komi: Komi) -> Vec<String> {
        let name = &self.name;
        let unseen = !self.boards.is_empty() && !self.boards.contains(&size);
        let about_board = unseen.then(|| {
            let boards: Vec<_> = self.boards.iter().map(Size::to_string).collect();
            format!(
                "the model {name} was trained on {} but plays on {size} here",
                boards.join(", ")
            )
        });
        // Training never draws a komi larger than the number of points of the board.
        let beyond = usize::from(komi.half_points().unsigned_abs()) > 2 * size.area();
        let about_komi = beyond.then(|| {
            format!(
                "komi {komi} exceeds the points of {size}: the side it favors cannot lose, and no model was \
                             trained for that"
            )
        });
        [about_board, self.about_rules(rules), about_komi]
            .into_iter()
            .flatten()
            .collect()
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
    fn warns_when_play_differs_from_training() {
        let mut info = tengen_testing::random_model(1).info;
        info.rules = Some("aga".to_owned());
        info.fair_komi_half_points = [("5x5".to_owned(), 49), ("7x7".to_owned(), 18)].into();
        let training = Training::of("m", &info);
        let warnings = |size: &str, rules: &str, komi: &str| {
            training.warnings(size.parse().unwrap(), rules.parse().unwrap(), komi.parse().unwrap())
        };
        assert_eq!(warnings("7x7", "aga", "49"), Vec::<String>::new());
        let all = warnings("9x9", "tromp_taylor", "-81.5");
        assert!(all[0].contains("trained on 5x5, 7x7 but plays on 9x9"), "{all:?}");
        assert!(
            all[1].contains("trained under aga but plays under tromp_taylor"),
            "{all:?}"
        );
        assert!(all[2].contains("komi -81.5 exceeds the points of 9x9"), "{all:?}");
        let unknown = Training::of("m", &tengen_testing::random_model(1).info);
        let komi = Komi::from_half_points(15);
        assert!(
            unknown
                .warnings(Size::square(9).unwrap(), Rules::aga(), komi)
                .is_empty()
        );
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
