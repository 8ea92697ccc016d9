//! Games in progress outlive their worker: it saves them in the store, and the next worker to start continues them. At
//! most one worker takes over each file.

use tengen_run::Opened;
use tengen_selfplay::Snapshot;
use tengen_store::{Put, StoreError, seal, unseal};

/// The folder of games in progress, with one file per worker that has ended.
const FOLDER: &str = "in_flight";

/// Suffix of the file with which a worker claims another worker's games.
const CLAIM: &str = ".taken";

/// Saves a worker's games in progress.
///
/// # Errors
/// If the store fails.
pub(crate) fn keep(run: &Opened, worker: &str, snapshot: &Snapshot) -> anyhow::Result<()> {
    if snapshot.games() > 0 {
        let json = serde_json::to_string(snapshot)?;
        run.store
            .files()
            .put_new(&format!("{FOLDER}/{worker}.json"), seal(&json))?;
    }
    Ok(())
}

/// Takes over the games of one worker that has ended; `None` if there are none. Deletes them from the store before they
/// continue, so that no game is played twice.
///
/// # Errors
/// If the store fails.
pub(crate) fn take(run: &Opened, worker: &str) -> Result<Option<Snapshot>, StoreError> {
    let files = run.store.files();
    let found = files.list(FOLDER)?;
    let paths = found.iter().map(|(path, _)| path.as_str());
    for path in paths.clone().filter(|path| path.ends_with(".json")) {
        let claim = format!("{path}{CLAIM}");
        if paths.clone().any(|other| other == claim) {
            continue;
        }
        // The store may have written the claim, failed to say so, and refused to write it again.
        if files.put_new(&claim, worker.to_owned())? == Put::Exists
            && files.get(&claim)?.is_none_or(|claimed| claimed != worker.as_bytes())
        {
            continue;
        }
        let bytes = files.get(path)?;
        files.delete(path)?;
        files.delete(&claim)?;
        let Some(bytes) = bytes else { continue };
        match unseal(path, &bytes).map(|json| Snapshot::from_bytes(&json)) {
            Ok(Ok(snapshot)) => return Ok(Some(snapshot)),
            Ok(Err(error)) => tracing::warn!("discarding the games in progress in {path}: {error}"),
            Err(error) => tracing::warn!("discarding the games in progress in {path}: {error}"),
        }
    }
    Ok(None)
}
