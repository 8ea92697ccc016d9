//! `--set KEY=VALUE`: overrides of a configuration from the command line.

use toml::{Table, Value};

use tengen_matches::usage;

use crate::fault::{self, Fault};
use crate::{RunConfig, keys};

/// One override from the command line.
pub(crate) struct Assignment<'a> {
    /// The argument as the user wrote it.
    text: &'a str,
    key: &'a str,
    /// `None` for the default, as if nothing had set the key.
    value: Option<Value>,
}

/// Reads all overrides.
///
/// # Errors
/// A usage error if an override has no `=` or if two override the same key.
pub(crate) fn parse(texts: &[String]) -> anyhow::Result<Vec<Assignment<'_>>> {
    let mut assignments: Vec<Assignment> = Vec::new();
    for text in texts {
        let assignment = Assignment::parse(text)?;
        if let Some(earlier) = assignments.iter().find(|earlier| earlier.key == assignment.key) {
            let Assignment { key, .. } = assignment;
            let message = format!("--set gives {key} twice: {} and {text}; leave one out", earlier.text);
            return Err(usage(message));
        }
        assignments.push(assignment);
    }
    Ok(assignments)
}

impl<'a> Assignment<'a> {
    fn parse(text: &'a str) -> anyhow::Result<Assignment<'a>> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Assignment {
                text,
                key: key.trim(),
                value: value_of(key.trim(), value.trim()),
            }),
            _ => Err(usage(format!(
                "--set takes KEY=VALUE, such as budget.minutes=10; found {text:?}"
            ))),
        }
    }

    /// Puts the value into the table, or takes it out, and reads the whole table again.
    ///
    /// # Errors
    /// A usage error that names this override.
    pub(crate) fn apply(&self, table: &mut Table) -> anyhow::Result<RunConfig> {
        self.check_key().map_err(|fault| self.refuse(&fault))?;
        match &self.value {
            Some(value) => keys::put(table, self.key, value.clone()),
            None => keys::remove(table, self.key),
        }
        fault::read(table).map_err(|fault| self.refuse(&fault))
    }

    /// Whether a fault of this key comes from this override.
    pub(crate) fn concerns(&self, key: &str) -> bool {
        let is_inside = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        is_inside(key, self.key) || is_inside(self.key, key)
    }

    /// A usage error about this override.
    pub(crate) fn refuse(&self, fault: &Fault) -> anyhow::Error {
        refuse(std::slice::from_ref(self), fault)
    }

    fn check_key(&self) -> Result<(), Fault> {
        if keys::is_known(self.key) {
            return Ok(());
        }
        let is_above = |key: &&keys::Key| {
            let rest = self.key.strip_prefix(&key.path);
            !key.is_section && rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        match keys::all().iter().find(is_above) {
            None => Err(Fault::unknown(self.key)),
            Some(above) => {
                let path = &above.path;
                let example = keys::example(path).map_or_else(String::new, |value| format!(", such as {path}={value}"));
                Err(Fault::new(
                    self.key,
                    format!("{path} is a single value, not a section: set all of it{example}"),
                ))
            }
        }
    }
}

/// A usage error about several overrides that cannot be combined.
pub(crate) fn refuse(assignments: &[Assignment], fault: &Fault) -> anyhow::Error {
    let given: Vec<String> = assignments.iter().map(|one| format!("--set {}", one.text)).collect();
    usage(format!("{}: {fault}", given.join(" ")))
}

/// The value that takes what a file sets out again.
const UNSET: &str = "unset";

/// Reads the value as TOML if possible, otherwise as text. Keys that expect text accept everything as text, so names
/// such as `7` need no quotes. For all others, `unset` is no value.
fn value_of(key: &str, text: &str) -> Option<Value> {
    let parsed = toml::from_str::<Table>(&format!("v = {text}")).ok();
    let parsed = parsed.filter(|table| table.len() == 1);
    let takes_text = matches!(keys::default_of(key), Some(Value::String(_)));
    let value = match parsed.and_then(|mut table| table.remove("v")) {
        Some(value) if value.is_str() || !takes_text => value,
        _ => Value::String(text.to_owned()),
    };
    let is_unset = !takes_text && value.as_str() == Some(UNSET);
    (!is_unset).then_some(value)
}
