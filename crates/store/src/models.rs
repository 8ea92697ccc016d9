//! How networks are published and which one is the champion.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::files::{Files, Put, check_name};
use crate::json::{check_version, parse_json};
use crate::schema::FORMAT;
use crate::shard::sha256_hex;
use crate::store_error::{StoreError, damaged};

const WEIGHTS: &str = "weights.safetensors";
const COMMIT: &str = "model.json";

/// A published model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelEntry {
    /// The generation the model belongs to.
    pub generation: u32,
    /// The model id, `g000123-<first 12 hexadecimal digits of the SHA-256 of its weights>`.
    pub id: String,
}

/// The files of a model, checked against each other.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    /// Id and generation of the model.
    pub entry: ModelEntry,
    /// `model.json`: architecture, provenance, cost, and the keys that [`Models::publish`] adds.
    pub info: Map<String, Value>,
    /// The weights in safetensors format.
    pub weights: Bytes,
}

/// The result that made a model the champion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promotion {
    /// Id of the promoted model.
    pub model_id: String,
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

/// The id of a model: its generation and the first digits of the SHA-256 of its weights.
pub fn model_id(generation: u32, weights: &[u8]) -> String {
    format!("g{generation:06}-{}", &sha256_hex(weights)[..12])
}

fn parse_model_id(id: &str) -> Option<ModelEntry> {
    let (number, hash) = id.strip_prefix('g')?.split_once('-')?;
    let plain = number.len() >= 6 && hash.len() == 12 && hash.chars().all(|c| c.is_ascii_hexdigit());
    plain
        .then(|| number.parse().ok())
        .flatten()
        .map(|generation| ModelEntry {
            generation,
            id: id.to_owned(),
        })
}

/// The models of a store and their promotions.
#[derive(Clone, Copy)]
pub struct Models<'a>(pub(crate) &'a Files);

impl Models<'_> {
    /// Publishes a model: first the weights, then `model.json`, which commits it. Adds the keys `store_format`,
    /// `model_id`, `generation`, `weights_sha256` and `weights_bytes` to `info`. Publishing the same weights again
    /// keeps the first `model.json`.
    ///
    /// # Errors
    /// [`StoreError::Write`] if the store fails; the model then does not exist.
    pub fn publish(
        self,
        generation: u32,
        weights: impl Into<Bytes>,
        mut info: Map<String, Value>,
    ) -> Result<ModelEntry, StoreError> {
        let weights = weights.into();
        let id = model_id(generation, &weights);
        info.insert("store_format".to_owned(), FORMAT.to_string().into());
        info.insert("model_id".to_owned(), id.clone().into());
        info.insert("generation".to_owned(), generation.into());
        info.insert("weights_sha256".to_owned(), sha256_hex(&weights).into());
        info.insert("weights_bytes".to_owned(), weights.len().into());
        self.0.put_same(&format!("models/{id}/{WEIGHTS}"), weights)?;
        let text = serde_json::to_vec_pretty(&info).expect("a JSON object serializes");
        self.0.put_new(&format!("models/{id}/{COMMIT}"), text)?;
        Ok(ModelEntry { generation, id })
    }

    /// All published models, oldest generation first. A folder without `model.json` is not a model.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn list(self) -> Result<Vec<ModelEntry>, StoreError> {
        let committed = |path: &str| {
            let id = path.strip_prefix("models/")?.strip_suffix(COMMIT)?.strip_suffix('/')?;
            parse_model_id(id)
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

    /// The contents of a model's `model.json`.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such model; [`StoreError::Damaged`] and [`StoreError::Version`] if the
    /// file is invalid or has another major version.
    pub fn info(self, id: &str) -> Result<Map<String, Value>, StoreError> {
        check_name("model id", id)?;
        let path = format!("models/{id}/{COMMIT}");
        let info: Map<String, Value> = parse_json(&path, &self.0.require(&path)?)?;
        let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or("nothing").to_owned();
        check_version(&path, &text("store_format"))?;
        if text("model_id") != id {
            return Err(damaged(path, format!("model_id {id}"), text("model_id")));
        }
        Ok(info)
    }

    /// Reads a model and checks the SHA-256 of its weights.
    ///
    /// # Errors
    /// As [`Models::info`], and [`StoreError::Damaged`] if the weights differ from those published.
    pub fn load(self, id: &str) -> Result<ModelFiles, StoreError> {
        let info = self.info(id)?;
        let path = format!("models/{id}/{WEIGHTS}");
        let weights = self.0.require(&path)?;
        let found = sha256_hex(&weights);
        let expected = info.get("weights_sha256").and_then(Value::as_str).unwrap_or("nothing");
        if found != expected {
            return Err(damaged(path, format!("SHA-256 {expected}"), found));
        }
        let entry = parse_model_id(id).ok_or_else(|| {
            damaged(
                path,
                "a model id such as g000123-0123456789ab".to_owned(),
                id.to_owned(),
            )
        })?;
        Ok(ModelFiles { entry, info, weights })
    }

    /// Writes promotion number `number`. If two writers use the same number, only one gets [`Put::Created`].
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the model does not exist; [`StoreError::Write`].
    pub fn promote(self, number: u32, promotion: &Promotion) -> Result<Put, StoreError> {
        self.info(&promotion.model_id)?;
        let text = serde_json::to_vec_pretty(promotion).expect("a promotion serializes to JSON");
        let path = format!("promotions/{number:06}.json");
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
    /// As [`Models::promotions`].
    pub fn champion(self) -> Result<Option<(u32, Promotion)>, StoreError> {
        Ok(self.promotions()?.pop())
    }
}
