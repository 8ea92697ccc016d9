//! Which models does a folder hold?

use std::path::Path;

use tengen_model::{INFO_FILE, ModelError, ModelInfo};

/// The models in the folders of a folder, by name; none if it cannot be read.
///
/// # Errors
/// [`ModelError`] if the description of one of them cannot be used.
pub fn shelf(folder: &Path) -> Vec<(String, Result<ModelInfo, ModelError>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.join(INFO_FILE).is_file());
    paths.sort();
    let named = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, described(path.join(INFO_FILE)))
    };
    paths.iter().map(named).collect()
}

fn described(path: std::path::PathBuf) -> Result<ModelInfo, ModelError> {
    match std::fs::read_to_string(&path) {
        Ok(text) => ModelInfo::from_json(&text),
        Err(source) => Err(ModelError::Io { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_models_are_a_shelf() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let models = shelf(&folder);
        assert!(models.iter().all(|(_, info)| info.is_ok()));
        assert!(models.is_sorted_by_key(|(name, _)| name.clone()));
        assert!(models.iter().any(|(name, _)| name == "5x5"));
        assert!(shelf(&folder.join("5x5")).is_empty());
        assert!(shelf(Path::new("/no/such/folder")).is_empty());
    }

    #[test]
    fn a_damaged_model_does_not_hide_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/5x5");
        for (name, text) in [
            ("good", std::fs::read(shipped.join(INFO_FILE)).expect("a description")),
            ("torn", b"{".to_vec()),
        ] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
            std::fs::write(folder.path().join(name).join(INFO_FILE), text).expect("a file");
        }
        let [(good, found), (torn, error)] = &shelf(folder.path())[..] else {
            panic!("two models");
        };
        assert_eq!((good.as_str(), torn.as_str()), ("good", "torn"));
        assert!(found.is_ok());
        let error = error.as_ref().expect_err("it is damaged").to_string();
        assert!(error.contains("model.json cannot be used: it is not JSON"), "{error}");
    }
}
