//! JSON files that end with the SHA-256 of everything before it, so that a changed value is detected.
//!
//! The last key of such a file is `sha256`. It covers all bytes before the comma in front of that key. Files of version
//! 0.1.0 have no such key and are read as they are.

use std::borrow::Cow;

use serde::Serialize;

use tengen_model::sha256_hex;

use crate::store_error::{StoreError, damaged};

/// The key of the hash.
const KEY: &str = "\"sha256\":";

/// A value as multi-line JSON with its hash at the end.
///
/// # Panics
/// If the value is not a JSON object.
pub fn sealed_json(value: &impl Serialize) -> Vec<u8> {
    seal(&serde_json::to_string_pretty(value).expect("strings and numbers serialize to JSON"))
}

/// The text of a JSON object with its hash at the end.
///
/// # Panics
/// If the text does not end with a brace.
pub fn seal(json: &str) -> Vec<u8> {
    let body = json
        .trim_end()
        .strip_suffix('}')
        .expect("an object ends with a brace")
        .trim_end();
    let hash = sha256_hex(body.as_bytes());
    match json.contains('\n') {
        true => format!("{body},\n  {KEY} \"{hash}\"\n}}"),
        false => format!("{body},{KEY}\"{hash}\"}}"),
    }
    .into_bytes()
}

/// The JSON in the file at `path` without its hash, after checking it. A file without a hash is returned as it is.
///
/// # Errors
/// [`StoreError::Damaged`] if the hash does not match.
pub fn unseal<'a>(path: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, StoreError> {
    let Some(Seal { body, hash }) = Seal::of(bytes) else {
        return Ok(Cow::Borrowed(bytes));
    };
    match sha256_hex(body) {
        found if found == hash => Ok(Cow::Owned([body, b"}"].concat())),
        found => Err(damaged(path.to_owned(), format!("SHA-256 {hash}"), found)),
    }
}

/// Whether a file without a seal ends like one whose seal has a damaged key. Other last keys, such as `weights_sha256`
/// in a model of 0.1.0, are longer.
pub(crate) fn has_broken_seal(bytes: &[u8]) -> bool {
    let last = bytes.trim_ascii_end().strip_suffix(b"}").map(<[u8]>::trim_ascii_end);
    let Some(text) = last.and_then(|last| last.strip_suffix(b"\"")) else {
        return false;
    };
    let (before, hash) = text.split_at(text.len().saturating_sub(64));
    let is_hash = hash.len() == 64 && hash.iter().all(u8::is_ascii_hexdigit);
    // The damaged key, with its quotes and colon, is as long as the right one.
    let key = before
        .strip_suffix(b"\"")
        .map(<[u8]>::trim_ascii_end)
        .unwrap_or_default();
    let comma = key[..key.len().saturating_sub(KEY.len())].trim_ascii_end();
    Seal::of(bytes).is_none() && is_hash && comma.ends_with(b",")
}

/// A file that ends with a hash.
struct Seal<'a> {
    /// What the hash covers.
    body: &'a [u8],
    /// The hash in the file.
    hash: &'a str,
}

impl Seal<'_> {
    /// Splits a file; `None` if its last key is not a hash.
    fn of(bytes: &[u8]) -> Option<Seal<'_>> {
        let key = bytes.windows(KEY.len()).rposition(|part| part == KEY.as_bytes())?;
        let value = bytes[key + KEY.len()..]
            .trim_ascii()
            .strip_suffix(b"}")?
            .trim_ascii_end();
        let hash = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let body = bytes[..key].trim_ascii_end().strip_suffix(b",")?;
        let hash = std::str::from_utf8(hash).ok()?;
        (!hash.contains(['"', '{', '}'])).then_some(Seal { body, hash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let value = serde_json::json!({ "name": "five", "share": 0.25, "inner": { "sha256": "00" } });
        for text in [
            serde_json::to_string(&value).unwrap(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let file = seal(&text);
            let body = unseal("file", &file).unwrap();
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap(), value);
            for bit in 0..file.len() * 8 {
                let mut file = file.clone();
                file[bit / 8] ^= 1 << (bit % 8);
                let still_reads = serde_json::from_slice::<serde_json::Value>(&file).is_ok();
                let is_found = !still_reads || unseal("file", &file).is_err() || has_broken_seal(&file);
                // A space outside the hashed bytes that became other whitespace changes nothing.
                let same = serde_json::from_slice::<serde_json::Value>(&file).ok()
                    == serde_json::from_slice::<serde_json::Value>(&seal(&text)).ok();
                assert!(is_found || same, "bit {bit}: {}", String::from_utf8_lossy(&file));
            }
        }
    }

    #[test]
    fn files_without_a_hash_are_read_as_they_are() {
        for text in [
            "{}",
            "{\"inner\": {\"sha256\": \"00\"}}",
            "[1]",
            "",
            "{\"book\":{\"sha256\":\"ab\"},\"x\":1}",
        ] {
            assert_eq!(unseal("file", text.as_bytes()).unwrap(), text.as_bytes(), "{text}");
            assert!(!has_broken_seal(text.as_bytes()), "{text}");
        }
    }
}
