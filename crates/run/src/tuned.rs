//! Chooses the settings that are `auto`: measures them once for each kind of machine and workload, when games are first
//! played there, and keeps them in the store.

use std::sync::atomic::Ordering;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::json;

use tengen_config::RunConfig;
use tengen_rules::Setting;
use tengen_store::Put;
use tengen_tune::{Tuning, Wanted};

use crate::opened::Opened;

/// Settings that a measurement has found, as kept in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    games_per_group: u32,
    workers: usize,
    groups_per_worker: usize,
}

/// The settings if the user stops the run before anything is measured.
const STOPPED: Found = Found {
    games_per_group: 1,
    workers: 0,
    groups_per_worker: 1,
};

impl Opened {
    /// Replaces every setting that is `auto` with what suits this machine. Call it before games are played. If the
    /// store has a measurement by a machine of the same kind, uses that; otherwise, measures for
    /// [`Opened::measured_seconds`].
    ///
    /// # Errors
    /// If the network cannot be used on the device, or the store fails.
    pub fn settle_auto(&mut self) -> anyhow::Result<()> {
        let open = open_settings(&self.config);
        if open.is_empty() {
            return Ok(());
        }
        let names = open.join(", ");
        let path = self.path_of_found()?;
        let (found, how) = match self.kept(&path)? {
            Some(found) => (found, "measured before"),
            None => {
                let seconds = self.measured_seconds;
                self.watch
                    .say(&format!("{names}: auto; measuring for about {seconds:.0} s"));
                match self.measure(&path)? {
                    Some(found) => (found, "measured and kept in the store"),
                    None => (STOPPED, "not measured, because the run was stopped"),
                }
            }
        };
        apply(&mut self.config, found);
        let table = self.config.table()?;
        let value = |key: &&str| {
            let value = tengen_config::keys::look_up(&table, key);
            format!("{key} = {}", value.map_or_else(String::new, ToString::to_string))
        };
        let values: Vec<String> = open.iter().map(value).collect();
        self.watch.say(&format!("{} ({how})", values.join(", ")));
        Ok(())
    }

    /// The settings that the store keeps at this path, if any.
    fn kept(&self, path: &str) -> anyhow::Result<Option<Found>> {
        let Some(bytes) = self.store.files().get(path)? else {
            return Ok(None);
        };
        let failed = || {
            format!(
                "{path} in {} is damaged: delete it to measure again",
                self.store.location()
            )
        };
        read(&bytes).with_context(failed).map(Some)
    }

    /// Measures the settings and keeps them in the store; `None` if the user stops the run meanwhile.
    fn measure(&self, path: &str) -> anyhow::Result<Option<Found>> {
        let progress = |what: &str| self.watch.closing_step(Some(&format!("measuring {what}")));
        let stopped = || self.stop.load(Ordering::SeqCst);
        let seconds = self.measured_seconds;
        let tuning = Tuning::find(
            &self.config,
            &self.selfplay_devices,
            Wanted::Auto,
            seconds,
            &progress,
            &stopped,
        );
        self.watch.closing_step(None);
        if stopped() {
            return Ok(None);
        }
        let tuning = tuning?;
        let chosen = tuning.chosen();
        let found = Found {
            games_per_group: chosen.games,
            workers: chosen.workers,
            groups_per_worker: chosen.groups,
        };
        self.watch.say(&tuning.about_training());
        let kept = json!({ "settings": found, "measured": tuning });
        match self.store.files().put_new(path, serde_json::to_vec_pretty(&kept)?)? {
            Put::Created => Ok(Some(found)),
            // Another process on a machine of this kind was faster; all should use the same settings.
            Put::Exists => Ok(self.kept(path)?.or(Some(found))),
        }
    }

    /// Where the store keeps the settings found by machines like this one for this workload.
    fn path_of_found(&self) -> anyhow::Result<String> {
        let config = &self.given;
        let kind = json!({
            "device": self.device_in_words(),
            "cores": std::thread::available_parallelism().map_or(1, usize::from),
            "network": config.network,
            "sizes": config.sizes()?.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "visits": config.selfplay.search.visits,
            "stated": [
                config.selfplay.games_per_group.to_string(),
                config.loop_config.workers.to_string(),
                config.loop_config.groups_per_worker.to_string(),
            ],
        });
        let hash = tengen_store::sha256_hex(kind.to_string().as_bytes());
        Ok(format!("tuned/{}.json", &hash[..12]))
    }
}

fn read(bytes: &[u8]) -> anyhow::Result<Found> {
    #[derive(Deserialize)]
    struct Kept {
        settings: Found,
    }
    Ok(serde_json::from_slice::<Kept>(bytes)?.settings)
}

