//! The values of a network's tensors, as plain memory that any thread can hold and as a safetensors file.

use std::collections::HashMap;
use std::sync::Arc;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use tengen_rng as rng;

use crate::config::{ConfigError, NetworkConfig};
use crate::layout::{Layout, TensorIndex};
use crate::parameters::{Parameter, Role, Start};
use crate::versions::{FEATURE_SET, MODEL_FORMAT};

/// The key of the only entry in a weights file's metadata; its value is JSON.
const METADATA_KEY: &str = "tengen";

/// All values of a network, fp32 on the CPU. Clones share the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(Arc<Inner>);

#[derive(Debug, PartialEq)]
struct Inner {
    config: NetworkConfig,
    layout: Layout,
    /// One list of values for each parameter.
    values: Vec<Vec<f32>>,
}

/// The metadata of a weights file.
#[derive(Serialize, Deserialize)]
struct Metadata {
    format: u32,
    feature_set: u32,
    architecture: NetworkConfig,
}

impl Weights {
    /// Initial weights of a network that has not learned anything. The same seed gives the same weights on every
    /// machine.
    ///
    /// The final layers are zero, so the network predicts equal logits for all moves and all final margins.
    ///
    /// # Errors
    /// When a field of `config` is out of range.
    pub fn random(config: &NetworkConfig, seed: u64) -> Result<Weights, WeightsError> {
        config.validate().map_err(ConfigError::from)?;
        let layout = Layout::new(config);
        let values = layout
            .parameters()
            .iter()
            .enumerate()
            .map(|(number, parameter)| starting_values(parameter, seed, number));
        let values = values.collect();
        Ok(Weights(Arc::new(Inner {
            config: config.clone(),
            layout,
            values,
        })))
    }

    /// Weights without zeros, as after training, to compare programs with: the final layers of new networks are zero,
    /// so that nothing before them would show.
    ///
    /// # Errors
    /// As [`Weights::random`].
    pub fn perturbed(config: &NetworkConfig) -> Result<Weights, WeightsError> {
        let start = Weights::random(config, 1)?;
        let parameters = start.parameters().iter().zip(start.values());
        let values = parameters.map(|(parameter, values)| {
            let inputs = parameter.shape.iter().skip(1).product::<usize>().max(1) as f32;
            let change = |(number, value): (usize, &f32)| {
                let noise = (number as f32 * 0.7 + parameter.name.len() as f32).sin();
                match parameter.role {
                    Role::Weight => value + noise / inputs.sqrt(),
                    Role::Bias => value + 0.1 * noise,
                    Role::Statistic => *value,
                }
            };
            values.iter().enumerate().map(change).collect()
        });
        Weights::from_values(config, values.collect())
    }

    /// Weights from one list of values for each tensor, in the order of [`Layout::parameters`].
    ///
    /// # Errors
    /// [`WeightsError::Shape`] when a list is missing or its length differs from its parameter's.
    pub fn from_values(config: &NetworkConfig, values: Vec<Vec<f32>>) -> Result<Weights, WeightsError> {
        config.validate().map_err(ConfigError::from)?;
        let layout = Layout::new(config);
        for (number, parameter) in layout.parameters().iter().enumerate() {
            let found = values.get(number).map_or(0, Vec::len);
            if found != parameter.len() {
                return Err(wrong_shape(parameter, format!("{found} values")));
            }
        }
        Ok(Weights(Arc::new(Inner {
            config: config.clone(),
            layout,
            values,
        })))
    }

    /// The shape of the network that these weights belong to.
    pub fn config(&self) -> &NetworkConfig {
        &self.0.config
    }

    /// The network's layers and the tensors they consist of.
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// The description of every tensor, in the order of [`Weights::values`].
    pub fn parameters(&self) -> &[Parameter] {
        self.0.layout.parameters()
    }

    /// The values of every tensor in row-major order.
    pub fn values(&self) -> &[Vec<f32>] {
        &self.0.values
    }

    /// The values of a tensor that [`Weights::layout`] lists.
    pub fn tensor(&self, index: TensorIndex) -> &[f32] {
        &self.0.values[index.get()]
    }

    /// The values of the tensor with this name, or `None` if there is no such tensor.
    pub fn get(&self, name: &str) -> Option<&[f32]> {
        let number = self.parameters().iter().position(|parameter| parameter.name == name)?;
        Some(&self.0.values[number])
    }

