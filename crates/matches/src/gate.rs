//! The gate: the candidate's matches against the champion and older champions share one folder of a store, and its
//! `result.json` is the verdict.
//!
//! Games are published as they finish. A gate that was stopped or killed resumes where it left off and ends as it would
//! have without the interruption.

use anyhow::{Context, bail};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use tengen_evaluator::{Decision, GameScore, GateConfig, GateVerdict, MatchConfig, MatchResult, Player, known_match};
use tengen_records::now_ms;
use tengen_search::SearchConfig;
use tengen_store::{MatchFile, Store, StoreError, has_known_keys};

use crate::folder::{Counted, Folder, Known, differ};
use crate::play::{MatchRun, play_missing, set_spent};

/// The prefix of every gate's id.
const PREFIX: &str = "gate-";

/// The settings of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateSettings {
    /// The number of games, the tests and the conditions for promotion.
    pub gate: GateConfig,
    /// The match against the champion.
    #[serde(rename = "match")]
    pub match_config: MatchConfig,
    /// The search of all players, with the gate's number of visits.
    pub search: SearchConfig,
    /// The device that networks run on, such as `cpu` or `cuda:0`.
    pub device: String,
    /// The number format that networks run with, such as `fp32`.
    pub dtype: String,
    /// Identifies the configuration in every game.
    pub config_id: String,
}

/// `spec.json` of a gate. Early versions did not write the search and the fields after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct GateSpec {
    kind: String,
    candidate: String,
    champion: String,
    #[serde(flatten)]
    settings: GateSettings,
    /// The start of the gate in milliseconds since 1970-01-01 UTC.
    start_time_ms: i64,
}

/// A gate to play or to complete.
pub struct GateJob<'a> {
    /// The store that the gate is published to.
    pub store: &'a Store,
    /// The id of the model that may become champion.
    pub candidate: &'a str,
    /// The ids of all champions so far, oldest first; the last is the current champion.
    pub champions: &'a [String],
    /// The settings of a new gate. A gate that has already started keeps its original settings.
    pub settings: &'a GateSettings,
    /// Returns whether the gate should stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives messages for the user.
    pub say: &'a dyn Fn(&str),
}

/// Creates the player for a model id when it is needed.
pub type MakePlayer<'a> = dyn FnMut(&str, &GateSettings) -> anyhow::Result<Box<dyn Player>> + 'a;

/// The id of the gate between a candidate and a champion.
pub fn gate_id(candidate: &str, champion: &str) -> String {
    format!("{PREFIX}{candidate}-vs-{champion}")
}

/// The recorded verdict of the gate between a candidate and a champion, if there is one. A damaged result counts as
/// missing: [`settle`] decides again.
///
/// # Errors
/// If the store cannot be read, or if the gate's result is intact but not a verdict.
pub fn verdict_on(store: &Store, candidate: &str, champion: &str) -> anyhow::Result<Option<GateVerdict>> {
    let id = gate_id(candidate, champion);
    match intact_result(store, &id)? {
        Ok(Some(bytes)) => parse_verdict(&id, &bytes).map(Some),
        Ok(None) | Err(_) => Ok(None),
    }
}

/// The verdicts that a store records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// All that can be read, ordered by the ids of their gates.
    pub verdicts: Vec<GateVerdict>,
    /// A sentence about each result that cannot be read, with its path.
    pub left_out: Vec<String>,
}

/// All recorded verdicts of a store. Unreadable ones are left out, since only counts and ratings depend on old
/// verdicts.
///
/// # Errors
/// If the store cannot be read.
pub fn verdicts(store: &Store) -> anyhow::Result<Verdicts> {
    let mut found = Verdicts::default();
    let ids = store.matches().list()?;
    for id in ids.iter().filter(|id| id.starts_with(PREFIX)) {
        match intact_result(store, id)?.map(|bytes| bytes.map(|bytes| parse_verdict(id, &bytes)).transpose()) {
            Ok(Ok(verdict)) => found.verdicts.extend(verdict),
            Ok(Err(error)) => found.left_out.push(format!("{error:#}; it is left out")),
            Err(damage) => found.left_out.push(format!("{damage}; it is left out")),
        }
    }
    Ok(found)
}

