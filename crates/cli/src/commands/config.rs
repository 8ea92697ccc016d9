//! `tengen config`: works with configurations without starting a run.

mod check;
mod diff;
mod show;

use std::path::Path;

use anyhow::bail;

use tengen_run::{RunConfig, stored_config};
use tengen_store::{Create, Store};

/// Print, compare and check configurations
#[derive(clap::Subcommand)]
pub(crate) enum Config {
    Show(show::Args),
    Diff(diff::Args),
    Check(check::Args),
}

pub(crate) fn run(command: Config) -> anyhow::Result<()> {
    match command {
        Config::Show(args) => show::run(args),
        Config::Diff(args) => diff::run(args),
        Config::Check(args) => check::run(args),
    }
}

/// Reads the configuration of a file, or that of the run in a store.
fn load(source: &str, overrides: &[String]) -> anyhow::Result<RunConfig> {
    let path = Path::new(source);
    if !source.contains("://") && !path.is_dir() {
        return RunConfig::load(path, overrides);
    }
    let stored = stored(source)?;
    match overrides {
        // Not validated, so that runs started under earlier limits can still be viewed.
        [] => Ok(stored),
        _ => stored.with_overrides(overrides),
    }
}

/// The configuration in a store's `run.json`.
fn stored(location: &str) -> anyhow::Result<RunConfig> {
    let store = Store::open(location, Create::Never)?;
    let Some(run) = store.run_info()? else {
        bail!("{location} has no run.json: expected a config file or the store of a run");
    };
    stored_config(run.config, location)
}
