//! A match on disk: written whole into a new folder, or not at all.

use crate::output::usage;
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use tengen_evaluator::{MatchContext, MatchResult};
use tengen_records::{Collection, Create, Store, write_sgf_collection};

/// Refuses a folder that has something in it, before any game is played.
pub(super) fn require_new(folder: &Path) -> anyhow::Result<()> {
    let taken = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    if taken {
        return Err(usage(format!(
            "{} exists already; name a new folder for the match",
            folder.display()
        )));
    }
    let parent = parent(folder);
    fs::create_dir_all(parent).with_context(|| format!("cannot make the folder {}", parent.display()))
}

/// Writes `result.json`, `games.sgf` and the games as a shard below `games/`. The folder appears with all of them.
pub(super) fn write(folder: &Path, context: &MatchContext, result: &MatchResult) -> anyhow::Result<()> {
    let draft = Draft::new(folder)?;
    let store = Store::open(&draft.0.to_string_lossy(), Create::Always)?;
    if !result.records.is_empty() {
        let collection = Collection::Match {
            id: context.match_id.clone(),
        };
        store.publish_games(&collection, "match", 0, &result.records)?;
        store.put_new("games.sgf", write_sgf_collection(&result.records))?;
    }
    store.put_new("result.json", serde_json::to_vec_pretty(result)?)?;
    draft.become_folder(folder)
}

/// A folder beside the final one that is renamed at the end, and removed when that does not happen.
struct Draft(PathBuf);

impl Draft {
    fn new(folder: &Path) -> anyhow::Result<Draft> {
        let name = folder
            .file_name()
            .context("the folder has no name")?
            .to_string_lossy()
            .into_owned();
        let draft = parent(folder).join(format!(".{name}.{}.draft", std::process::id()));
        fs::create_dir(&draft).with_context(|| format!("cannot make the folder {}", draft.display()))?;
        Ok(Draft(draft))
    }

    fn become_folder(self, folder: &Path) -> anyhow::Result<()> {
        fs::rename(&self.0, folder)?;
        // The name itself is safe only once its folder is written.
        fs::File::open(parent(folder))?.sync_all()?;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already when it became the folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The folder that holds `path`.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}