/// The unreadable results of matches and gates in a store: their paths and what is wrong with them.
///
/// # Errors
/// If the store cannot be read.
pub fn wrong_results(store: &Store) -> anyhow::Result<Vec<(String, String)>> {
    let mut wrong = Vec::new();
    for id in store.matches().list()? {
        let bytes = match store.matches().get(&id, MatchFile::Result) {
            // The check of the store's files reports these.
            Ok(None) | Err(StoreError::Damaged { .. }) => continue,
            Ok(Some(bytes)) => bytes,
            Err(error) => return Err(error.into()),
        };
        let path = format!("matches/{id}/result.json");
        let checked = match id.starts_with(PREFIX) {
            true => has_known_keys::<GateVerdict>(&path, &bytes),
            false => has_known_keys::<MatchResult>(&path, &bytes),
        };
        wrong.extend(checked.err().map(|reason| (path, reason)));
    }
    Ok(wrong)
}

/// The result of a gate, if there is one, or what is wrong with the file: its hash does not match, or it is not JSON.
fn intact_result(store: &Store, id: &str) -> Result<Result<Option<Bytes>, String>, StoreError> {
    match store.matches().get(id, MatchFile::Result) {
        Ok(Some(bytes)) => Ok(match serde_json::from_slice::<Map<String, Value>>(&bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) => Err(format!(
                "matches/{id}/result.json: expected a JSON object, found {error}"
            )),
        }),
        Err(error) if error.is_damage() => Ok(Err(error.to_string())),
        result => result.map(Ok),
    }
}

fn parse_verdict(id: &str, bytes: &[u8]) -> anyhow::Result<GateVerdict> {
    serde_json::from_slice(bytes).with_context(|| format!("matches/{id}/result.json is not the verdict of a gate"))
}

/// Decides on a candidate: by the recorded verdict, otherwise by playing the missing games. Calls `show` with the
/// opponent's id for every game, loaded or played, except those of matches that are already complete. `None` if the
/// gate was stopped before it could decide.
///
/// # Errors
/// If the settings are invalid, the store cannot be used, or a player cannot play at all.
pub fn settle(
    job: &GateJob<'_>,
    players: &mut MakePlayer<'_>,
    show: &mut dyn FnMut(&str, &GameScore),
) -> anyhow::Result<Option<GateVerdict>> {
    let champion = job.champions.last().context("there is no champion to play against")?;
    if let Some(verdict) = verdict_on(job.store, job.candidate, champion)? {
        return Ok(Some(verdict));
    }
    let id = gate_id(job.candidate, champion);
    if let Err(damage) = intact_result(job.store, &id)? {
        (job.say)(&format!("{damage}; deciding again by the games of the gate"));
        job.store.files().set_aside(&format!("matches/{id}/result.json"))?;
    }
    (job.say)(&format!("gate begins: {} against {champion}", job.candidate));
    let folder = Folder::inside(job.store, &id);
    let spec = begin(job, champion, &folder)?;
    let mut gate = Gate {
        job,
        spec,
        candidate: None,
        players,
        show,
        counted: Vec::new(),
    };
    gate.settle(&folder)
}

/// The spec of the gate: the first one written, completed if an early version wrote it.
fn begin(job: &GateJob<'_>, champion: &str, folder: &Folder) -> anyhow::Result<GateSpec> {
    let wanted = GateSpec {
        kind: "gate".to_owned(),
        candidate: job.candidate.to_owned(),
        champion: champion.to_owned(),
        settings: job.settings.clone(),
        start_time_ms: i64::try_from(now_ms()).unwrap_or(i64::MAX),
    };
    job.settings.gate.validate().map_err(anyhow::Error::msg)?;
    let place = || format!("{} does not describe a gate", folder.place_of("spec.json"));
    let stored: Value = serde_json::from_slice(&folder.file_or("spec.json", &wanted)?).with_context(place)?;
    let mut whole = serde_json::to_value(&wanted)?;
    match (&mut whole, stored) {
        (Value::Object(whole), Value::Object(stored)) => whole.extend(stored),
        _ => bail!(place()),
    }
    let mut spec: GateSpec = serde_json::from_value(whole).with_context(place)?;
    // Early versions wrote the visits, but not the rest of the search settings.
    spec.settings.search.visits = spec.settings.gate.visits;
    let (began, now) = (
        serde_json::to_value(&spec.settings)?,
        serde_json::to_value(job.settings)?,
    );
    let mut differences = Vec::new();
    differ("", &began, &now, &mut differences);
    if !differences.is_empty() {
        (job.say)(&format!(
            "the gate of {} against {champion} continues with its original settings: {}",
            job.candidate,
            differences.join("; ")
        ));
    }
    Ok(spec)
}

