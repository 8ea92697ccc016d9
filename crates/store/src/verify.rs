//! Verifies a whole store from scratch: every shard, model, promotion, match, checkpoint and dataset.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use tengen_model::{WEIGHTS_FILE, sha256_hex};
use tengen_records::GameRecord;

use crate::changes::GameTotals;
use crate::dataset_check::DatasetsChecked;
use crate::match_files::MatchFile;
use crate::models::info_path;
use crate::seal::has_broken_seal;
use crate::shard_info::{GamesOf, MERGED, ShardInfo};
use crate::store::Store;
use crate::store_error::StoreError;
use crate::verify_documents::{NO_KEY, wrong_documents};

/// A damaged file and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Path in the store.
    pub path: String,
    /// What was expected and found.
    pub reason: String,
    /// Whether it is a shard or a checkpoint that is already quarantined and therefore harmless.
    pub quarantined: bool,
}

/// A merged or imported shard that does not count because no note in `changes/` names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uncounted {
    /// Path in the store.
    pub path: String,
    /// The number of its games that no counting shard holds. An interrupted import leaves such games, and the next
    /// import admits them; a merge never does.
    pub unique_games: u64,
}

/// The result of checking a whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Shards checked, including quarantined ones.
    pub shards: u64,
    /// Games that replay correctly.
    pub games: u64,
    /// Positions of these games.
    pub positions: u64,
    /// Total size of the shards in bytes.
    pub bytes: u64,
    /// Totals of what was pruned earlier.
    pub pruned: GameTotals,
    /// Models whose weights match their SHA-256.
    pub models: u64,
    /// Promotions whose model exists.
    pub promotions: u64,
    /// Matches whose files are readable, not counting those without a result.
    pub matches: u64,
    /// Checkpoints whose files match their SHA-256.
    pub checkpoints: u64,
    /// Datasets whose files match their SHA-256.
    pub datasets: u64,
    /// Everything that is wrong, sorted by path within each kind.
    pub damaged: Vec<Damage>,
    /// Games whose id already occurred; ids are unique in a store.
    pub doubled_games: u64,
    /// Merged and imported shards that do not count because no note in `changes/` names them.
    pub uncounted: Vec<Uncounted>,
    /// Harmless leftovers: files under `games/` that are not shards, and unfinished models, matches, checkpoints and
    /// datasets.
    pub strangers: Vec<String>,
}

