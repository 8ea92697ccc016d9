//! Reads a configuration from a file, with `--set` overrides and errors that name the line.

use std::path::Path;

use anyhow::{Context, anyhow};

use tengen_matches::usage;

use crate::fault::{self, Fault};
use crate::{RunConfig, keys, overrides};

impl RunConfig {
    /// Reads a config file and applies `--set key=value` overrides.
    ///
    /// # Errors
    /// A usage error for a bad override, or for a store or folder in place of the file; all other errors are about the
    /// file.
    pub fn load(path: &Path, overrides: &[String]) -> anyhow::Result<RunConfig> {
        refuse_store(path)?;
        let text = std::fs::read_to_string(path).with_context(|| {
            format!(
                "cannot read the config {}; configs/5x5.toml is an example",
                path.display()
            )
        })?;
        let in_file = |fault: &Fault| match line_of(&text, &fault.key) {
            Some(line) => anyhow!("{}, line {line}: {fault}", path.display()),
            None => anyhow!("{}: {fault}", path.display()),
        };
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| anyhow!("{}: {}", path.display(), error.to_string().trim_end()))?;
        let config = fault::read(&table).map_err(|fault| in_file(&fault))?;
        config.override_with(table, overrides, in_file)
    }

    /// Applies `--set key=value` overrides to a configuration that does not come from a file.
    ///
    /// # Errors
    /// A usage error for a bad override; all other errors are about the configuration itself.
    pub fn with_overrides(&self, overrides: &[String]) -> anyhow::Result<RunConfig> {
        self.override_with(self.table()?, overrides, |fault| anyhow!("{fault}"))
    }

    /// Applies overrides to the table that the configuration was read from, and checks the result.
    fn override_with(
        &self,
        mut table: toml::Table,
        overrides: &[String],
        refuse: impl Fn(&Fault) -> anyhow::Error,
    ) -> anyhow::Result<RunConfig> {
        let assignments = overrides::parse(overrides)?;
        let mut config = self.clone();
        for assignment in &assignments {
            config = assignment.apply(&mut table)?;
        }
        let Err(fault) = config.check() else { return Ok(config) };
        match assignments.iter().find(|assignment| assignment.concerns(&fault.key)) {
            Some(assignment) => Err(assignment.refuse(&fault)),
            None if self.check().is_ok() => Err(overrides::refuse(&assignments, &fault)),
            None => Err(refuse(&fault)),
        }
    }
}

/// Returns a usage error for a folder or an address in place of a config file.
fn refuse_store(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if path.join("run.json").is_file() || path.to_string_lossy().contains("://") {
        return Err(usage(format!(
            "{shown} is a store, but a config file is expected: name a file here and the store with --store {shown}; \
             `tengen config show {shown} > run.toml` writes the configuration of its run to a file"
        )));
    }
    if path.is_dir() {
        return Err(usage(format!(
            "{shown} is a folder, but a config file is expected, such as configs/5x5.toml"
        )));
    }
    Ok(())
}

/// The line, counted from 1, of a key in TOML text, or of the innermost enclosing section that exists.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let root = toml::de::DeTable::parse(text).ok()?;
    let root = toml::de::DeValue::Table(root.into_inner());
    let (mut here, mut start) = (&root, None);
    for part in keys::parts(key) {
        let next = match here {
            toml::de::DeValue::Array(_) => part.parse::<usize>().ok().and_then(|place| here.get(place)),
            _ => here.get(part),
        };
        let Some(next) = next else { break };
        start = Some(next.span().start);
        here = next.get_ref();
    }
    Some(1 + text[..start?].matches('\n').count())
}
