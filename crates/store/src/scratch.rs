//! Where a machine keeps files that belong to a store but are not part of it.

use std::path::{Path, PathBuf};

use tengen_model::sha256_hex;

use crate::changes::GameTotals;
use crate::spool::waiting_in;

/// This machine's folder for the store at `location`: under `$XDG_STATE_HOME` or `~/.local/state`, otherwise under the
/// folder for temporary files. Does not create it.
pub fn scratch_folder(location: &str) -> PathBuf {
    let name = Path::new(location)
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    scratch_folders().join(format!("{name}-{}", &sha256_hex(location.as_bytes())[..12]))
}

/// The folder that holds the scratch folders of all stores.
fn scratch_folders() -> PathBuf {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    let base = variable("XDG_STATE_HOME")
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir);
    base.join("tengen")
}

/// A scratch folder whose store is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The scratch folder.
    pub folder: PathBuf,
    /// The folder where the store was.
    pub store: String,
    /// Totals of the games waiting in it to be published.
    pub waiting: GameTotals,
}

/// This machine's scratch folders with a spool for a local store that is missing: it was deleted or moved, or its disk
/// is not connected.
pub fn orphaned_scratch_folders() -> Vec<Orphan> {
    let entries = std::fs::read_dir(scratch_folders()).into_iter().flatten().flatten();
    let mut orphans: Vec<_> = entries.filter_map(|entry| orphan(entry.path())).collect();
    orphans.sort_by(|a, b| a.folder.cmp(&b.folder));
    orphans
}

fn orphan(folder: PathBuf) -> Option<Orphan> {
    let (store, waiting) = waiting_in(&folder.join("spool"))?;
    let is_gone = Path::new(&store).is_absolute() && !Path::new(&store).exists();
    is_gone.then_some(Orphan { folder, store, waiting })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_with_the_same_name_get_different_folders() {
        let folder = |location| {
            scratch_folder(location)
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        };
        assert!(folder("s3://bucket/nine").starts_with("nine-"));
        assert_ne!(folder("s3://bucket/nine"), folder("s3://other/nine"));
    }
}
