//! What is a model? Weights plus `model.json`, which says what they are, where they come from, and what they cost.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use tengen_rules::{Komi, Size};

use crate::config::NetworkConfig;
use crate::id::ModelId;
use crate::versions::{FEATURE_SET, MODEL_FORMAT};
use crate::weights::{Weights, WeightsError, check_versions, sha256_hex};

/// Name of the weights file in a model folder.
pub const WEIGHTS_FILE: &str = "weights.safetensors";

/// Name of the description in a model folder. It is published last, as a sign that the model is complete.
pub const INFO_FILE: &str = "model.json";

/// The contents of `model.json`. Readers ignore unknown keys, because a store adds its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// [`MODEL_FORMAT`] of the program that wrote it.
    pub format: u32,
    /// [`FEATURE_SET`] of the program that wrote it.
    pub feature_set: u32,
    /// The architecture that the weights belong to.
    pub architecture: NetworkConfig,
    /// Where the weights come from.
    pub provenance: Provenance,
    /// What the weights cost, from the start of training at zero. In a run that began with another model, from the
    /// start of the run.
    pub cost: CostLedger,
    /// The rules of the games that the weights were trained on, as text that can be parsed back; `None` when unknown,
    /// as in descriptions written before this key existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// For each board size, written as `5x5`, the komi in half points at which the model considered the game even.
    pub fair_komi_half_points: BTreeMap<String, i16>,
    /// SHA-256 of the weights file, 64 hexadecimal digits; empty for weights that have not been encoded yet.
    pub weights_sha256: String,
}

/// The run, training step and predecessor that weights come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The run that trained the weights; empty when unknown.
    pub run_id: String,
    /// Training steps from zero.
    pub step: u64,
    /// The model that training continued from, if it did not start from zero.
    pub parent: Option<String>,
}

/// What a model cost in total. See [`ModelInfo::cost`] for where counting starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostLedger {
    /// Number of finished self-play games.
    pub games: u64,
    /// Number of positions in those games.
    pub positions: u64,
    /// Number of positions evaluated by a network.
    pub evaluations: u64,
    /// CPU time of all threads together, in seconds.
    pub cpu_seconds: f64,
    /// Time during which a GPU was in use, in seconds.
    pub gpu_seconds: f64,
}

impl ModelInfo {
    /// The description of `weights`, with origin and cost still empty.
    pub fn new(weights: &Weights) -> ModelInfo {
        ModelInfo {
            format: MODEL_FORMAT,
            feature_set: FEATURE_SET,
            architecture: weights.config().clone(),
            provenance: Provenance::default(),
            cost: CostLedger::default(),
            rules: None,
            fair_komi_half_points: BTreeMap::new(),
            weights_sha256: String::new(),
        }
    }

    /// The komi at which the model considered the game on this board even, if it is known.
    pub fn fair_komi(&self, size: Size) -> Option<Komi> {
        self.fair_komi_half_points
            .get(&size.to_string())
            .map(|&half_points| Komi::from_half_points(half_points))
    }

    /// Records the komi at which the model considers the game on this board even.
    pub fn set_fair_komi(&mut self, size: Size, komi: Komi) {
        self.fair_komi_half_points.insert(size.to_string(), komi.half_points());
    }

    /// The text of `model.json`, ending in a newline.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain fields always serialize");
        text.push('\n');
        text
    }

    /// Parses the text of a `model.json`.
    ///
    /// # Errors
    /// [`ModelError::Weights`] for another format or feature set, and [`ModelError::Info`] for text that is not a
    /// description.
    pub fn from_json(text: &str) -> Result<ModelInfo, ModelError> {
        serde_json::from_str::<serde::de::IgnoredAny>(text)
            .map_err(|error| ModelError::Info(format!("it is not JSON: {error}")))?;
        check_versions(text).map_err(|error| match error {
            WeightsError::NotOurs => ModelError::Info("it has no format or no feature_set".to_owned()),
            other => ModelError::Weights(other),
        })?;
        serde_json::from_str(text).map_err(|error| ModelError::Info(error.to_string()))
    }
}

