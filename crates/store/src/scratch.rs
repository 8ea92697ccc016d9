//! Where a machine keeps files that belong to a store but are not part of it.

use std::path::{Path, PathBuf};

use tengen_model::sha256_hex;

/// This machine's folder for the store at `location`: under `$XDG_STATE_HOME` or `~/.local/state`, otherwise under the
/// folder for temporary files. Does not create it.
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
