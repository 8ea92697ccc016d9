//! Serde for values with a special form in files: as text (`9x9`, `7.5`), by name, or null for numbers that are not
//! finite.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serializer, de};

pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Accepts text and, for convenience, bare numbers (`komi = 7`, `size = 9`).
pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: Display,
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Whole(i64),
        Fraction(f64),
    }
    let text = match Written::deserialize(deserializer)? {
        Written::Text(text) => text,
        Written::Whole(number) => number.to_string(),
        Written::Fraction(number) => number.to_string(),
    };
    text.parse().map_err(de::Error::custom)
}

/// Reads null as NaN, because JSON writes null for NaN and infinity.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::deserialize(deserializer).map(|number| number.unwrap_or(f64::NAN))
}

/// A color as `black` or `white`.
pub(crate) mod color {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tengen_rules::Color;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Name {
        Black,
        White,
    }

    pub(crate) fn serialize<S: Serializer>(color: &Color, serializer: S) -> Result<S::Ok, S::Error> {
        match color {
            Color::Black => Name::Black,
            Color::White => Name::White,
        }
        .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Color, D::Error> {
        Ok(match Name::deserialize(deserializer)? {
            Name::Black => Color::Black,
            Name::White => Color::White,
        })
    }
}

/// An end reason by its name in files.
pub(crate) mod end_reason {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use tengen_records::EndReason;

    pub(crate) fn serialize<S: Serializer>(reason: &EndReason, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(reason.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EndReason, D::Error> {
        let name = String::deserialize(deserializer)?;
        EndReason::from_name(&name).ok_or_else(|| de::Error::custom(format!("unknown end reason {name:?}")))
    }
}
