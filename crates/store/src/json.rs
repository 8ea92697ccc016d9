//! Published JSON files: parsing, and the format version they carry.

use serde::Deserialize;

use tengen_shard::FormatVersion;

use crate::seal::unseal;
use crate::store_error::{StoreError, damaged};

/// Parses a file, after checking the hash at its end if it has one.
pub(crate) fn parse_json<T: for<'a> Deserialize<'a>>(path: &str, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(&unseal(path, bytes)?).map_err(|error| {
        damaged(
            path.to_owned(),
            "JSON with the keys of this version".to_owned(),
            error.to_string(),
        )
    })
}

/// Rejects files of another major version.
pub(crate) fn check_version(path: &str, text: &str) -> Result<(), StoreError> {
    match text.parse::<FormatVersion>() {
        Ok(version) if version.is_readable() => Ok(()),
        _ => Err(StoreError::Version {
            path: path.to_owned(),
            found: text.to_owned(),
        }),
    }
}
