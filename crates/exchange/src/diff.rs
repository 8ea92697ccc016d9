//! What do two models have in common?

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use tengen_model::Model;

/// The differences between two models.
#[derive(Clone, Debug, Serialize)]
pub struct ModelDiff {
    /// Keys of `model.json` whose values differ, with both values.
    pub description: Vec<(String, Value, Value)>,
    /// Tensors of both models with the same shape.
    pub tensors: Vec<TensorDiff>,
    /// Tensors that only the first model has, or that have another shape in the second.
    pub only_first: Vec<String>,
    /// Tensors that only the second model has, or that have another shape in the first.
    pub only_second: Vec<String>,
}

/// How far apart a tensor of two models is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TensorDiff {
    /// The tensor's name.
    pub name: String,
    /// Number of values.
    pub values: usize,
    /// Number of values that differ.
    pub differing: usize,
    /// Largest difference.
    pub largest: f32,
    /// Root of the mean squared difference, divided by that of the first model's values; 0 if both are the same.
    pub relative: f64,
}

impl ModelDiff {
    /// Compares two models.
    pub fn of(first: &Model, second: &Model) -> ModelDiff {
        let mut diff = ModelDiff {
            description: description(first, second),
            tensors: Vec::new(),
            only_first: Vec::new(),
            only_second: only(second, first),
        };
        for (parameter, values) in first.weights.parameters().iter().zip(first.weights.values()) {
            match same_tensor(second, parameter) {
                Some(others) => diff.tensors.push(TensorDiff::of(&parameter.name, values, others)),
                None => diff.only_first.push(parameter.name.clone()),
            }
        }
        diff
    }

    /// Whether all weights are the same.
    pub fn same_weights(&self) -> bool {
        let same = self.tensors.iter().all(|tensor| tensor.differing == 0);
        same && self.only_first.is_empty() && self.only_second.is_empty()
    }
}

impl fmt::Display for ModelDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, first, second) in &self.description {
            writeln!(f, "{key:<32} {first} -> {second}")?;
        }
        for name in &self.only_first {
            writeln!(f, "{name:<32} only in the first")?;
        }
        for name in &self.only_second {
            writeln!(f, "{name:<32} only in the second")?;
        }
        for tensor in self.tensors.iter().filter(|tensor| tensor.differing > 0) {
            let TensorDiff {
                name,
                values,
                differing,
                largest,
                relative,
            } = tensor;
            writeln!(
                f,
                "{name:<32} {differing} of {values} differ, at most {largest:.3e}, relative {relative:.3}"
            )?;
        }
        match self.same_weights() {
            true => f.write_str("the weights are the same"),
            false => f.write_str("the weights differ"),
        }
    }
}

impl TensorDiff {
    fn of(name: &str, first: &[f32], second: &[f32]) -> TensorDiff {
        let pairs = || first.iter().zip(second);
        let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value).powi(2)).sum::<f64>();
        let distance = squares(&mut pairs().map(|(a, b)| a - b));
        let size = squares(&mut first.iter().copied());
        TensorDiff {
            name: name.to_owned(),
            values: first.len(),
            differing: pairs().filter(|(a, b)| a != b).count(),
            largest: pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f32::max),
            relative: match distance > 0.0 {
                true => (distance / size.max(f64::MIN_POSITIVE)).sqrt(),
                false => 0.0,
            },
        }
    }
}

/// The values of the tensor with the same name and shape.
fn same_tensor<'a>(model: &'a Model, parameter: &tengen_model::Parameter) -> Option<&'a [f32]> {
    let found = model
        .weights
        .parameters()
        .iter()
        .position(|other| other.name == parameter.name && other.shape == parameter.shape)?;
    Some(&model.weights.values()[found])
}

fn only(model: &Model, other: &Model) -> Vec<String> {
    let parameters = model.weights.parameters().iter();
    let missing = parameters.filter(|parameter| same_tensor(other, parameter).is_none());
    missing.map(|parameter| parameter.name.clone()).collect()
}

/// The keys of the descriptions that differ, one level into objects.
fn description(first: &Model, second: &Model) -> Vec<(String, Value, Value)> {
    let flat = |model: &Model| {
        let mut flat = serde_json::Map::new();
        for (key, value) in json!(model.info).as_object().into_iter().flatten() {
            match value.as_object() {
                Some(inner) => flat.extend(
                    inner
                        .iter()
                        .map(|(name, value)| (format!("{key}.{name}"), value.clone())),
                ),
                None => drop(flat.insert(key.clone(), value.clone())),
            }
        }
        flat
    };
    let (first, second) = (flat(first), flat(second));
    let mut keys: Vec<&String> = first.keys().chain(second.keys()).collect();
    keys.sort();
    keys.dedup();
    let value = |map: &serde_json::Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or(Value::Null);
    keys.into_iter()
        .map(|key| (key.clone(), value(&first, key), value(&second, key)))
        .filter(|(_, first, second)| first != second)
        .collect()
}

#[cfg(test)]
mod tests {
    use tengen_model::{ModelInfo, NetworkConfig, Weights};

    use super::*;

    fn model(config: &NetworkConfig, seed: u64) -> Model {
        let weights = Weights::random(config, seed).unwrap();
        Model {
            info: ModelInfo::new(&weights),
            weights,
        }
    }

    #[test]
    fn differences_are_counted_and_named() {
        let small = NetworkConfig::new(1, 8);
        let first = model(&small, 1);
        let same = ModelDiff::of(&first, &first);
        assert!(same.same_weights() && same.description.is_empty());
        let other = ModelDiff::of(&first, &model(&small, 2));
        assert!(!other.same_weights() && other.only_first.is_empty());
        let stem = &other.tensors[0];
        assert_eq!((stem.name.as_str(), stem.differing), ("input.conv.weight", stem.values));
        assert!(
            stem.relative > 1.0 && stem.relative < 2.0,
            "independent weights: {}",
            stem.relative
        );
        let larger = ModelDiff::of(&first, &model(&NetworkConfig::new(2, 8), 1));
        assert!(larger.only_first.is_empty() && larger.only_second.iter().all(|name| name.starts_with("blocks.1.")));
        assert_eq!(
            larger.description,
            [("architecture.blocks".to_owned(), json!(1), json!(2))]
        );
    }
}