/// Whether an error is caused by a damaged file.
fn is_damage(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(StoreError::is_damage)
}

struct Gate<'a, 'p> {
    job: &'a GateJob<'a>,
    spec: GateSpec,
    /// The candidate's player, created on first use.
    candidate: Option<Box<dyn Player>>,
    players: &'a mut MakePlayer<'p>,
    show: &'a mut dyn FnMut(&str, &GameScore),
    /// The games of the matches played so far.
    counted: Vec<Counted>,
}

impl Gate<'_, '_> {
    fn settle(&mut self, folder: &Folder) -> anyhow::Result<Option<GateVerdict>> {
        let config = self.spec.settings.gate.clone();
        let champion = self.spec.champion.clone();
        let result = match config.always_promote {
            true => None,
            false => {
                let match_config = self.spec.settings.match_config.clone();
                Some(self.meet(folder, &match_config, &champion)?)
            }
        };
        let mut verdict = GateVerdict::of(&config, self.job.candidate, &champion, result);
        if verdict.result.is_some() {
            self.meet_older(&mut verdict, folder)?;
        }
        if verdict.decision == Decision::Undecided {
            return Ok(None);
        }
        let recorded = folder.finish(&verdict, &self.counted)?;
        parse_verdict(folder.games_of(), &recorded).map(Some)
    }

    /// Has a candidate that beat the champion play older champions, until one of them proves stronger.
    fn meet_older(&mut self, verdict: &mut GateVerdict, folder: &Folder) -> anyhow::Result<()> {
        let config = verdict.config.clone();
        let places = config.older_places(self.job.champions.len());
        for (number, place) in places.into_iter().enumerate() {
            if !verdict.promotes() {
                break;
            }
            let older = &self.job.champions[place];
            let match_config = config.older_config(&self.spec.settings.match_config, number);
            match self.meet(&folder.part(&format!("older-{older}")), &match_config, older) {
                Ok(result) => verdict.add_older(older.clone(), result),
                Err(error) if is_damage(&error) => {
                    (self.job.say)(&format!(
                        "the gate goes on without the older champion {older}: {error:#}"
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Plays the missing games of one match.
    fn meet(&mut self, folder: &Folder, config: &MatchConfig, opponent: &str) -> anyhow::Result<MatchResult> {
        let known = folder.known(config)?;
        known.damaged.iter().for_each(|line| (self.job.say)(line));
        let names = [self.job.candidate.to_owned(), opponent.to_owned()];
        let result = match known_match(config, known.scores.clone(), names) {
            Some(mut result) => {
                set_spent(&mut result, known.spent);
                result
            }
            None => self.play(folder, config, opponent, known)?,
        };
        self.counted.push(Counted::of(folder, &result));
        Ok(result)
    }

    fn play(
        &mut self,
        folder: &Folder,
        config: &MatchConfig,
        opponent: &str,
        known: Known,
    ) -> anyhow::Result<MatchResult> {
        let settings = &self.spec.settings;
        let mut candidate = match self.candidate.take() {
            Some(candidate) => candidate,
            None => (self.players)(self.job.candidate, settings)?,
        };
        let mut other = (self.players)(opponent, settings)?;
        let run = MatchRun {
            config,
            folder: Some(folder),
            config_id: &settings.config_id,
            start_time_ms: self.spec.start_time_ms,
            stop: self.job.stop,
        };
        let mut show = |score: &GameScore| (self.show)(opponent, score);
        let result = play_missing(&run, known, [&mut *candidate, &mut *other], &mut show)?;
        self.candidate = Some(candidate);
        Ok(result)
    }
}
