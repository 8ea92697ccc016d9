//! What a model is, in a few lines for people, or as JSON.

use std::fmt;

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

impl fmt::Display for ModelSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (info, [small, large]) = (&self.info, self.operations.map(|count| count as f64 / 1e6));
        writeln!(f, "{}", self.name)?;
        writeln!(
            f,
            "  network     {}, {} trained values",
            self.network, self.trained_values
        )?;
        writeln!(
            f,
            "  operations  {small:.1} million on 9x9, {large:.1} million on 19x19"
        )?;
        writeln!(f, "  sha256      {}", info.weights_sha256)?;
        writeln!(f, "  rules       {}", info.rules.as_deref().unwrap_or("unknown"))?;
        let (from, cost) = (&info.provenance, &info.cost);
        writeln!(f, "  training    step {} of run {:?}", from.step, from.run_id)?;
        writeln!(f, "  parent      {}", from.parent.as_deref().unwrap_or("none"))?;
        let komi = info.fair_komi_half_points.iter();
        let komi: Vec<String> = komi
            .map(|(size, &half)| format!("{size} {}", f64::from(half) / 2.0))
            .collect();
        writeln!(
            f,
            "  fair komi   {}",
            if komi.is_empty() {
                "unknown".to_owned()
            } else {
                komi.join(", ")
            }
        )?;
        write!(
            f,
            "  cost        {} games, {} positions, {} evaluations,\n              {:.0} CPU seconds, {:.0} GPU seconds",
            cost.games, cost.positions, cost.evaluations, cost.cpu_seconds, cost.gpu_seconds
        )
    }
}

/// One line about a model, for lists.
pub fn one_line(name: &str, info: &ModelInfo) -> String {
    let network = info.architecture.name();
    format!(
        "{name:<22} {network:<10} step {:>8}  {:>10} games",
        info.provenance.step, info.cost.games
    )
}