impl VerifyReport {
    /// Whether nothing is wrong except shards that are already quarantined.
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
    /// Checks everything in the store from scratch without changing anything. Calls `progress` after every shard with
    /// the number done and the total. Others may keep playing, training, merging, pruning, and importing: what they
    /// replace or delete in the meantime is not damage.
    ///
    /// # Errors
    /// [`StoreError::Read`] if the store fails; damage is listed in the report instead.
    pub fn verify(&self, progress: impl FnMut(usize, usize)) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        let (shards, checked) = self.check_shards(progress)?;
        // Another process may have quarantined what was just found.
        let notes = self.games().quarantine_notes()?;
        let quarantined: BTreeSet<String> = notes.into_iter().map(|note| note.shard).collect();
        let mut ids = BTreeMap::new();
        for shard in &shards {
            if let Some(found) = checked.get(&shard.path) {
                add_shard(shard, found, quarantined.contains(&shard.path), &mut ids, &mut report);
            }
        }
        self.verify_left_out(&ids, &mut report)?;
        self.find_leftovers(&mut report)?;
        report.strangers.extend(self.leftovers()?);
        self.verify_changes(&shards, &mut report)?;
        self.verify_models(&mut report)?;
        self.verify_matches(&mut report)?;
        self.verify_checkpoints(&quarantined, &mut report)?;
        let datasets = DatasetsChecked::of(self.files())?;
        report.datasets = datasets.sound;
        report.strangers.extend(datasets.unfinished);
        for (path, reason) in datasets.damaged {
            report.note(&path, reason, false);
        }
        for (path, reason) in wrong_documents(self.files())? {
            let is_aside = quarantined.iter().any(|folder| is_inside(&path, folder));
            report.note(&path, reason, is_aside);
        }
        Ok(report)
    }

    /// Reads and checks all shards. Returns the shards that count at the end, and what was found in those that were
    /// read. That leaves out shards published since, except those that replace others.
    fn check_shards(
        &self,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(Vec<ShardInfo>, BTreeMap<String, FoundIds>), StoreError> {
        let mut checked: BTreeMap<String, FoundIds> = BTreeMap::new();
        let mut shards = self.games().list_all(&GamesOf::All)?;
        let mut open = shards.clone();
        while !open.is_empty() {
            for (done, shard) in open.iter().enumerate() {
                if let Some(found) = self.ids_of(shard)? {
                    checked.insert(shard.path.clone(), found);
                }
                progress(done + 1, open.len());
            }
            shards = self.games().list_all(&GamesOf::All)?;
            let is_open = |shard: &&ShardInfo| shard.needs_note() && !checked.contains_key(&shard.path);
            open = shards.iter().filter(is_open).cloned().collect();
        }
        Ok((shards, checked))
    }

    /// The ids of a shard's games, or what is wrong with it; `None` if it was merged or pruned since it was listed.
    fn ids_of(&self, shard: &ShardInfo) -> Result<Option<FoundIds>, StoreError> {
        match self.games().inspect(shard) {
            Ok(found) => Ok(Some(
                found.map(|games| games.into_iter().map(|game| game.game_id).collect()),
            )),
            Err(StoreError::NotFound { .. }) if self.games().changes()?.fate(&shard.path).is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checks merged and imported shards without a note: what an interrupted command leaves, or a sign that a note is
    /// lost.
    fn verify_left_out(&self, ids: &BTreeMap<&str, &str>, report: &mut VerifyReport) -> Result<(), StoreError> {
        for shard in self.games().left_out()? {
            let found = match self.games().inspect(&shard) {
                // Its writer has deleted it.
                Err(StoreError::NotFound { .. }) => continue,
                found => found?,
            };
            let changes = self.games().changes()?;
            if !changes.leaves_out(&shard) {
                continue;
            }
            let games = match found {
                Ok(games) => games,
                Err(reason) => {
                    report.note(&shard.path, reason, false);
                    continue;
                }
            };
            let is_unique = |game: &&GameRecord| !ids.contains_key(game.game_id.as_str());
            let unique_games = games.iter().filter(is_unique).count() as u64;
            if shard.name.worker == MERGED && unique_games > 0 && !changes.dropped(shard.generation()) {
                let reason = format!(
                    "expected a note in changes/ that counts this shard, found none, and {unique_games} of its games \
                     are in no other shard: restore the missing note from a copy of the store, or run `tengen data \
                     merge STORE --yes`, which counts the shard again if all its games are missing"
                );
                report.note(&shard.path, reason, false);
            }
            let path = shard.path;
            report.uncounted.push(Uncounted { path, unique_games });
        }
        Ok(())
    }

    /// Lists the files first and then what they belong to, so that files published in between do not look like
    /// leftovers.
    fn find_leftovers(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        let files = self.files().list("games")?;
        let shards = self.games().list_all(&GamesOf::All)?;
        let known: BTreeSet<&str> = shards.iter().map(|shard| shard.path.as_str()).collect();
        for (path, _) in files {
            let is_known = known.contains(path.as_str());
            if !is_known && self.files().size_of(&path)?.is_some() {
                report.strangers.push(path);
            }
        }
        let folders = self.files().folders("models")?;
        let models = self.models().list()?;
        for folder in folders {
            if !models.iter().any(|model| model.to_string() == folder) {
                report.strangers.push(format!("models/{folder}"));
            }
        }
        Ok(())
    }

    /// Checks that merged shards, which hold the games of deleted ones, and admitted imported shards exist.
    fn verify_changes(&self, shards: &[ShardInfo], report: &mut VerifyReport) -> Result<(), StoreError> {
        let changes = self.games().changes()?;
        report.pruned = changes.pruned;
        let known: BTreeSet<&str> = shards.iter().map(|shard| shard.path.as_str()).collect();
        for path in changes.standing().filter(|path| !known.contains(path.as_str())) {
            // It may have been named, and even replaced, since the shards were listed.
            let is_missing = self.files().size_of(path)?.is_none();
            if is_missing && self.games().changes()?.fate(path).is_none() {
                let reason = "expected the shard that a note in changes/ names, found no file";
                report.note(path, reason.to_owned(), false);
            }
        }
        Ok(())
    }

    fn verify_models(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        for model in self.models().list()? {
            match self.models().load(&model) {
                Ok(model) if model.weights.all_finite() => report.models += 1,
                Ok(_) => report.note(
                    &format!("models/{model}/{WEIGHTS_FILE}"),
                    "expected finite weights, found NaN or infinity".to_owned(),
                    false,
                ),
                // Another process has pruned it.
                Err(StoreError::NotFound { .. }) if self.files().size_of(&info_path(&model))?.is_none() => {}
                Err(error) => report.note(&format!("models/{model}"), error.to_string(), false),
            }
        }
        match self.models().promotions() {
            // `wrong_documents` reports these.
            Err(StoreError::Damaged { .. }) => {}
            Err(error) => report.note("promotions", error.to_string(), false),
            Ok(promotions) => {
                for (number, promotion) in promotions {
                    match self.models().info(&promotion.model_id) {
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
        for id in self.matches().list()? {
            let path = format!("matches/{id}");
            match self.inspect_match(&id)? {
                Ok(true) => report.matches += 1,
                Ok(false) => report.strangers.push(path),
                Err((file, reason)) => report.note(&format!("{path}/{file}"), reason, false),
            }
        }
        Ok(())
    }

    /// Whether a match has a result, if all its files are readable; otherwise which file is not and why.
    fn inspect_match(&self, id: &str) -> Result<Result<bool, (&'static str, String)>, StoreError> {
        for (file, name) in [(MatchFile::Spec, "spec.json"), (MatchFile::Result, "result.json")] {
            let bytes = match self.matches().get(id, file) {
                Err(StoreError::Damaged { expected, found, .. }) => {
                    return Ok(Err((name, format!("expected {expected}, found {found}"))));
                }
                bytes => bytes?,
            };
            if bytes.as_ref().is_some_and(|bytes| has_broken_seal(bytes)) {
                return Ok(Err((name, NO_KEY.to_owned())));
            }
            let parsed = bytes.map(|bytes| serde_json::from_slice::<serde_json::Map<_, _>>(&bytes));
            if let Some(Err(error)) = parsed {
                return Ok(Err((name, format!("expected a JSON object, found {error}"))));
            }
        }
        if let Some(bytes) = self.matches().get(id, MatchFile::Games)? {
            let found = sha256_hex(&bytes);
            if let Some(sums) = self.matches().get(id, MatchFile::Sums)?
                && !sums.starts_with(found.as_bytes())
            {
                let reason = format!("expected the SHA-256 in SHA256SUMS, found {found}");
                return Ok(Err(("games.sgf", reason)));
            }
            let text = String::from_utf8_lossy(&bytes);
            if let Err(error) = tengen_sgf::read_sgf(&text) {
                return Ok(Err(("games.sgf", error.to_string())));
            }
        }
        Ok(Ok(self.matches().get(id, MatchFile::Result)?.is_some()))
    }

    fn verify_checkpoints(&self, quarantined: &BTreeSet<String>, report: &mut VerifyReport) -> Result<(), StoreError> {
        let folders = self.files().folders("checkpoints")?;
        let finished = self.checkpoints().finished()?;
        for name in folders {
            if !finished.iter().any(|step| name.parse() == Ok(*step)) {
                report.strangers.push(format!("checkpoints/{name}"));
            }
        }
        for step in finished {
            let path = format!("checkpoints/{step:09}");
            match self.checkpoints().inspect(step)? {
                Some(Ok(())) => report.checkpoints += 1,
                Some(Err(reason)) => report.note(&path, reason, quarantined.contains(&path)),
                None => {}
            }
        }
        Ok(())
    }
}

/// The ids of a shard's games, or what is wrong with the shard.
type FoundIds = Result<Vec<String>, String>;

/// Adds to the report what was found in a shard. `ids` are those of earlier shards, with the shard of each.
fn add_shard<'a>(
    shard: &'a ShardInfo,
    found: &'a FoundIds,
    quarantined: bool,
    ids: &mut BTreeMap<&'a str, &'a str>,
    report: &mut VerifyReport,
) {
    report.shards += 1;
    report.bytes += shard.bytes;
    let games = match found {
        Ok(games) => games,
        Err(reason) => return report.note(&shard.path, reason.clone(), quarantined),
    };
    report.games += games.len() as u64;
    report.positions += shard.positions();
    let mut doubled = Vec::new();
    for game in games {
        match ids.get(game.as_str()) {
            Some(first) => doubled.push((game, *first)),
            None => drop(ids.insert(game, &shard.path)),
        }
    }
    if let Some((game, first)) = doubled.first() {
        report.doubled_games += doubled.len() as u64;
        let reason = format!(
            "expected games that no earlier shard holds, found {}, such as {game}, which is in {first}; `tengen data \
             merge STORE --into NEW` makes a store with every game once",
            doubled.len()
        );
        report.note(&shard.path, reason, quarantined);
    }
}

/// Whether a file is in this folder.
fn is_inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
