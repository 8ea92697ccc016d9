//! How many of a store's newest games does its run still need?

use crate::output::usage;
use anyhow::{Context, bail};
use serde::Deserialize;
use tengen_samples::WindowConfig;
use tengen_store::{GamesOf, Store};

/// How many windows are kept unless the user says otherwise: one that is trained on, and as much again.
const WINDOWS_KEPT: u64 = 2;

/// The part of a configuration that says how far back training reaches.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reach {
    window: WindowConfig,
}

/// Positions to leave alone: what the user asks for, if it is not less than the window, else twice the window.
///
/// # Errors
/// When the store has no configuration and the user asks for nothing, or asks for less than the window.
pub(super) fn keep_positions(store: &Store, asked: Option<u64>) -> anyhow::Result<u64> {
    let window = largest_window(store)?;
    match (asked, window) {
        (Some(asked), Some(window)) if asked < window => Err(usage(format!(
            "--keep-positions {asked} is less than the run's window of {window} positions, which training still draws \
             from: give at least {window}"
        ))),
        (Some(asked), _) => Ok(asked),
        (None, Some(window)) => Ok(window.saturating_mul(WINDOWS_KEPT)),
        (None, None) => bail!(
            "{} has no run.json that says how far back training reaches: say with --keep-positions how many of the \
             newest positions to leave alone",
            store.location()
        ),
    }
}

/// The largest window of all configurations the run went on under, in positions; none without a configuration.
fn largest_window(store: &Store) -> anyhow::Result<Option<u64>> {
    let Some(run) = store.run_info()? else {
        return Ok(None);
    };
    let mut reaches =
        vec![serde_json::from_value::<Reach>(run.config).context("run.json says nothing clear about the window")?];
    for (path, _) in store.list("configs")? {
        let bytes = store.require(&path)?;
        let text = std::str::from_utf8(&bytes).with_context(|| format!("{path} is no text"))?;
        reaches.push(toml::from_str(text).with_context(|| format!("{path} says nothing clear about the window"))?);
    }
    let total = store.list_games(&GamesOf::SelfPlay)?.published().positions;
    Ok(reaches.iter().map(|reach| reach.window.target_positions(total)).max())
}
