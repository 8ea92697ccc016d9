//! What a model is: its name, its size, its description.

use serde::Serialize;

use tengen_model::{Model, ModelInfo, Role};

/// A model's name, description, and size.
#[derive(Clone, Debug, Serialize)]
pub struct ModelSummary {
    /// The model's name.
    pub name: String,
    /// The short name of its shape.
    pub network: String,
    /// Values that training changes.
    pub trained_values: usize,
    /// Multiplications and additions for one position on 9x9 and on 19x19.
    pub operations: [u64; 2],
    /// The description in `model.json`.
    pub info: ModelInfo,
}

impl ModelSummary {
    /// Summarizes a model.
    pub fn of(name: &str, model: &Model) -> ModelSummary {
        let trained = model
            .weights
            .parameters()
            .iter()
            .filter(|parameter| parameter.role != Role::Statistic);
        let config = model.weights.config();
        ModelSummary {
            name: name.to_owned(),
            network: config.name(),
            trained_values: trained.map(tengen_model::Parameter::len).sum(),
            operations: [config.operations(81), config.operations(361)],
            info: model.info.clone(),
        }
    }
}