    /// Whether every value is finite.
    pub fn all_finite(&self) -> bool {
        self.0.values.iter().flatten().all(|value| value.is_finite())
    }

    /// The weights as a safetensors file. The same weights always give the same bytes.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let metadata = Metadata {
            format: MODEL_FORMAT,
            feature_set: FEATURE_SET,
            architecture: self.0.config.clone(),
        };
        let metadata = serde_json::to_string(&metadata).expect("plain fields always serialize");
        let names = self
            .parameters()
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.shape.as_slice()));
        let tensors: Vec<_> = names
            .zip(&self.0.values)
            .map(|((name, shape), values)| (name, shape, values.as_slice()))
            .collect();
        encode(&tensors, metadata)
    }

    /// Reads a safetensors file written by [`Weights::to_safetensors`].
    ///
    /// # Errors
    /// When the file is damaged, is not a Tengen network, has another format or feature set, or lacks a tensor.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Weights, WeightsError> {
        let (tensors, metadata) = decode(bytes)?;
        let metadata = metadata.ok_or(WeightsError::NotOurs)?;
        check_versions(&metadata)?;
        let metadata: Metadata = serde_json::from_str(&metadata).map_err(|_| WeightsError::NotOurs)?;
        let config = metadata.architecture;
        config.validate().map_err(ConfigError::from)?;
        let mut tensors: HashMap<String, NamedTensor> = tensors
            .into_iter()
            .map(|tensor| (tensor.name.clone(), tensor))
            .collect();
        let mut values = Vec::new();
        for parameter in Layout::new(&config).parameters() {
            let tensor = tensors
                .remove(&parameter.name)
                .ok_or_else(|| wrong_shape(parameter, "nothing".to_owned()))?;
            if tensor.shape != parameter.shape {
                return Err(wrong_shape(parameter, format!("{:?}", tensor.shape)));
            }
            values.push(tensor.values);
        }
        if let Some(name) = tensors.into_keys().min() {
            return Err(WeightsError::Unknown(name));
        }
        Weights::from_values(&config, values)
    }
}

/// The SHA-256 of some bytes, as 64 lowercase hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One tensor of a safetensors file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTensor {
    /// The tensor's name in the file.
    pub name: String,
    /// The tensor's dimensions, outermost first.
    pub shape: Vec<usize>,
    /// The tensor's values in row-major order.
    pub values: Vec<f32>,
}

/// Encodes fp32 tensors (name, shape, values) and one metadata text as a safetensors file.
///
/// # Panics
/// Panics if the number of a tensor's values does not match its shape, or if a name is not unique.
pub fn encode(tensors: &[(&str, &[usize], &[f32])], metadata: String) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect())
        .collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("the values fill the shape");
        (*name, view)
    });
    let metadata = HashMap::from([(METADATA_KEY.to_owned(), metadata)]);
    safetensors::serialize(views, Some(metadata)).expect("fp32 tensors of distinct names always serialize")
}

/// Decodes a file written by [`encode`]: the tensors, sorted by name, and the metadata text if there is one.
///
/// # Errors
/// [`WeightsError::Damaged`] when it is not a valid safetensors file, and [`WeightsError::Kind`] when a tensor is not
/// fp32.
pub fn decode(bytes: &[u8]) -> Result<(Vec<NamedTensor>, Option<String>), WeightsError> {
    let damaged = |error: safetensors::SafeTensorError| WeightsError::Damaged(error.to_string());
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let metadata = header
        .metadata()
        .as_ref()
        .and_then(|entries| entries.get(METADATA_KEY))
        .cloned();
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let mut tensors = Vec::with_capacity(file.len());
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(WeightsError::Kind {
                name: name.to_owned(),
                found: format!("{:?}", view.dtype()),
            });
        }
        let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("chunks of four bytes"));
        let values = view.data().chunks_exact(4).map(value).collect();
        tensors.push(NamedTensor {
            name: name.to_owned(),
            shape: view.shape().to_vec(),
            values,
        });
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((tensors, metadata))
}

/// Rejects other formats and feature sets by their numbers alone, before anything else in the metadata is parsed.
pub(crate) fn check_versions(json: &str) -> Result<(), WeightsError> {
    #[derive(Deserialize)]
    struct Versions {
        format: u32,
        feature_set: u32,
    }
    let versions: Versions = serde_json::from_str(json).map_err(|_| WeightsError::NotOurs)?;
    if versions.format != MODEL_FORMAT {
        return Err(WeightsError::Format { found: versions.format });
    }
    if versions.feature_set != FEATURE_SET {
        return Err(WeightsError::FeatureSet {
            found: versions.feature_set,
        });
    }
    Ok(())
}

