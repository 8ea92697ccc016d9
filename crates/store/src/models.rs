//! Publishes networks and records which one is the champion.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use tengen_model::{INFO_FILE, Model, ModelError, ModelId, ModelInfo, WEIGHTS_FILE};
use tengen_records::now_ms;
use tengen_shard::FORMAT;

use crate::files::{Files, Put};
use crate::json::{check_version, parse_json};
use crate::seal::sealed_json;
use crate::store_error::{StoreError, damaged};

/// `model.json` as a store writes it: the model's description plus the store's own keys.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredInfo {
    store_format: String,
    model_id: ModelId,
    generation: u32,
    weights_bytes: u64,
    #[serde(flatten)]
    info: ModelInfo,
}

/// The result that made a model the champion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promotion {
    /// Id of the promoted model.
    pub model_id: ModelId,
    /// Generation of the promoted model.
    pub generation: u32,
    /// When the model was promoted, milliseconds since 1970-01-01 UTC.
    pub promoted_ms: u64,
    /// Id of the promotion match; absent for the first champion.
    pub match_id: Option<String>,
    /// The numbers behind the decision.
    #[serde(default)]
    pub verdict: Value,
}

impl Promotion {
    /// The promotion of a model, now.
    pub fn now(model_id: &ModelId, match_id: Option<String>, verdict: Value) -> Promotion {
        Promotion {
            model_id: model_id.clone(),
            generation: model_id.generation(),
            promoted_ms: now_ms(),
            match_id,
            verdict,
        }
    }
}

/// The models of a store and their promotions.
#[derive(Clone, Copy)]
pub struct Models<'a>(pub(crate) &'a Files);

