//! A gate that is kept: the candidate's match against the champion and those against older champions share one folder
//! of a store, and its `result.json` is the verdict.
//!
//! Games are published as they finish. A gate that was stopped or killed goes on where it was and ends as it would have
//! ended without the pause.

use crate::folder::{Counted, Folder, Known, differ};
use crate::play::{Course, go_on, tell};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tengen_evaluator::{Decision, GameScore, GateConfig, GateVerdict, MatchConfig, MatchResult, Player, known_match};
use tengen_records::now_ms;
use tengen_search::SearchConfig;
use tengen_store::{MatchFile, Store};

/// What begins the name of every gate.
const PREFIX: &str = "gate-";

/// What a gate is played under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateSettings {
    /// How the candidate is judged.
    pub gate: GateConfig,
    /// The match against the champion.
    #[serde(rename = "match")]
    pub match_config: MatchConfig,
    /// The search of all players, with the visits of the gate.
    pub search: SearchConfig,
    /// The device on which the networks were asked to compute.
    pub device: String,
    /// The numbers they compute with.
    pub dtype: String,
    /// Names the configuration in every game.
    pub config_id: String,
}

/// `spec.json` of a gate. Early versions lack the search and what follows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct GateSpec {
    kind: String,
    candidate: String,
    champion: String,
    #[serde(flatten)]
    settings: GateSettings,
    /// When the gate began, milliseconds since 1970-01-01 UTC.
    start_time_ms: i64,
}

/// A candidate that wants to be champion, and what its gate needs.
pub struct GateJob<'a> {
    /// Keeps the gate.
    pub store: &'a Store,
    /// The candidate.
    pub candidate: &'a str,
    /// All champions so far, oldest first; the last is the one to be replaced.
    pub champions: &'a [String],
    /// What a new gate is played under. One that was begun goes on under the settings it began with.
    pub settings: &'a GateSettings,
    /// Whether somebody wants the gate to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Takes a sentence for people.
    pub say: &'a dyn Fn(&str),
}

/// Makes the player of a model, called by the model's name, when it is needed.
pub type MakePlayer<'a> = dyn FnMut(&str, &GateSettings) -> anyhow::Result<Box<dyn Player>> + 'a;

/// Name of the gate in which a candidate meets a champion.
pub fn gate_id(candidate: &str, champion: &str) -> String {
    format!("{PREFIX}{candidate}-vs-{champion}")
}

/// The verdict that stands on a candidate and a champion, if there is one.
///
/// # Errors
/// When the store cannot be read or holds something else in its place.
pub fn verdict_on(store: &Store, candidate: &str, champion: &str) -> anyhow::Result<Option<GateVerdict>> {
    read_verdict(store, &gate_id(candidate, champion))
}

/// All verdicts of a store, ordered by the names of their gates.
///
/// # Errors
/// As [`verdict_on`].
pub fn verdicts(store: &Store) -> anyhow::Result<Vec<GateVerdict>> {
    let mut verdicts = Vec::new();
    for id in store.matches().list()? {
        if id.starts_with(PREFIX) {
            verdicts.extend(read_verdict(store, &id)?);
        }
    }
    Ok(verdicts)
}

fn read_verdict(store: &Store, id: &str) -> anyhow::Result<Option<GateVerdict>> {
    let bytes = store.matches().get(id, MatchFile::Result)?;
    bytes.map(|bytes| parse_verdict(id, &bytes)).transpose()
}

fn parse_verdict(id: &str, bytes: &[u8]) -> anyhow::Result<GateVerdict> {
    serde_json::from_slice(bytes).with_context(|| format!("matches/{id}/result.json is no verdict of a gate"))
}

/// Settles a candidate: by the verdict that stands, else by the games that are missing. Every game, known or played
/// now, is shown through `show` with the name of the opponent, except those of matches that are known whole. `None`
/// when the gate was stopped before it could decide.
///
/// # Errors
/// When the settings cannot be, the store cannot be used, or a player cannot play at all.
pub fn settle(
    job: &GateJob<'_>,
    players: &mut MakePlayer<'_>,
    show: &mut dyn FnMut(&str, &GameScore),
) -> anyhow::Result<Option<GateVerdict>> {
    let champion = job.champions.last().context("there is no champion to meet")?;
    if let Some(verdict) = verdict_on(job.store, job.candidate, champion)? {
        return Ok(Some(verdict));
    }
    (job.say)(&format!("gate begins: {} against {champion}", job.candidate));
    let folder = Folder::inside(job.store, &gate_id(job.candidate, champion));
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

/// The spec of the gate: the one put first, completed where an early version put it.
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
    // Early versions put the visits, but not the search they belong to.
    spec.settings.search.visits = spec.settings.gate.visits;
    let (began, now) = (
        serde_json::to_value(&spec.settings)?,
        serde_json::to_value(job.settings)?,
    );
    let mut differences = Vec::new();
    differ("", &began, &now, &mut differences);
    if !differences.is_empty() {
        (job.say)(&format!(
            "the gate of {} against {champion} goes on under the settings it began with: {}",
            job.candidate,
            differences.join("; ")
        ));
    }
    Ok(spec)
}

/// A gate in progress.
struct Gate<'a, 'p> {
    job: &'a GateJob<'a>,
    spec: GateSpec,
    /// The candidate's player, once it was needed.
    candidate: Option<Box<dyn Player>>,
    players: &'a mut MakePlayer<'p>,
    show: &'a mut dyn FnMut(&str, &GameScore),
    /// The games of the matches so far.
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
        let stands = folder.finish(&verdict, &self.counted)?;
        parse_verdict(folder.games_of(), &stands).map(Some)
    }

    /// Lets a candidate that has passed meet older champions, until one of them shows that it has forgotten something.
    fn meet_older(&mut self, verdict: &mut GateVerdict, folder: &Folder) -> anyhow::Result<()> {
        let config = verdict.config.clone();
        let places = config.older_places(self.job.champions.len());
        for (number, place) in places.into_iter().enumerate() {
            if !verdict.promotes() {
                break;
            }
            let older = &self.job.champions[place];
            let match_config = config.older_config(&self.spec.settings.match_config, number);
            let result = self.meet(&folder.part(&format!("older-{older}")), &match_config, older)?;
            verdict.add_older(older.clone(), result);
        }
        Ok(())
    }

    /// One match of the gate, of which only what is missing is played.
    fn meet(&mut self, folder: &Folder, config: &MatchConfig, opponent: &str) -> anyhow::Result<MatchResult> {
        let known = folder.known(config)?;
        known.damaged.iter().for_each(|line| (self.job.say)(line));
        let names = [self.job.candidate.to_owned(), opponent.to_owned()];
        let result = match known_match(config, known.scores.clone(), names) {
            Some(mut result) => {
                tell(&mut result, known.spent);
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
        let course = Course {
            config,
            folder: Some(folder),
            config_id: &settings.config_id,
            start_time_ms: self.spec.start_time_ms,
            stop: self.job.stop,
        };
        let mut show = |score: &GameScore| (self.show)(opponent, score);
        let result = go_on(&course, known, [&mut *candidate, &mut *other], &mut show)?;
        self.candidate = Some(candidate);
        Ok(result)
    }
}
