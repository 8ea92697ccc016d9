//! Decides how many of a store's newest positions to keep, because its run may still train on them.

use anyhow::{Context, bail};
use serde::Deserialize;

use tengen_samples::WindowConfig;
use tengen_store::{GamesOf, Store};

use crate::output::{thousands, usage};

/// Number of windows to keep by default: the one in training and the same amount again.
const WINDOWS_KEPT: u64 = 2;

/// The part of a configuration that says how far back training reaches.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reach {
    window: WindowConfig,
}

/// The number of newest positions to keep: the requested one, which must cover the window, or twice the window.
///
/// # Errors
/// If the store has no configuration and no number is requested, or the requested number is less than the window.
pub(super) fn keep_positions(store: &Store, requested: Option<u64>) -> anyhow::Result<u64> {
    let window = largest_window(store)?;
    match (requested, window) {
        (Some(requested), Some(window)) if requested < window => Err(usage(format!(
            "--keep-positions {requested} is less than the run's window of {} positions, which training still \
             uses; use at least {window}",
            thousands(window)
        ))),
        (Some(requested), _) => Ok(requested),
        (None, Some(window)) => Ok(window.saturating_mul(WINDOWS_KEPT)),
        (None, None) => bail!(
            "{} has no run.json that says how far back training reaches; use --keep-positions to say how many of the \
             newest positions to keep",
            store.location()
        ),
    }
}

/// The largest window, in positions, of all configurations that the run has used; `None` without a configuration.
fn largest_window(store: &Store) -> anyhow::Result<Option<u64>> {
    let Some(run) = store.run_info()? else {
        return Ok(None);
    };
    let mut reaches = vec![serde_json::from_value::<Reach>(run.config).context("run.json has no valid window")?];
    for (path, _) in store.files().list("configs")? {
        let bytes = store.files().require(&path)?;
        let text = std::str::from_utf8(&bytes).with_context(|| format!("{path} is not UTF-8 text"))?;
        reaches.push(toml::from_str(text).with_context(|| format!("{path} has no valid window"))?);
    }
    let total = store.games().list(&GamesOf::SelfPlay)?.published().positions;
    Ok(reaches.iter().map(|reach| reach.window.target_positions(total)).max())
}
