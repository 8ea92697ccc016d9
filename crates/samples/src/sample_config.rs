//! Settings for making training samples, including how much memory and disk the window's games may take.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use tengen_rules::{SettingError, check_setting};
use tengen_store::Store;

use crate::game_cache::GameCache;

/// Folder inside a local store where the cache keeps its scratch files.
const STORE_FOLDER: &str = "cache";

/// Which mirror image of a drawn position is trained on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymmetryMode {
    /// The smallest image, the same for all images of a position.
    Canonical,
    /// A random one of all images: 8 on squares, 4 on other rectangles.
    Random,
}

/// Where the unpacked games of the window are kept. Written as `auto`, `memory` or the path of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CachePlace {
    /// On disk: in the `cache` folder of the store if that is local, otherwise in the system's temporary folder
    /// (`TMPDIR`).
    #[default]
    Auto,
    /// In memory. [`SampleConfig::cache_bytes`] then limits the window.
    Memory,
    /// On disk in this folder, which is created if missing.
    Folder(PathBuf),
}

impl From<String> for CachePlace {
    fn from(text: String) -> CachePlace {
        match text.as_str() {
            "auto" => CachePlace::Auto,
            "memory" => CachePlace::Memory,
            _ => CachePlace::Folder(text.into()),
        }
    }
}

impl FromStr for CachePlace {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<CachePlace, Infallible> {
        Ok(CachePlace::from(text.to_owned()))
    }
}

impl From<CachePlace> for String {
    fn from(place: CachePlace) -> String {
        match place {
            CachePlace::Auto => "auto".to_owned(),
            CachePlace::Memory => "memory".to_owned(),
            CachePlace::Folder(folder) => folder.display().to_string(),
        }
    }
}

/// How samples are made and how much memory and disk they may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SampleConfig {
    /// Weight of the game's result in the value target, 0 to 1; the rest is the search value. Usually 0.7. Higher
    /// values are noisier and less biased.
    pub result_share: f32,
    /// Maximum number of unpacked positions; beyond it, the oldest shards are dropped. Usually 100000000, which no
    /// ordinary window reaches. Higher values take more disk space.
    pub max_positions: u64,
    /// Memory for unpacked games in bytes. Usually 268435456. With games on disk, it limits how much is mapped at a
    /// time; with games in memory, it limits the window: the oldest shards beyond it are dropped.
    pub cache_bytes: usize,
    /// Where the unpacked games are kept. Usually `auto`.
    pub cache: CachePlace,
    /// Whether bit planes are computed once, when a game is unpacked, or by replay at every draw. Usually true. Without
    /// stored planes, a 9x9 position takes about a third of the space and drawing takes several times as long.
    pub planes: bool,
}

impl Default for SampleConfig {
    fn default() -> SampleConfig {
        SampleConfig {
            result_share: 0.7,
            max_positions: 100_000_000,
            cache_bytes: 256 << 20,
            cache: CachePlace::Auto,
            planes: true,
        }
    }
}

impl SampleConfig {
    /// Checks the range of every setting.
    ///
    /// # Errors
    /// [`SettingError`] naming the first setting out of its range.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_setting("samples.result_share", self.result_share, 0.0..=1.0)?;
        check_setting("samples.max_positions", self.max_positions, 1..)?;
        if self.cache == CachePlace::Memory {
            check_setting("samples.cache_bytes", self.cache_bytes, 1..)?;
        }
        let folder = String::from(self.cache.clone());
        match folder.trim().is_empty() {
            false => Ok(()),
            true => {
                let expected = "`auto`, `memory` or the path of a folder";
                Err(SettingError::new("samples.cache", format!("{folder:?}"), expected))
            }
        }
    }

    /// Where to keep unpacked games, next to a store if there is one.
    pub(crate) fn game_cache(&self, store: Option<&Store>) -> GameCache {
        match &self.cache {
            CachePlace::Memory => GameCache::Memory,
            CachePlace::Folder(folder) => GameCache::Folder(folder.clone()),
            CachePlace::Auto => match store.and_then(Store::local_path) {
                Some(folder) => GameCache::Inside(folder.join(STORE_FOLDER)),
                None => GameCache::Folder(std::env::temp_dir()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_parse_as_keywords_or_paths() {
        for (text, place) in [
            ("auto", CachePlace::Auto),
            ("memory", CachePlace::Memory),
            ("/scratch/here", CachePlace::Folder("/scratch/here".into())),
        ] {
            assert_eq!(CachePlace::from(text.to_owned()), place);
            assert_eq!(String::from(place), text);
        }
    }

    #[test]
    fn rejects_out_of_range_settings() {
        let refused = |change: fn(&mut SampleConfig)| {
            let mut config = SampleConfig::default();
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        assert!(refused(|config| config.result_share = 1.5).contains("result_share is 1.5: expected 0 to 1"));
        assert!(refused(|config| config.result_share = f32::NAN).contains("result_share"));
        assert!(refused(|config| config.max_positions = 0).contains("max_positions"));
        assert!(refused(|config| config.cache = CachePlace::Folder("".into())).contains("path of a folder"));
        let no_memory = |config: &mut SampleConfig| (config.cache, config.cache_bytes) = (CachePlace::Memory, 0);
        assert!(refused(no_memory).contains("cache_bytes is 0: expected 1 or more"));
        assert_eq!(SampleConfig::default().validate(), Ok(()));
    }

    #[test]
    fn a_local_store_keeps_its_cache_next_to_its_games() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap(), tengen_store::Create::Always).unwrap();
        let beside = store.local_path().unwrap().join("cache");
        let config = SampleConfig::default();
        assert_eq!(config.game_cache(Some(&store)), GameCache::Inside(beside));
        assert_eq!(config.game_cache(None), GameCache::Folder(std::env::temp_dir()));
    }
}
