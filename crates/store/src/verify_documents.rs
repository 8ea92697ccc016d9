//! Verifies the small files of a store: descriptions, promotions, configurations, summaries and lists.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use tengen_model::sha256_hex;

use crate::checkpoints::Manifest;
use crate::files::Files;
use crate::json::parse_json;
use crate::models::{Promotion, StoredInfo};
use crate::run_info::RunInfo;
use crate::seal::{has_broken_seal, unseal};
use crate::store_error::StoreError;

/// A file and what is wrong with it.
type Wrong = (String, String);

/// Checks every small file: typed files have no other keys than those that are written, files named by a hash have that
/// hash, and the others are JSON objects. The hash at the end of a file, if any, must match.
pub(crate) fn wrong_documents(files: &Files) -> Result<Vec<Wrong>, StoreError> {
    let mut wrong = Vec::new();
    for (path, _) in files.list("")? {
        let Some(check) = check_of(&path) else { continue };
        let Some(bytes) = files.get(&path)? else { continue };
        if let Err(reason) = check(&path, &bytes) {
            wrong.push((path, reason));
        }
    }
    Ok(wrong)
}

type Check = fn(&str, &[u8]) -> Result<(), String>;

/// How to check the file at a path; `None` for files that are checked elsewhere or not at all.
fn check_of(path: &str) -> Option<Check> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["run.json"] => Some(has_known_keys::<RunInfo>),
        ["promotions", _] => Some(has_known_keys::<Promotion>),
        ["models", _, "model.json"] => Some(has_known_keys::<StoredInfo>),
        ["checkpoints", _, "checkpoint.json"] => Some(has_known_keys::<Manifest>),
        ["in_flight.json" | "costs.json" | "spec.json" | "result.json"] | ["summaries" | "notes" | "tuned", _] => {
            Some(is_object)
        }
        ["in_flight", name] if name.ends_with(".json") => Some(is_object),
        ["matches", _, "notes", _] => Some(is_object),
        ["configs" | "imports", _] => Some(has_its_hash),
        _ => None,
    }
}

/// What is wrong with a file whose hash has lost its key.
pub(crate) const NO_KEY: &str = "expected the key sha256 for the hash at its end, found another";

/// Checks the hash at the end of a file if it has one, and returns the JSON without it.
pub(crate) fn unsealed<'a>(path: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
    match unseal(path, bytes) {
        Ok(_) if has_broken_seal(bytes) => Err(NO_KEY.to_owned()),
        Ok(body) => Ok(body),
        Err(StoreError::Damaged { expected, found, .. }) => Err(format!("expected {expected}, found {found}")),
        Err(error) => Err(error.to_string()),
    }
}

fn is_object(path: &str, bytes: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<Map<String, Value>>(&unsealed(path, bytes)?) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("expected a JSON object, found {error}")),
    }
}

/// Checks that a file named `<hash>.<extension>` has contents with that hash.
fn has_its_hash(path: &str, bytes: &[u8]) -> Result<(), String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stated = name.split('.').next().unwrap_or(name);
    let found = sha256_hex(bytes);
    match stated.len() >= 8 && found.starts_with(stated) {
        true => Ok(()),
        false => Err(format!("expected a SHA-256 that begins as the name, found {found}")),
    }
}

/// Checks that a file can be read as a `T` and has no key that a `T` does not write. Readers ignore such keys because a
/// newer version may add some, but in a file written by this version, they are a sign of damage.
///
/// # Errors
/// A description of what is wrong with the file at `path`.
pub fn has_known_keys<T: Serialize + DeserializeOwned>(path: &str, bytes: &[u8]) -> Result<(), String> {
    let bytes = &*unsealed(path, bytes)?;
    let typed: T = parse_json(path, bytes).map_err(|error| {
        let message = error.to_string();
        message
            .strip_prefix(&format!("{path}: "))
            .map_or(message.clone(), str::to_owned)
    })?;
    let known = serde_json::to_value(&typed).map_err(|error| error.to_string())?;
    let found: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match unknown_key(&found, &known) {
        None => Ok(()),
        Some(key) => Err(format!(
            "expected only keys that this version writes, found {key:?}: the file is damaged or from a newer version"
        )),
    }
}

/// A key of an object, or of a nested object, that the known one lacks.
fn unknown_key(found: &Value, known: &Value) -> Option<String> {
    let (Value::Object(found), Value::Object(known)) = (found, known) else {
        return None;
    };
    found.iter().find_map(|(key, value)| match known.get(key) {
        None => Some(key.clone()),
        Some(known) => unknown_key(value, known).map(|inner| format!("{key}.{inner}")),
    })
}
