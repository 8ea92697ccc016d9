//! Errors in a configuration, told in terms of its keys and values instead of the program's types.

use std::fmt;

use toml::{Table, Value};

use tengen_rules::SettingError;

use crate::{RunConfig, keys};

/// The longest value that is quoted whole, in characters.
const LONGEST_VALUE: usize = 60;

/// One error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The key it concerns, with its sections.
    pub key: String,
    message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<SettingError> for Fault {
    fn from(error: SettingError) -> Fault {
        Fault {
            message: error.to_string(),
            key: error.key,
        }
    }
}

impl Fault {
    pub(crate) fn new(key: &str, message: String) -> Fault {
        Fault {
            key: key.to_owned(),
            message,
        }
    }

    /// The fault of an unknown key, with suggestions.
    pub(crate) fn unknown(key: &str) -> Fault {
        let (section, _) = key.rsplit_once('.').unwrap_or_default();
        let suggestions = keys::suggest(key);
        let hint = match () {
            () if !suggestions.is_empty() => format!("did you mean {}?", any_of(&quoted(&suggestions))),
            () if keys::is_known(section) => {
                format!("the keys of {section} are {}", keys::children(section).join(", "))
            }
            () => "configs/all-keys.toml explains every key".to_owned(),
        };
        Fault::new(key, format!("{key} is not a key; {hint}"))
    }
}

/// Reads a configuration and fills in the defaults, but does not check the ranges of its values.
pub(crate) fn read(table: &Table) -> Result<RunConfig, Fault> {
    // A list in place of a section would be read as the section's values in order.
    let is_section = |key: &&keys::Key| key.is_section;
    for section in keys::all().iter().filter(is_section) {
        if keys::look_up(table, &section.path).is_some_and(|value| !value.is_table()) {
            return Err(wrong_value(table, &section.path, ""));
        }
    }
    parse(table)
}

fn parse(table: &Table) -> Result<RunConfig, Fault> {
    serde_path_to_error::deserialize(Value::Table(keys::with_defaults(table))).map_err(|error| {
        let path = error.path().to_string();
        explain(table, path.trim_matches('.'), error.inner().message())
    })
}

/// Rewrites a message of the parser in terms of keys and values. Messages that come from our own types, such as those
/// about the names of rules, stay as they are.
fn explain(table: &Table, path: &str, message: &str) -> Fault {
    let name_after = |prefix: &str| message.strip_prefix(prefix)?.split('`').next();
    let section_of = |name: &str| path.strip_suffix(name).map_or(path, |rest| rest.trim_end_matches('.'));
    if let Some(name) = name_after("unknown field `") {
        let key = keys::join(section_of(name), name);
        // Items of lists are not among the known keys.
        return match path.contains('[') {
            true => Fault::new(&key, format!("{key} is not a key: expected a value{}", such_as(&key))),
            false => Fault::unknown(&key),
        };
    }
    if let Some(name) = name_after("missing field `") {
        let key = keys::join(path, name);
        return Fault::new(&key, format!("{key} is missing: expected a value{}", such_as(&key)));
    }
    let of_the_parser = [
        "invalid type",
        "invalid value",
        "invalid length",
        "unknown variant",
        "wanted ",
    ];
    match of_the_parser.iter().any(|words| message.starts_with(words)) {
        true => wrong_value(table, path, message),
        false => Fault::new(path, format!("{path}: {message}")),
    }
}

fn wrong_value(table: &Table, key: &str, message: &str) -> Fault {
    let found = keys::look_up(table, key).map_or_else(|| "absent".to_owned(), shown);
    let expected = match (keys::default_of(key), keys::choices(key)) {
        (Some(Value::Table(_)), _) if keys::is_known(key) => section_words(key),
        (_, choices) if !choices.is_empty() => any_of(&choices),
        _ => format!("{}{}", value_words(message), such_as(key)),
    };
    Fault::new(key, format!("{key} is {found}: expected {expected}"))
}

/// Describes a section, with an example of one of its keys.
fn section_words(section: &str) -> String {
    let names = keys::children(section);
    let example = names.iter().find_map(|name| {
        let key = keys::join(section, name);
        Some(format!(", such as {key}={}", keys::example(&key)?))
    });
    let names = names.join(", ");
    format!("a section with the keys {names}{}", example.unwrap_or_default())
}

/// What the parser expected, in terms familiar to people who write TOML.
fn value_words(message: &str) -> String {
    let wanted = message.rsplit_once("expected ").map_or(message, |(_, wanted)| wanted);
    let whole_number = |largest: u64| format!("a whole number from 0 to {largest}");
    match wanted {
        "f32" | "f64" => "a number".to_owned(),
        "u8" => whole_number(u8::MAX.into()),
        "u16" => whole_number(u16::MAX.into()),
        "u32" => whole_number(u32::MAX.into()),
        "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a whole number or \"auto\"" => wanted.to_owned(),
        _ if wanted.starts_with("struct ") => "a section in braces".to_owned(),
        _ => match wanted.strip_prefix("a tuple of size ") {
            Some(size) => format!("a list of {size} values"),
            None => "another kind of value".to_owned(),
        },
    }
}

fn such_as(key: &str) -> String {
    keys::example(key).map_or_else(String::new, |example| format!(", such as {example}"))
}

/// A value as TOML, truncated if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.chars().count() > LONGEST_VALUE {
        true => text.chars().take(LONGEST_VALUE).chain(['…']).collect(),
        false => text,
    }
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

/// `a`, `a or b`, `a, b or c`.
fn any_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [word] => word.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
