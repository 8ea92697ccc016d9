//! Reads non-finite numbers.

use serde::{Deserialize, Deserializer};

/// Reads null as NaN, because JSON writes null for NaN and infinity.
pub(crate) fn null_as_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::deserialize(deserializer).map(|number| number.unwrap_or(f64::NAN))
}
