//! Is everything in a store what it says it is? Every shard, model, promotion, match, checkpoint and dataset, checked anew.

use serde::Serialize;

use crate::changes::GameTotals;
use crate::run_files::MatchFile;
use crate::shards::{GamesOf, ShardInfo};
use crate::store::Store;
use crate::store_error::StoreError;

/// A file that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Path in the store.
    pub path: String,
    /// What was expected and found.
    pub reason: String,
    /// Whether it is a shard that is in quarantine already and harms nobody.
    pub quarantined: bool,
}

/// The result of checking a whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Shards checked, those in quarantine included.
    pub shards: u64,
    /// Games that were replayed and agree.
    pub games: u64,
    /// Positions of these games.
    pub positions: u64,
    /// Bytes of the shards.
    pub bytes: u64,
    /// What was pruned before.
    pub pruned: GameTotals,
    /// Models whose weights have their SHA-256.
    pub models: u64,
    /// Promotions of models that exist.
    pub promotions: u64,
    /// Matches whose files can be read; those without a result are not counted.
    pub matches: u64,
    /// Checkpoints whose files have their SHA-256.
    pub checkpoints: u64,
    /// Datasets whose files have their SHA-256.
    pub datasets: u64,
    /// Everything that is wrong, ordered by path within its kind.
    pub damaged: Vec<Damage>,
    /// Files below `games/` that are no shards, and models, matches, checkpoints and datasets that were never finished:
    /// harmless remains.
    pub strangers: Vec<String>,
}

impl VerifyReport {
    /// Whether nothing is wrong but what is in quarantine already.
    pub fn is_sound(&self) -> bool {
        self.damaged.iter().all(|damage| damage.quarantined)
    }

    fn note(&mut self, path: &str, reason: String, quarantined: bool) {
        self.damaged.push(Damage {
            path: path.to_owned(),
            reason,
            quarantined,
        });
    }
}

impl Store {
    /// Checks everything in the store from scratch and changes nothing. `progress` is called after every shard with
    /// the number done and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Read`] when the store fails; what is damaged stands in the report instead.
    pub fn verify(&self, mut progress: impl FnMut(usize, usize)) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        let shards = self.list_all_shards(&GamesOf::All)?;
        let quarantined: Vec<String> = self.quarantine_notes()?.into_iter().map(|note| note.shard).collect();
        for (done, shard) in shards.iter().enumerate() {
            self.verify_shard(shard, quarantined.contains(&shard.path), &mut report)?;
            progress(done + 1, shards.len());
        }
        self.find_strangers(&shards, &mut report)?;
        self.verify_changes(&shards, &mut report)?;
        self.verify_models(&mut report)?;
        self.verify_matches(&mut report)?;
        self.verify_checkpoints(&mut report)?;
        let datasets = self.check_datasets()?;
        report.datasets = datasets.sound;
        report.strangers.extend(datasets.unfinished);
        for (path, reason) in datasets.damaged {
            report.note(&path, reason, false);
        }
        if let Err(error) = self.run_info() {
            report.note("run.json", error.to_string(), false);
        }
        Ok(report)
    }

    fn verify_shard(&self, shard: &ShardInfo, quarantined: bool, report: &mut VerifyReport) -> Result<(), StoreError> {
        report.shards += 1;
        report.bytes += shard.bytes;
        match self.inspect_shard(shard)? {
            Ok(games) => {
                report.games += games.len() as u64;
                report.positions += shard.positions();
            }
            Err(reason) => report.note(&shard.path, reason, quarantined),
        }
        Ok(())
    }

    fn find_strangers(&self, shards: &[ShardInfo], report: &mut VerifyReport) -> Result<(), StoreError> {
        let known: std::collections::BTreeSet<&str> = shards.iter().map(|shard| shard.path.as_str()).collect();
        for (path, _) in self.list("games")? {
            if !known.contains(path.as_str()) {
                report.strangers.push(path);
            }
        }
        let models = self.list_models()?;
        for folder in self.folders("models")? {
            if !models.iter().any(|model| model.id == folder) {
                report.strangers.push(format!("models/{folder}"));
            }
        }
        Ok(())
    }

    /// A merged shard holds the games of others that are deleted, an imported one was let in: both must be there.
    fn verify_changes(&self, shards: &[ShardInfo], report: &mut VerifyReport) -> Result<(), StoreError> {
        let changes = self.changes()?;
        report.pruned = changes.pruned;
        let known: std::collections::BTreeSet<&str> = shards.iter().map(|shard| shard.path.as_str()).collect();
        for path in changes.standing().filter(|path| !known.contains(path.as_str())) {
            report.note(
                path,
                "expected the games that a note in changes/ says are in this shard, found no file".to_owned(),
                false,
            );
        }
        Ok(())
    }

    fn verify_models(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        for model in self.list_models()? {
            match self.load_model(&model.id) {
                Ok(_) => report.models += 1,
                Err(error) => report.note(&format!("models/{}", model.id), error.to_string(), false),
            }
        }
        match self.promotions() {
            Err(error) => report.note("promotions", error.to_string(), false),
            Ok(promotions) => {
                for (number, promotion) in promotions {
                    match self.model_info(&promotion.model_id) {
                        Ok(_) => report.promotions += 1,
                        Err(error) => {
                            report.note(&format!("promotions/{number:06}.json"), error.to_string(), false);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn verify_matches(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        for id in self.list_matches()? {
            let path = format!("matches/{id}");
            match self.inspect_match(&id)? {
                Ok(true) => report.matches += 1,
                Ok(false) => report.strangers.push(path),
                Err((file, reason)) => report.note(&format!("{path}/{file}"), reason, false),
            }
        }
        Ok(())
    }

    /// Whether a match has a result, when all its files can be read; else which cannot and why.
    fn inspect_match(&self, id: &str) -> Result<Result<bool, (&'static str, String)>, StoreError> {
        for (file, name) in [(MatchFile::Spec, "spec.json"), (MatchFile::Result, "result.json")] {
            let bytes = self.match_file(id, file)?;
            let parsed = bytes.map(|bytes| serde_json::from_slice::<serde_json::Map<_, _>>(&bytes));
            if let Some(Err(error)) = parsed {
                return Ok(Err((name, format!("expected a JSON object, found {error}"))));
            }
        }
        if let Some(bytes) = self.match_file(id, MatchFile::Games)? {
            let text = String::from_utf8_lossy(&bytes);
            if let Err(error) = tengen_sgf::read_sgf(&text) {
                return Ok(Err(("games.sgf", error.to_string())));
            }
        }
        Ok(Ok(self.match_file(id, MatchFile::Result)?.is_some()))
    }

    fn verify_checkpoints(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        let finished = self.list_checkpoints()?;
        for name in self.folders("checkpoints")? {
            if !finished.iter().any(|step| name.parse() == Ok(*step)) {
                report.strangers.push(format!("checkpoints/{name}"));
            }
        }
        for step in finished {
            match self.load_checkpoint(step) {
                Ok(_) => report.checkpoints += 1,
                Err(error) => report.note(&format!("checkpoints/{step:09}"), error.to_string(), false),
            }
        }
        Ok(())
    }
}
