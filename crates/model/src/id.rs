//! The names of published models.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Number of hexadecimal digits of the weights' SHA-256 in a [`ModelId`].
const DIGITS: usize = 12;

/// The name of a published model: `g000123-` and the first 12 hexadecimal digits of the SHA-256 of its weights file.
/// Ids sort by generation.
///
/// ```
/// use tengen_model::ModelId;
/// let id: ModelId = "g000123-0123456789ab".parse().unwrap();
/// assert_eq!(id.generation(), 123);
/// assert_eq!(id.to_string(), "g000123-0123456789ab");
/// assert!("g123".parse::<ModelId>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId {
    generation: u32,
    digits: String,
}

impl ModelId {
    /// The id of a model of this generation whose weights file has this SHA-256, as hexadecimal digits.
    ///
    /// # Panics
    /// If `sha256` has fewer than 12 characters.
    pub fn new(generation: u32, sha256: &str) -> ModelId {
        ModelId {
            generation,
            digits: sha256[..DIGITS].to_owned(),
        }
    }

    /// The generation: 0 for the untrained network, then one more for each published model.
    pub fn generation(&self) -> u32 {
        self.generation
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("g{:06}-{}", self.generation, self.digits))
    }
}

/// The text is not a model id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a model id: expected one such as g000123-0123456789ab")]
pub struct ParseModelIdError(String);

impl FromStr for ModelId {
    type Err = ParseModelIdError;

    fn from_str(text: &str) -> Result<ModelId, ParseModelIdError> {
        let parts = text.strip_prefix('g').and_then(|rest| rest.split_once('-'));
        let is_number = |number: &str| number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_hash = |digits: &str| digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let valid = parts.filter(|(number, digits)| is_number(number) && is_hash(digits));
        let parsed = valid.and_then(|(number, digits)| {
            Some(ModelId {
                generation: number.parse().ok()?,
                digits: digits.to_owned(),
            })
        });
        parsed.ok_or_else(|| ParseModelIdError(text.to_owned()))
    }
}

impl Serialize for ModelId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ModelId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_sort_by_generation() {
        let ids = ["g000002-ffffffffffff", "g000010-000000000000", "g1000000-0123456789ab"];
        let parsed: Vec<ModelId> = ids.iter().map(|id| id.parse().expect("a valid id")).collect();
        assert!(parsed.is_sorted());
        for (id, text) in parsed.iter().zip(ids) {
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn other_names_are_rejected() {
        for text in [
            "",
            "g",
            "g000001",
            "g1-0123456789ab",
            "g000001-0123456789",
            "g+00001-0123456789ab",
            "../g000001-0123456789ab",
        ] {
            assert!(text.parse::<ModelId>().is_err(), "{text}");
        }
    }
}
