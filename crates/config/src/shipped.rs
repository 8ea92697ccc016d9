//! Compares a run's configuration with those that come with the program.

use toml::{Table, Value};

use crate::{RunConfig, keys};

/// The files of the folder `configs` by their names.
const FILES: [(&str, &str); 7] = [
    ("5x5.toml", include_str!("../../../configs/5x5.toml")),
    ("7x7.toml", include_str!("../../../configs/7x7.toml")),
    ("9x9.toml", include_str!("../../../configs/9x9.toml")),
    ("9x9-gpu.toml", include_str!("../../../configs/9x9-gpu.toml")),
    ("13x13.toml", include_str!("../../../configs/13x13.toml")),
    ("19x19.toml", include_str!("../../../configs/19x19.toml")),
    ("19x19-gpu.toml", include_str!("../../../configs/19x19-gpu.toml")),
];

/// How a configuration differs from the shipped one with its name, or from the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// What it is compared with: the shipped file with the same name, such as `configs/5x5.toml`, or `the defaults`.
    pub from: String,
    /// Each change as `budget.minutes = 1.0 (2.5)`, with the other value in parentheses and `-` for no value.
    pub settings: Vec<String>,
}

impl RunConfig {
    /// How this configuration differs from the shipped one with its name or, if there is none, from the defaults.
    ///
    /// # Errors
    /// If it cannot be written as TOML.
    pub fn changes(&self) -> anyhow::Result<Changes> {
        let own = self.table()?;
        let shipped = |&(file, text): &(&str, &str)| {
            let table = keys::with_defaults(&toml::from_str(text).ok()?);
            let config: RunConfig = table.try_into().ok()?;
            (config.name == self.name).then_some((format!("configs/{file}"), config.table().ok()?))
        };
        let (from, other) = (FILES.iter().find_map(shipped))
            .unwrap_or_else(|| ("the defaults".to_owned(), keys::with_defaults(&Table::default())));
        Ok(Changes {
            from,
            settings: keys::differences(&own, &other).map(in_words).collect(),
        })
    }
}

fn in_words((key, own, other): (&str, Option<&Value>, Option<&Value>)) -> String {
    let value = |value: Option<&Value>| value.map_or_else(|| "-".to_owned(), Value::to_string);
    format!("{key} = {} ({})", value(own), value(other))
}
