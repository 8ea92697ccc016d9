//! KataGo's command line and configuration files, for programs that can only start KataGo.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, anyhow};

use tengen_gtp::json::{SettingError, Settings};

/// Options of `katago analysis`, which KataGo writes with a single hyphen.
const OPTIONS: [&str; 4] = ["-model", "-config", "-override-config", "-quit-without-waiting"];

/// The words of a command line, with the single-hyphen options of `katago analysis` converted for clap.
pub(crate) fn with_two_hyphens(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|command| command == "analysis") {
        for word in words
            .iter_mut()
            .skip(2)
            .filter(|word| OPTIONS.iter().any(|option| word == option))
        {
            let mut longer = OsString::from("-");
            longer.push(&*word);
            *word = longer;
        }
    }
    words
}

/// Settings from configuration files and overrides.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Config {
    /// Default search settings for queries.
    pub(super) settings: Settings,
    /// Number of positions searched in parallel (`numAnalysisThreads`), if set.
    pub(super) parallel: Option<u16>,
    /// Leaves of one search that are evaluated at once (`numSearchThreadsPerAnalysisThread`), if set.
    pub(super) leaves: Option<usize>,
    /// Names of settings that have no meaning here.
    pub(super) unknown: Vec<String>,
}

impl Config {
    /// Applies the settings of a file: lines `name = value`, comments after `#`.
    ///
    /// # Errors
    /// If the file cannot be read, a line is malformed, or a supported setting has an invalid value.
    pub(super) fn take_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.take(line)
                    .with_context(|| format!("{}, line {}", path.display(), number + 1))?;
            }
        }
        Ok(())
    }

    /// Applies settings in the format of `-override-config`: `name=value`, separated by commas.
    ///
    /// # Errors
    /// If a setting is malformed or a supported setting has an invalid value.
    pub(super) fn take_overrides(&mut self, text: &str) -> anyhow::Result<()> {
        let mut settings = text.split(',').filter(|setting| !setting.trim().is_empty());
        settings.try_for_each(|setting| self.take(setting).context("--override-config"))
    }

    fn take(&mut self, setting: &str) -> anyhow::Result<()> {
        let (name, value) = setting
            .split_once('=')
            .with_context(|| format!("expected name = value, found {setting:?}"))?;
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if name == "numAnalysisThreads" {
            let parallel = value.parse().ok().filter(|&threads| (1..=4096).contains(&threads));
            let wrong = || format!("numAnalysisThreads: expected a whole number from 1 to 4096, found {value}");
            self.parallel = Some(parallel.with_context(wrong)?);
            return Ok(());
        }
        if ["numSearchThreadsPerAnalysisThread", "numSearchThreads"].contains(&name) {
            self.leaves = Some(crate::arguments::leaves(value).map_err(|error| anyhow!("{name}: {error}"))?);
            return Ok(());
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        match self.settings.set(name, &value) {
            Err(SettingError::Unknown(_)) => self.unknown.push(name.to_owned()),
            taken => taken?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_gtp::json::Viewpoint;

    fn words(line: &str) -> String {
        let words = with_two_hyphens(line.split(' ').map(OsString::from));
        words.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn only_katago_options_get_a_second_hyphen() {
        assert_eq!(
            words("katago analysis -model m -config c -v -override-config a=b --visits 3"),
            "katago analysis --model m --config c -v --override-config a=b --visits 3"
        );
        assert_eq!(words("tengen gtp -model m"), "tengen gtp -model m");
        assert_eq!(words("tengen"), "tengen");
    }

    #[test]
    fn supported_settings_are_applied_and_the_others_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("analysis.cfg");
        let text = "# comment\nlogDir = logs  # more\n\nmaxVisits = 500\nreportAnalysisWinratesAs = WHITE\r\n\
                    numAnalysisThreads=2\nwideRootNoise = 0.0\nmaxTime = \"1.5\"\n";
        std::fs::write(&path, text).unwrap();
        let mut config = Config::default();
        config.take_file(&path).unwrap();
        config.take_overrides("homeDataDir=/home/me, maxVisits=7").unwrap();
        let settings = &config.settings;
        assert_eq!((settings.visits, settings.seconds), (7, Some(1.5)));
        assert_eq!((settings.viewpoint, config.parallel), (Viewpoint::White, Some(2)));
        assert_eq!(config.unknown, ["logDir", "homeDataDir"]);
    }

    #[test]
    fn invalid_settings_are_reported_with_their_place() {
        let refuse = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.cfg");
            std::fs::write(&path, text).unwrap();
            format!("{:#}", Config::default().take_file(&path).unwrap_err())
        };
        let wrong_visits = refuse("\nmaxVisits = 0\n");
        assert!(
            wrong_visits.contains("a.cfg, line 2: maxVisits: expected a whole number from 1"),
            "{wrong_visits}"
        );
        assert!(refuse("maxVisits").contains("line 1: expected name = value"));
        assert!(refuse("numAnalysisThreads = many").contains("found many"));
        assert!(refuse("numSearchThreads = 0").contains("1 to 256, found 0"));
        let missing = Config::default().take_file(Path::new("/no/such.cfg")).unwrap_err();
        assert!(format!("{missing:#}").contains("/no/such.cfg"));
    }
}