/// A model ready to be written: the bytes of its weights file, and the description with their hash.
#[derive(Clone, Debug)]
pub struct EncodedModel {
    /// The weights in safetensors format.
    pub weights: Vec<u8>,
    /// The description, with [`ModelInfo::weights_sha256`] filled in.
    pub info: ModelInfo,
}

impl EncodedModel {
    /// The model's name in a store, as a model of this generation.
    pub fn id(&self, generation: u32) -> ModelId {
        ModelId::new(generation, &self.info.weights_sha256)
    }
}

/// A network's weights together with the description stored next to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The description: architecture, origin, and cost of the weights.
    pub info: ModelInfo,
    /// The values of the network's tensors.
    pub weights: Weights,
}

impl Model {
    /// A model whose description has an empty origin and cost.
    pub fn new(weights: Weights) -> Model {
        Model {
            info: ModelInfo::new(&weights),
            weights,
        }
    }

    /// Encodes the weights and hashes them, once for everything that follows.
    pub fn encode(&self) -> EncodedModel {
        let weights = self.weights.to_safetensors();
        let info = ModelInfo {
            weights_sha256: sha256_hex(&weights),
            ..self.info.clone()
        };
        EncodedModel { weights, info }
    }

    /// The two files of a model folder: the bytes of [`WEIGHTS_FILE`] and of [`INFO_FILE`].
    pub fn to_files(&self) -> (Vec<u8>, Vec<u8>) {
        let EncodedModel { weights, info } = self.encode();
        (weights, info.to_json().into_bytes())
    }

    /// A model from the two files of its folder.
    ///
    /// # Errors
    /// When a file is damaged or of another version, or the two do not belong together.
    pub fn from_files(weights: &[u8], info: &[u8]) -> Result<Model, ModelError> {
        let text = std::str::from_utf8(info).map_err(|error| ModelError::Info(error.to_string()))?;
        Model::from_parts(weights, ModelInfo::from_json(text)?)
    }

    /// A model from the bytes of its weights file and its parsed description.
    ///
    /// # Errors
    /// When the weights are damaged or of another version, or the two do not belong together.
    pub fn from_parts(weights: &[u8], info: ModelInfo) -> Result<Model, ModelError> {
        let found = sha256_hex(weights);
        if found != info.weights_sha256 {
            return Err(ModelError::Hash {
                expected: info.weights_sha256,
                found,
            });
        }
        let weights = Weights::from_safetensors(weights)?;
        if *weights.config() != info.architecture {
            return Err(ModelError::Info(
                "its architecture differs from that of the weights file".to_owned(),
            ));
        }
        Ok(Model { info, weights })
    }