fn wrong_shape(parameter: &Parameter, found: String) -> WeightsError {
    WeightsError::Shape {
        name: parameter.name.clone(),
        expected: format!("{:?}", parameter.shape),
        found,
    }
}

fn starting_values(parameter: &Parameter, seed: u64, number: usize) -> Vec<f32> {
    match parameter.start {
        Start::Constant(value) => vec![value; parameter.len()],
        Start::Normal(deviation) => {
            let mut rng = rng::stream(seed, &[number as u64]);
            (0..parameter.len())
                .map(|_| deviation * rng::normal(&mut rng) as f32)
                .collect()
        }
    }
}

/// Why weights cannot be created or read.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The network's configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The bytes are not a complete safetensors file.
    #[error("the weights file is damaged ({0}): fetch or train the model again")]
    Damaged(String),
    /// The safetensors file contains something other than a Tengen network.
    #[error("the file is not a Tengen network: its metadata has no architecture")]
    NotOurs,
    /// The model has another format.
    #[error(
        "the model has format {found}, but this program reads format {MODEL_FORMAT}: use the version of Tengen that \
         wrote it"
    )]
    Format {
        /// The format number in the file.
        found: u32,
    },
    /// The model uses other input features.
    #[error(
        "the model was trained on feature set {found}, but this program computes feature set {FEATURE_SET}: use the \
         version of Tengen that wrote it"
    )]
    FeatureSet {
        /// The number of the feature set in the file.
        found: u32,
    },
    /// A tensor is not stored as 32-bit floats.
    #[error("tensor {name} is stored as {found}: expected F32")]
    Kind {
        /// Name of the tensor in the file.
        name: String,
        /// The data type it is stored as.
        found: String,
    },
    /// The file has a tensor that is not part of the network.
    #[error("tensor {0} is not part of the network that the file describes")]
    Unknown(String),
    /// A tensor is missing or has the wrong shape.
    #[error("tensor {name} should have shape {expected}, found {found}")]
    Shape {
        /// Name of the tensor in the file.
        name: String,
        /// The shape that the architecture requires.
        expected: String,
        /// The shape in the file.
        found: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_round_trip_and_are_deterministic() {
        let weights = Weights::random(&NetworkConfig::new(2, 8), 7).expect("a good config");
        let bytes = weights.to_safetensors();
        assert_eq!(bytes, weights.to_safetensors());
        let back = Weights::from_safetensors(&bytes).expect("our own file");
        assert_eq!(back, weights);
        assert_eq!(back.to_safetensors(), bytes);
    }

    #[test]
    fn seeds_determine_the_initial_weights() {
        let config = NetworkConfig::new(1, 8);
        let make = |seed| Weights::random(&config, seed).expect("a good config");
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
        let conv = make(1);
        let conv = conv.get("blocks.0.conv1.weight").expect("listed");
        let variance = conv.iter().map(|value| value * value).sum::<f32>() / conv.len() as f32;
        assert!((variance - 2.0 / 72.0).abs() < 0.01, "{variance}");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let bytes = Weights::random(&NetworkConfig::new(1, 8), 7)
            .expect("a good config")
            .to_safetensors();
        let read = |bytes: &[u8]| Weights::from_safetensors(bytes).expect_err("damaged").to_string();
        assert!(read(&bytes[..bytes.len() - 1]).contains("damaged"));
        assert!(read(b"not a model").contains("damaged"));
        assert!(read(&encode(&[("a", &[1], &[0.0])], "{}".to_owned())).contains("not a Tengen network"));
        let other = format!(
            r#"{{"format":{},"feature_set":{FEATURE_SET},"architecture":1}}"#,
            MODEL_FORMAT + 1
        );
        let message = read(&encode(&[("a", &[1], &[0.0])], other));
        assert!(message.contains(&format!("format {}", MODEL_FORMAT + 1)), "{message}");
        let small = NetworkConfig::new(1, 8);
        let meta = Metadata {
            format: MODEL_FORMAT,
            feature_set: FEATURE_SET,
            architecture: small,
        };
        let meta = serde_json::to_string(&meta).expect("plain fields");
        assert!(read(&encode(&[("a", &[1], &[0.0])], meta)).contains("input.conv.weight"));
    }
}
