//! Which models does a folder hold?

use std::path::Path;

use tengen_model::{INFO_FILE, ModelError, ModelInfo};

/// The models in the folders of a folder, by name; none if it cannot be read.
///
/// # Errors
/// [`ModelError`] if the description of one of them cannot be used.
pub fn shelf(folder: &Path) -> Result<Vec<(String, ModelInfo)>, ModelError> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.join(INFO_FILE).is_file());
    paths.sort();
    let model = |path: &std::path::PathBuf| {
        let file = path.join(INFO_FILE);
        let text = std::fs::read_to_string(&file).map_err(|source| ModelError::Io { path: file, source })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, ModelInfo::from_json(&text)?))
    };
    paths.iter().map(model).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_models_are_a_shelf() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let models = shelf(&folder).expect("readable");
        assert!(models.is_sorted_by_key(|(name, _)| name.clone()));
        assert!(models.iter().any(|(name, _)| name == "5x5"));
        assert!(shelf(&folder.join("5x5")).expect("readable").is_empty());
        assert!(shelf(Path::new("/no/such/folder")).expect("none").is_empty());
    }
}