/// The keys that are `auto`.
fn open_settings(config: &RunConfig) -> Vec<&'static str> {
    let all = [
        ("selfplay.games_per_group", config.selfplay.games_per_group.is_auto()),
        ("loop.workers", config.loop_config.workers.is_auto()),
        ("loop.groups_per_worker", config.loop_config.groups_per_worker.is_auto()),
    ];
    all.into_iter()
        .filter_map(|(key, is_auto)| is_auto.then_some(key))
        .collect()
}

/// Replaces the settings that are `auto`.
fn apply(config: &mut RunConfig, found: Found) {
    fn settle<T: Copy>(setting: &mut Setting<T>, found: T) {
        *setting = Setting::Is(setting.unwrap_or(found));
    }
    settle(&mut config.selfplay.games_per_group, found.games_per_group);
    settle(&mut config.loop_config.workers, found.workers);
    settle(&mut config.loop_config.groups_per_worker, found.groups_per_worker);
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::opened::Setup;
    use crate::watch::Watch;

    /// Keeps the messages.
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Watch for Heard {
        fn say(&self, sentence: &str) {
            self.0.lock().expect("no panic inside").push(sentence.to_owned());
        }
    }

    fn load(settings: &[&str]) -> RunConfig {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let small = ["network.blocks=1", "network.channels=8", "training.batch=16"];
        let settings = small.iter().chain(settings).map(|&setting| setting.to_owned());
        RunConfig::load(&path, &settings.collect::<Vec<_>>()).expect("a configuration")
    }

    #[test]
    fn auto_is_measured_once_and_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = folder.path().join("store").display().to_string();
        let open = |config: &RunConfig| {
            let heard = Arc::new(Heard::default());
            let setup = Setup {
                scratch: Some(folder.path().to_owned()),
                measured_seconds: 0.05,
                watch: heard.clone(),
                ..Setup::default()
            };
            let mut run = Opened::open(config, &location, &setup).expect("a run");
            run.settle_auto().expect("the CPU");
            let said = heard.0.lock().expect("no panic inside").join("\n");
            (run, said)
        };
        let config = load(&["selfplay.games_per_group=auto", "loop.workers=1"]);
        let (first, said) = open(&config);
        let games = first.config.selfplay.games_per_group;
        assert!(
            !games.is_auto() && first.config.loop_config.workers == Setting::Is(1),
            "{games}"
        );
        assert!(said.contains("selfplay.games_per_group: auto; measuring"), "{said}");
        assert!(
            said.contains(&format!("selfplay.games_per_group = {games} (measured and kept")),
            "{said}"
        );
        // The given configuration keeps its `auto`, so a resumed run has no changed settings.
        assert!(first.given.selfplay.games_per_group.is_auto());
        let (again, said) = open(&config);
        assert_eq!(again.config.selfplay.games_per_group, games);
        assert!(
            said.contains("(measured before)") && !said.contains("measuring for"),
            "{said}"
        );
        let kept = |run: &Opened| run.store.files().list("tuned").expect("a listing").len();
        assert_eq!(kept(&again), 1);
        // Another workload gets a measurement of its own; a damaged file is named in the error.
        let (other, _) = open(&load(&["selfplay.games_per_group=auto", "loop.workers=2"]));
        assert_eq!(kept(&other), 2);
        let (none, said) = open(&load(&["selfplay.games_per_group=48", "loop.workers=2"]));
        assert!(
            !said.contains("auto") && none.config.selfplay.games_per_group == Setting::Is(48),
            "{said}"
        );
        let path = first.path_of_found();
        let mut broken = Opened::open(&config, &location, &Setup::default()).expect("a run");
        assert_eq!(path.expect("a path"), broken.path_of_found().expect("a path"));
        broken
            .store
            .files()
            .delete(&broken.path_of_found().expect("a path"))
            .expect("deleted");
        broken
            .store
            .files()
            .put_new(&broken.path_of_found().expect("a path"), b"{".to_vec())
            .expect("written");
        let error = format!("{:#}", broken.settle_auto().expect_err("a damaged file"));
        assert!(error.contains("delete it to measure again"), "{error}");
    }

    #[test]
    fn a_run_that_is_stopped_meanwhile_keeps_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = folder.path().join("store").display().to_string();
        let mut run = Opened::open(&load(&["loop.workers=auto"]), &location, &Setup::default()).expect("a run");
        run.stop.store(true, Ordering::SeqCst);
        run.settle_auto().expect("stopped");
        assert_eq!(run.config.loop_config.workers, Setting::Is(0));
        assert!(run.store.files().list("tuned").expect("a listing").is_empty());
    }
}
