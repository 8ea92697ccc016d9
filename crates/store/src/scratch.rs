//! Where does a machine keep what belongs to a store but not into it?

use std::path::{Path, PathBuf};

use crate::shard::sha256_hex;

/// The folder of this machine for the store at `location`: below `$XDG_STATE_HOME` or `~/.local/state`, else below the
/// folder for temporary files. Nothing is made.
pub fn scratch_folder(location: &str) -> PathBuf {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    let base = variable("XDG_STATE_HOME")
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir);
    let name = Path::new(location)
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    base.join("tengen")
        .join(format!("{name}-{}", &sha256_hex(location.as_bytes())[..12]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_of_one_name_do_not_share_a_folder() {
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