    /// Loads a model folder, or a bare `.safetensors` file, whose description then has an empty origin and cost.
    ///
    /// # Errors
    /// [`ModelError::Io`] with the path of a file that cannot be read, and the errors of [`Model::from_files`].
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        if path.is_dir() {
            let info = read(&path.join(INFO_FILE))?;
            let weights = read(&path.join(WEIGHTS_FILE))?;
            return Model::from_files(&weights, &info);
        }
        Ok(Model::new(Weights::from_safetensors(&read(path)?)?))
    }

    /// Writes the two files into a folder, [`INFO_FILE`] last. Creates the folder if necessary.
    ///
    /// # Errors
    /// [`ModelError::Io`] with the path that could not be written.
    pub fn save(&self, folder: &Path) -> Result<(), ModelError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| ModelError::Io { path, source }
        };
        fs::create_dir_all(folder).map_err(io(folder))?;
        let (weights, info) = self.to_files();
        for (name, bytes) in [(WEIGHTS_FILE, weights), (INFO_FILE, info)] {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(io(&path))?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ModelError> {
    fs::read(path).map_err(|source| ModelError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Why a model cannot be loaded or saved.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The weights are damaged, of another version, or incomplete.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The description cannot be parsed or does not fit the weights.
    #[error("model.json cannot be used: {0}")]
    Info(String),
    /// The weights file is not the one that the description refers to.
    #[error("the weights file has SHA-256 {found}, but model.json says {expected}: one of the two is damaged")]
    Hash {
        /// The SHA-256 in the description.
        expected: String,
        /// The SHA-256 of the weights file.
        found: String,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot access {}: {source}", path.display())]
    Io {
        /// The path of the file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        let mut model = Model::new(Weights::random(&NetworkConfig::new(1, 8), 3).expect("a good config"));
        model.info.provenance = Provenance {
            run_id: "run".to_owned(),
            step: 5,
            parent: None,
        };
        model
            .info
            .set_fair_komi(Size::square(5).expect("a board"), Komi::from_half_points(49));
        model
    }

    #[test]
    fn a_folder_round_trips() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let model = model();
        model.save(folder.path()).expect("writable");
        let back = Model::load(folder.path()).expect("just written");
        assert_eq!(back.weights, model.weights);
        assert_eq!(back.info, model.encode().info);
        assert_eq!(
            back.info.fair_komi(Size::square(5).expect("a board")),
            Some(Komi::from_half_points(49))
        );
        assert_eq!(back.info.fair_komi(Size::square(7).expect("a board")), None);
        assert!(model.encode().id(12).to_string().starts_with("g000012-"));
        let bare = Model::load(&folder.path().join(WEIGHTS_FILE)).expect("a bare weights file");
        assert_eq!(bare.weights, model.weights);
    }

    /// The keys are written only when they are true, so files from before the keys existed mean false and keep their
    /// bytes.
    #[test]
    fn optional_inputs_are_stored_in_the_files() {
        let (weights, info) = model().to_files();
        let info = String::from_utf8(info).expect("JSON is text");
        assert!(!info.contains("pass_alive") && !info.contains("ladder"));
        assert!(!weights.windows(10).any(|bytes| bytes == b"pass_alive"));
        let off = NetworkConfig::new(1, 8);
        for (pass_alive_inputs, ladder_inputs, planes) in [(true, false, 11), (false, true, 11), (true, true, 13)] {
            let config = NetworkConfig {
                pass_alive_inputs,
                ladder_inputs,
                ..off.clone()
            };
            let on = Model::new(Weights::random(&config, 3).expect("a good config"));
            let (weights, info) = on.to_files();
            let back = Model::from_files(&weights, &info).expect("just written");
            assert_eq!(back.weights, on.weights);
            assert_eq!(back.weights.config(), &config);
            assert_eq!(back.weights.values()[0].len(), 8 * planes * 9);
        }
    }

    #[test]
    fn other_versions_are_rejected_with_a_message() {
        let (weights, info) = model().to_files();
        let info = String::from_utf8(info).expect("JSON is text");
        let refuse = |from: &str, to: &str| {
            let changed = info.replace(from, to);
            assert_ne!(changed, info);
            Model::from_files(&weights, changed.as_bytes())
                .expect_err("changed")
                .to_string()
        };
        assert!(refuse("\"format\": 1", "\"format\": 9").contains("format 9"));
        assert!(refuse("\"feature_set\": 1", "\"feature_set\": 4").contains("feature set 4"));
        assert!(refuse("\"step\"", "\"steps\"").contains("steps"));
        assert!(refuse("\"channels\": 8", "\"channels\": 9").contains("architecture"));
        let mut damaged = weights.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        let error = Model::from_files(&damaged, info.as_bytes()).expect_err("one bit changed");
        assert!(matches!(error, ModelError::Hash { .. }), "{error}");
    }

    #[test]
    fn the_error_names_a_missing_folder() {
        let error = Model::load(Path::new("/nowhere/at/all")).expect_err("nothing there");
        assert!(error.to_string().contains("/nowhere/at/all"));
    }
}
