//! The devices and the number format with which a run's networks predict.

use serde::{Deserialize, Serialize};

use tengen_model::{Devices, PrecisionChoice};

/// What the networks of a run compute on, unless the command line says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InferenceConfig {
    /// `cpu`, `cuda` for the first GPU, several GPUs such as `cuda:0,cuda:1`, or `auto` for the first GPU if there is
    /// one. The trainer uses the first of several.
    pub device: Devices,
    /// The number format in which networks predict, usually the fastest one; `training.precision` is that of training.
    pub dtype: PrecisionChoice,
}
