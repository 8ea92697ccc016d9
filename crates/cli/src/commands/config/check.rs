//! `tengen config check`: checks whether configurations are valid.

use anyhow::bail;
use serde::Serialize;

use tengen_run::RunConfig;

use crate::output::{self, counted};

/// Check configurations without running them
///
/// Prints one line for each: `ok` with its name, boards, network and id (which identifies it in stores), or the error.
/// Exits with 1 if any is invalid.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen config check configs/*.toml
  tengen config check mine.toml data/runs/demo --json")]
pub(crate) struct Args {
    /// Config files, or stores for the configurations that their runs started with
    #[arg(required = true, value_name = "CONFIG")]
    configs: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A configuration's key facts, or its error.
#[derive(Serialize)]
struct Checked {
    config: String,
    ok: bool,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Summary {
    name: String,
    boards: Vec<String>,
    network: String,
    id: String,
}

#[derive(Serialize)]
struct Answer {
    configs: Vec<Checked>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let configs: Vec<Checked> = args.configs.iter().map(|config| check(config)).collect();
    let bad = configs.iter().filter(|checked| !checked.ok).count();
    match args.json {
        true => output::json(&Answer { configs })?,
        false => configs.iter().for_each(|checked| output::result(line(checked))),
    }
    match bad {
        0 => Ok(()),
        1 => bail!(
            "1 of {} is invalid",
            counted(args.configs.len() as u64, "configuration")
        ),
        _ => bail!(
            "{bad} of {} are invalid",
            counted(args.configs.len() as u64, "configuration")
        ),
    }
}

fn check(config: &str) -> Checked {
    let checked = super::load(config, &[]).and_then(|loaded| summary(&loaded.with_overrides(&[])?));
    let (summary, error) = match checked {
        Ok(summary) => (Some(summary), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    Checked {
        config: config.to_owned(),
        ok: error.is_none(),
        summary,
        error,
    }
}

fn summary(config: &RunConfig) -> anyhow::Result<Summary> {
    Ok(Summary {
        name: config.name.clone(),
        boards: config.sizes()?.iter().map(ToString::to_string).collect(),
        network: config.network.name(),
        id: config.id()?,
    })
}

fn line(checked: &Checked) -> String {
    let Checked { config, .. } = checked;
    match (&checked.summary, &checked.error) {
        (Some(summary), _) => {
            let (name, boards) = (&summary.name, summary.boards.join(", "));
            let Summary { network, id, .. } = summary;
            format!("{config}: ok, name {name}, boards {boards}, network {network}, id {id}")
        }
        // Errors about files already name the file.
        (None, Some(error)) if error.contains(config.as_str()) => error.clone(),
        (None, error) => format!("{config}: {}", error.as_deref().unwrap_or_default()),
    }
}