impl Models<'_> {
    /// Publishes a model: first the weights, then `model.json`, which commits it. Publishing the same weights again
    /// keeps the first `model.json`.
    ///
    /// # Errors
    /// [`StoreError::Write`] if the store fails; the model then does not exist.
    pub fn publish(self, generation: u32, model: &Model) -> Result<ModelId, StoreError> {
        self.publish_if(generation, model, || Ok(()))
    }

    /// [`Models::publish`] with a final check: unless `allowed` succeeds, the weights are written, but the model does
    /// not exist.
    ///
    /// # Errors
    /// Same as [`Models::publish`], and what `allowed` returns.
    pub fn publish_if<E: From<StoreError>>(
        self,
        generation: u32,
        model: &Model,
        allowed: impl FnOnce() -> Result<(), E>,
    ) -> Result<ModelId, E> {
        let encoded = model.encode();
        let id = encoded.id(generation);
        let stored = StoredInfo {
            store_format: FORMAT.to_string(),
            model_id: id.clone(),
            generation,
            weights_bytes: encoded.weights.len() as u64,
            info: encoded.info,
        };
        self.0.put_same(&weights_path(&id), encoded.weights)?;
        allowed()?;
        self.0.put_new(&info_path(&id), sealed_json(&stored))?;
        Ok(id)
    }

    /// All published models, oldest generation first. A folder without `model.json` is not a model.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn list(self) -> Result<Vec<ModelId>, StoreError> {
        let committed = |path: &str| {
            let id = path
                .strip_prefix("models/")?
                .strip_suffix(INFO_FILE)?
                .strip_suffix('/')?;
            id.parse().ok()
        };
        let mut models: Vec<_> = self
            .0
            .list("models")?
            .iter()
            .filter_map(|(path, _)| committed(path))
            .collect();
        models.sort();
        Ok(models)
    }

    /// The description of a model, from its `model.json`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such model; [`StoreError::Damaged`], [`StoreError::Version`] and
    /// [`StoreError::Model`] if the file is invalid or of another version.
    pub fn info(self, id: &ModelId) -> Result<ModelInfo, StoreError> {
        let path = info_path(id);
        let bytes = self.0.require(&path)?;
        let stored: Value = parse_json(&path, &bytes)?;
        let text = |key: &str| stored.get(key).and_then(Value::as_str).unwrap_or("nothing").to_owned();
        if stored.get("store_format").is_none() {
            let expected = format!("a store_format such as \"{FORMAT}\"");
            return Err(damaged(path, expected, "nothing".to_owned()));
        }
        check_version(&path, &text("store_format"))?;
        if text("model_id") != id.to_string() {
            return Err(damaged(path, format!("model_id {id}"), text("model_id")));
        }
        let text = std::str::from_utf8(&bytes).expect("JSON is UTF-8");
        ModelInfo::from_json(text).map_err(|source| StoreError::Model { id: id.clone(), source })
    }

    /// Reads a model, after checking the SHA-256 of its weights.
    ///
    /// # Errors
    /// Same as [`Models::info`], and [`StoreError::Damaged`] if the weights differ from those published.
    pub fn load(self, id: &ModelId) -> Result<Model, StoreError> {
        let info = self.info(id)?;
        let path = weights_path(id);
        let weights = self.0.require(&path)?;
        Model::from_parts(&weights, info).map_err(|error| match error {
            ModelError::Hash { expected, found } => damaged(path, format!("SHA-256 {expected}"), found),
            source => StoreError::Model { id: id.clone(), source },
        })
    }

    /// Writes promotion number `number`. If two writers use the same number, only one gets [`Put::Created`].
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the model does not exist; [`StoreError::Write`].
    pub fn promote(self, number: u32, promotion: &Promotion) -> Result<Put, StoreError> {
        self.info(&promotion.model_id)?;
        let text = sealed_json(promotion);
        let path = promotion_path(number);
        match self.0.put_new(&path, text.clone())? {
            // If the store wrote the file but the reply was lost, the retry finds our own promotion.
            Put::Exists if self.0.get(&path)?.is_some_and(|found| found == text) => Ok(Put::Created),
            put => Ok(put),
        }
    }

    /// All promotions with their numbers, in ascending order.
    ///
    /// # Errors
    /// [`StoreError::Read`]; [`StoreError::Damaged`] if a file is not a promotion.
    pub fn promotions(self) -> Result<Vec<(u32, Promotion)>, StoreError> {
        let number = |path: &str| path.strip_prefix("promotions/")?.strip_suffix(".json")?.parse().ok();
        let mut promotions = Vec::new();
        for (path, _) in self.0.list("promotions")? {
            if let Some(number) = number(&path) {
                promotions.push((number, parse_json(&path, &self.0.require(&path)?)?));
            }
        }
        promotions.sort_by_key(|(number, _)| *number);
        Ok(promotions)
    }

    /// The promotion with the highest number, which names the champion.
    ///
    /// # Errors
    /// Same as [`Models::promotions`].
    pub fn champion(self) -> Result<Option<(u32, Promotion)>, StoreError> {
        Ok(self.promotions()?.pop())
    }

    /// The last promotion after promotion `number`; `None` if none follows it. Reads only the promotions that follow,
    /// one by one, and lists nothing, so the cost does not depend on how many came before.
    ///
    /// # Errors
    /// [`StoreError::Read`]; [`StoreError::Damaged`] if a file is not a promotion.
    pub fn champion_after(self, number: u32) -> Result<Option<(u32, Promotion)>, StoreError> {
        let mut last = None;
        for number in number.saturating_add(1)..=u32::MAX {
            let path = promotion_path(number);
            match self.0.get(&path)? {
                Some(bytes) => last = Some((number, parse_json(&path, &bytes)?)),
                None => break,
            }
        }
        Ok(last)
    }
}

pub(crate) fn weights_path(id: &ModelId) -> String {
    format!("models/{id}/{WEIGHTS_FILE}")
}

fn promotion_path(number: u32) -> String {
    format!("promotions/{number:06}.json")
}

pub(crate) fn info_path(id: &ModelId) -> String {
    format!("models/{id}/{INFO_FILE}")
}
