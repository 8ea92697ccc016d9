//! Checkpoints: what must be saved so that training resumes as if it had never stopped.
//!
//! | file | contents |
//! |---|---|
//! | `weights.safetensors` | the current weights, an ordinary weights file |
//! | `average.safetensors` | the moving average of the weights, also an ordinary weights file |
//! | `optimizer.safetensors` | one tensor `<moment>/<tensor>` per moment and trained tensor |
//! | `trainer.json` | format version, step, samples, and settings, including the optimizer |

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use tengen_model::{NamedTensor, Role, Weights, WeightsError, decode, encode};
use tengen_network::{DeviceChoice, Network};

use crate::config::TrainerConfig;
use crate::trainer::{Trainer, TrainerError};

/// Version of the checkpoint files. A program reads exactly one version.
const CHECKPOINT_FORMAT: u32 = 1;

/// Name of the file with the current weights.
pub const WEIGHTS_FILE: &str = "weights.safetensors";
/// Name of the file with the averaged weights.
pub const AVERAGE_FILE: &str = "average.safetensors";
/// Name of the file with the optimizer's state.
pub const OPTIMIZER_FILE: &str = "optimizer.safetensors";
/// Name of the file with the format version, the step, the samples, and the settings.
pub const METADATA_FILE: &str = "trainer.json";

#[derive(Serialize, Deserialize)]
struct Metadata {
    format: u32,
    step: u64,
    /// Samples of all steps; `None` in checkpoints of early versions, for which it is the steps times the batch.
    samples: Option<u64>,
    config: TrainerConfig,
}

impl Trainer {
    /// The complete state of training, as file contents by file name.
    pub fn checkpoint(&self) -> BTreeMap<String, Vec<u8>> {
        let metadata = Metadata {
            format: CHECKPOINT_FORMAT,
            step: self.step,
            samples: Some(self.samples),
            config: self.config.clone(),
        };
        let metadata = serde_json::to_vec_pretty(&metadata).expect("plain fields always serialize");
        BTreeMap::from([
            (WEIGHTS_FILE.to_owned(), self.raw_weights().to_safetensors()),
            (AVERAGE_FILE.to_owned(), self.ema_weights().to_safetensors()),
            (OPTIMIZER_FILE.to_owned(), self.moments()),
            (METADATA_FILE.to_owned(), metadata),
        ])
    }

    /// A trainer that resumes from a checkpoint. On the CPU with one thread, the steps that follow are bit-identical to
    /// those of uninterrupted training.
    ///
    /// `config` replaces the settings; `None` keeps those of the checkpoint. If the optimizer changes, its state starts
    /// at zero.
    ///
    /// # Errors
    /// When a file is missing, damaged, or of another version, or when the device cannot be used.
    pub fn restore<B: AsRef<[u8]>>(
        files: &BTreeMap<String, B>,
        config: Option<TrainerConfig>,
        device: DeviceChoice,
    ) -> Result<Trainer, CheckpointError> {
        let file = |name: &'static str| files.get(name).map(B::as_ref).ok_or(CheckpointError::Missing(name));
        let metadata = metadata(file(METADATA_FILE)?)?;
        let same_optimizer = config
            .as_ref()
            .is_none_or(|config| config.optimizer == metadata.config.optimizer);
        let weights = Weights::from_safetensors(file(WEIGHTS_FILE)?)?;
        let average = Weights::from_safetensors(file(AVERAGE_FILE)?)?;
        if average.config() != weights.config() {
            return Err(CheckpointError::Damaged(
                "the weights and the average belong to different networks".to_owned(),
            ));
        }
        let batch = metadata.config.batch as u64;
        let mut trainer = Trainer::from_weights(&weights, config.unwrap_or(metadata.config), device)?;
        let average = Network::new(&average, trainer.device(), trainer.precision());
        trainer.average.trained = average.trained();
        trainer.average.statistics = average.statistics();
        trainer.step = metadata.step;
        trainer.samples = metadata.samples.unwrap_or(metadata.step * batch);
        if same_optimizer {
            trainer.set_moments(decode(file(OPTIMIZER_FILE)?)?.0)?;
        }
        Ok(trainer)
    }

    /// The optimizer's state as a safetensors file.
    fn moments(&self) -> Vec<u8> {
        let mut tensors = Vec::new();
        for (moment, tensor) in &self.optimizer.moments {
            let flat = self.network.weights_of(tensor, &self.network.statistics());
            for (parameter, values) in flat.parameters().iter().zip(flat.values()) {
                if parameter.role != Role::Statistic {
                    let (name, shape) = (format!("{moment}/{}", parameter.name), parameter.shape.clone());
                    tensors.push(NamedTensor {
                        name,
                        shape,
                        values: values.clone(),
                    });
                }
            }
        }
        let views: Vec<_> = tensors
            .iter()
            .map(|tensor| (tensor.name.as_str(), tensor.shape.as_slice(), tensor.values.as_slice()))
            .collect();
        encode(&views, "{\"content\":\"optimizer\"}".to_owned())
    }

    fn set_moments(&mut self, tensors: Vec<NamedTensor>) -> Result<(), CheckpointError> {
        let mut tensors: BTreeMap<String, NamedTensor> = tensors
            .into_iter()
            .map(|tensor| (tensor.name.clone(), tensor))
            .collect();
        let trained: Vec<_> = self
            .network
            .parameters()
            .iter()
            .filter(|parameter| parameter.role != Role::Statistic)
            .collect();
        for (moment, target) in &mut self.optimizer.moments {
            let mut flat = Vec::with_capacity(target.numel());
            for parameter in &trained {
                let name = format!("{moment}/{}", parameter.name);
                match tensors.remove(&name) {
                    Some(tensor) if tensor.shape == parameter.shape => flat.extend(tensor.values),
                    _ => {
                        return Err(CheckpointError::Damaged(format!(
                            "tensor {name} is missing or has the wrong shape"
                        )));
                    }
                }
            }
            *target = Tensor::from_slice(&flat).to_device(target.device());
        }
        Ok(())
    }
}

fn metadata(bytes: &[u8]) -> Result<Metadata, CheckpointError> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let wrong = |error: serde_json::Error| CheckpointError::Damaged(format!("{METADATA_FILE}: {error}"));
    let version: Version = serde_json::from_slice(bytes).map_err(wrong)?;
    if version.format != CHECKPOINT_FORMAT {
        return Err(CheckpointError::Format { found: version.format });
    }
    serde_json::from_slice(bytes).map_err(wrong)
}

/// Why training cannot resume from a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// A file of this name is missing from the checkpoint.
    #[error("the checkpoint has no file {0}")]
    Missing(&'static str),
    /// The files contradict each other or cannot be parsed.
    #[error("the checkpoint is damaged: {0}")]
    Damaged(String),
    /// The checkpoint was written by a program with another format.
    #[error(
        "the checkpoint has format {found}, but this program reads format {CHECKPOINT_FORMAT}: use the version of \
         Tengen that wrote it"
    )]
    Format {
        /// The format number in the checkpoint.
        found: u32,
    },
    /// A tensor file cannot be used.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The trainer cannot be created.
    #[error(transparent)]
    Trainer(#[from] TrainerError),
}
