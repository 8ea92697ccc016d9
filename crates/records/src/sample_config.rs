//! How are training samples made, and what may the games they come from take of memory and disk?

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tengen_rules::{SettingError, check_setting};

use crate::game_cache::GameCache;
use crate::store::Store;

/// Folder of a local store in which the cache has its scratch files.
const STORE_FOLDER: &str = "cache";

/// Which mirror image of a drawn position is trained on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymmetryMode {
    /// The smallest one, the same for all images of a position.
    Canonical,
    /// One of all by chance: 8 on squares, 4 on other rectangles.
    Random,
}

/// Where the unpacked games of the window lie. Written as `auto`, `memory` or the path of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CachePlace {
    /// On disk: in the folder `cache` of a store that is a local folder, else in the system's folder for temporary
    /// files (`TMPDIR`).
    #[default]
    Auto,
    /// In memory, of which [`SampleConfig::cache_bytes`] is then the bound of the window.
    Memory,
    /// On the disk of this folder, which is made when there is none.
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
    /// Share of the game's result in the value target, 0 to 1; the rest is the search's value. Usual: 0.7. More is
    /// noisier and less biased.
    pub result_share: f32,
    /// Most positions kept unpacked; beyond it the oldest shards are let go. Usual: 100000000, which no usual window
    /// reaches. More takes more disk.
    pub max_positions: u64,
    /// Memory the unpacked games may take, bytes. Usual: 268435456. On disk more is read without copying; in memory it
    /// bounds the window: the oldest shards are let go beyond it.
    pub cache_bytes: usize,
    /// Where the unpacked games lie. Usual: `auto`.
    pub cache: CachePlace,
    /// Whether bit planes are made once, when a game is unpacked, or anew at every draw by replay. Usual: true. Without
    /// them a 9x9 position takes about a third of the space and drawing takes several times as long.
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
    /// Checks every setting's range.
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

    /// The place for unpacked games, beside a store where there is one.
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
    fn places_are_written_as_words_or_paths() {
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
    fn what_cannot_work_is_refused() {
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
    fn a_local_store_has_its_cache_beside_its_games() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap(), crate::store::Create::Always).unwrap();
        let beside = store.local_path().unwrap().join("cache");
        let config = SampleConfig::default();
        assert_eq!(config.game_cache(Some(&store)), GameCache::Inside(beside));
        assert_eq!(config.game_cache(None), GameCache::Folder(std::env::temp_dir()));
    }
}
