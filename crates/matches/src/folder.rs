//! A match on disk. `spec.json` is written first and describes the match, games appear in shards as they finish, and
//! `result.json` is written last.
//!
//! ```text
//! spec.json                     players and settings; written once
//! games/v1/kind=match/match=<id>/<shard>.parquet
//! notes/<utc ms>-<pid>-<n>.json what shards do not contain: reasons for losses by fault, resources spent by players
//! games.sgf, SHA256SUMS, result.json   once all games are played
//! ```
//!
//! In a run store, the files other than shards are in `matches/<id>/`. A gate keeps all its matches in one folder; the
//! games of each match have their own ids.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use tengen_evaluator::{
    EngineReport, Fault, FaultKind, FaultReport, FinishedGame, GameScore, MatchConfig, MatchResult, Player, PlayerCost,
};
use tengen_records::{GameRecord, now_ms};
use tengen_rules::Color;
use tengen_sgf::{Ruling, write_sgf, write_sgf_ruled};
use tengen_store::{
    Collection, Create, GamesOf, RunLock, ShardReadError, Store, StoreError, sealed_json, sha256_hex, unseal,
};

use crate::usage::usage;

/// Players and settings of a match: equal specs give equal games.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec(Value);

impl Spec {
    /// The spec of a match between two players, identified by their command-line text, on this device in this number
    /// format.
    pub fn new(players: [&str; 2], config: &MatchConfig, device: &str, dtype: &str) -> Spec {
        let mut settings = config.clone();
        // Defaults may change between versions, so the spec states them.
        settings.pairs_per_look = if config.sprt.is_some() || config.until_clear {
            config.look_every()
        } else {
            0
        };
        settings.max_plies = config.ply_limit();
        let mut settings = serde_json::to_value(settings).expect("settings are JSON");
        if let Some(settings) = settings.as_object_mut() {
            // The number of parallel games does not affect the games.
            settings.remove("parallel");
        }
        let book = config.openings.book.as_ref().map(|book| {
            let lines = book.lines();
            let moves: Vec<Vec<usize>> = lines
                .iter()
                .map(|line| line.iter().map(|mv| mv.index(config.size)).collect())
                .collect();
            json!({ "openings": lines.len(), "sha256": sha256_hex(json!(moves).to_string().as_bytes()) })
        });
        Spec(json!({
            "format": 1, "kind": "match", "a": players[0], "b": players[1], "match": settings, "book": book,
            "device": device, "dtype": dtype,
        }))
    }

    /// The match's id: the prefix and the start of a hash of the whole spec.
    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{}", &sha256_hex(self.0.to_string().as_bytes())[..12])
    }

    /// The differences from another spec, as text; empty if there are none.
    fn differences(&self, stored: &Value) -> String {
        let mut found = Vec::new();
        differ("", stored, &self.0, &mut found);
        found.join("; ")
    }
}

/// Collects the keys of `wanted` whose value in `stored` differs.
pub(crate) fn differ(key: &str, stored: &Value, wanted: &Value, found: &mut Vec<String>) {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => {
            for (name, value) in wanted {
                let inner = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                differ(&inner, stored.get(name).unwrap_or(&Value::Null), value, found);
            }
        }
        _ if stored == wanted => {}
        _ => found.push(format!("its {key} is {stored}, not {wanted}")),
    }
}

/// A spec as stored: with the players' names and the start time of the match.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begun {
    #[serde(flatten)]
    spec: Value,
    /// Names of player A and player B, as in their games.
    pub names: [String; 2],
    /// What was known at the start about players that are engines.
    pub engines: [Option<EngineReport>; 2],
    /// The start of the match in milliseconds since 1970-01-01 UTC.
    pub start_time_ms: i64,
}

/// What a process knew when it published a shard.
#[derive(Serialize, Deserialize)]
struct Note {
    /// Identifies the process.
    session: String,
    /// The prefix of the game ids, if it differs from the folder's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    games_of: Option<String>,
    /// What the process knew about the players.
    #[serde(flatten)]
    spent: Spent,
    /// Faults by the number of the game.
    faults: BTreeMap<usize, Fault>,
}

/// What is already stored for a match.
#[derive(Default)]
pub struct Known {
    /// The games, in no particular order.
    pub scores: Vec<GameScore>,
    /// What all processes that played them knew about the players.
    pub spent: Spent,
    /// Damaged shards and notes, a sentence for each.
    pub damaged: Vec<String>,
}

/// What one process knows about the players.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spent {
    /// The resources that A and B have spent so far.
    pub costs: [PlayerCost; 2],
    /// The engines behind A and B; earlier versions did not record them.
    #[serde(default)]
    pub engines: [Option<EngineReport>; 2],
}

impl Spent {
    /// Adds a later process's figures to these.
    pub fn then(self, later: Spent) -> Spent {
        let [costs_a, costs_b] = self.costs;
        let mut engines = self.engines.into_iter().zip(later.engines).map(|both| match both {
            (Some(earlier), Some(later)) => Some(earlier.then(later)),
            (earlier, later) => earlier.or(later),
        });
        Spent {
            costs: [costs_a + later.costs[0], costs_b + later.costs[1]],
            engines: [engines.next().flatten(), engines.next().flatten()],
        }
    }
}

/// Where a match is stored, possibly one of several that share a folder.
pub struct Folder {
    store: Store,
    /// Names the folder and the shards.
    id: String,
    /// The prefix of game ids: `<this>-<number>`.
    games_of: String,
    /// Path prefix of all files other than shards.
    top: String,
    _lock: Option<RunLock>,
}

impl Folder {
    /// A folder or address that contains only this match, either new or from an earlier call.
    pub fn alone(location: &str, id: &str) -> anyhow::Result<Folder> {
        reject_other_folders(location)?;
        let store = Store::open(location, Create::Always)?;
        let lock = match store.lock_run() {
            Err(StoreError::UnsupportedLocation { .. }) => None,
            lock => Some(lock?),
        };
        Ok(Folder {
            store,
            id: id.to_owned(),
            games_of: id.to_owned(),
            top: String::new(),
            _lock: lock,
        })
    }

    /// The number format of the match at this location, or `None` if none that can be read has begun there.
    pub fn dtype_at(location: &str) -> Option<String> {
        let store = Store::open(location, Create::Never).ok()?;
        let bytes = store.files().get("spec.json").ok()??;
        let spec: Value = serde_json::from_slice(&unseal("spec.json", &bytes).ok()?).ok()?;
        spec["dtype"].as_str().map(str::to_owned)
    }

    /// Removes the folder if the match could not be started, so that nothing is left behind.
    pub fn forget(self) -> anyhow::Result<()> {
        let begun = self.store.files().get(&self.path("spec.json"))?.is_some();
        if let (false, "", Some(folder)) = (begun, self.top.as_str(), self.store.local_path()) {
            std::fs::remove_file(folder.join("run.lock"))?;
            // If the folder has other files, they and the folder stay.
            let _ = std::fs::remove_dir(folder);
        }
        Ok(())
    }

    /// A match inside a store with other contents.
    pub fn inside(store: &Store, id: &str) -> Folder {
        Folder {
            store: store.clone(),
            id: id.to_owned(),
            games_of: id.to_owned(),
            top: format!("matches/{id}/"),
            _lock: None,
        }
    }

    /// Another match in the same folder, with game ids `<folder>-<suffix>-<number>`.
    pub(crate) fn part(&self, suffix: &str) -> Folder {
        Folder {
            store: self.store.clone(),
            id: self.id.clone(),
            games_of: format!("{}-{suffix}", self.id),
            top: self.top.clone(),
            _lock: None,
        }
    }

    /// The prefix of the ids of the match's games.
    pub fn games_of(&self) -> &str {
        &self.games_of
    }

    /// The contents of a JSON file in the folder, without the hash at its end; `None` if there is no such file.
    pub(crate) fn file(&self, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let path = self.path(name);
        let Some(bytes) = self.store.files().get(&path)? else {
            return Ok(None);
        };
        Ok(Some(unseal(&path, &bytes)?.into_owned()))
    }

    /// Writes a file in the folder unless it exists, and returns the contents it then has.
    pub(crate) fn file_or(&self, name: &str, content: &impl Serialize) -> anyhow::Result<Vec<u8>> {
        self.store.files().put_new(&self.path(name), sealed_json(content))?;
        self.file(name)?
            .with_context(|| format!("the {name} that was just written is missing"))
    }

    /// The full path or address of a file in the folder, for messages.
    pub(crate) fn place_of(&self, name: &str) -> String {
        format!("{}/{}", self.store.location(), self.path(name))
    }

    /// The match as it was started; `None` if it has not started.
    pub fn begun(&self, spec: &Spec) -> anyhow::Result<Option<Begun>> {
        let Some(bytes) = self.file("spec.json")? else {
            return Ok(None);
        };
        let begun: Begun = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} does not describe a match", self.place_of("spec.json")))?;
        let differences = spec.differences(&begun.spec);
        if differences.is_empty() {
            return Ok(Some(begun));
        }
        Err(usage(format!(
            "{} contains another match: {differences}; repeat its command to continue it, or choose a new folder",
            self.store.location()
        )))
    }

    /// Starts the match; if two processes do, the first spec counts.
    pub fn begin(&self, spec: &Spec, players: &[Box<dyn Player>; 2]) -> anyhow::Result<Begun> {
        let [a, b] = players;
        let begun = Begun {
            spec: spec.0.clone(),
            names: [a.name(), b.name()],
            engines: [a.engine(), b.engine()],
            start_time_ms: i64::try_from(now_ms()).unwrap_or(i64::MAX),
        };
        self.file_or("spec.json", &begun)?;
        self.begun(spec)?
            .context("the spec.json that was just written is missing")
    }

    /// All games of the match published so far, without those of other matches in the folder. Damaged shards are
    /// reported and skipped; their games are played again. Damaged notes are skipped too, since games do not depend on
    /// them.
    pub fn known(&self, config: &MatchConfig) -> anyhow::Result<Known> {
        let (notes, damaged) = self.notes()?;
        let mut faults: BTreeMap<usize, Fault> = BTreeMap::new();
        let mut sessions: BTreeMap<String, Spent> = BTreeMap::new();
        for note in notes.into_iter().filter(|note| self.is_own(note)) {
            faults.extend(note.faults);
            sessions.insert(note.session, note.spent);
        }
        let mut known = Known {
            scores: Vec::new(),
            spent: sessions.into_values().fold(Spent::default(), Spent::then),
            damaged,
        };
        let shards = self.each_game(|record| {
            if let Some(number) = number_of(&self.games_of, &record.game_id) {
                let game = FinishedGame::of_record(config, &self.games_of, record, faults.get(&number).cloned());
                known.scores.push(GameScore::of(&game.map_err(anyhow::Error::msg)?));
            }
            Ok(())
        })?;
        known.damaged.extend(shards);
        Ok(known)
    }

    /// Publishes games and the notes about them. The shard is written last, because games only count once it exists.
    pub fn publish(&self, part: &Part<'_>) -> anyhow::Result<()> {
        let note = Note {
            session: part.session.to_owned(),
            games_of: (self.games_of != self.id).then(|| self.games_of.clone()),
            spent: part.spent.clone(),
            faults: part.faults.clone(),
        };
        let suffix = self.games_of.strip_prefix(&self.id).unwrap_or_default();
        let name = format!("notes/{}{suffix}-{:06}.json", part.session, part.number);
        self.store.files().put_new(&self.path(&name), sealed_json(&note))?;
        let collection = Collection::Match { id: self.id.clone() };
        self.store
            .games()
            .publish_games(&collection, "match", part.number, part.games)?;
        Ok(())
    }

    /// Writes the games that count as SGF, match by match, and then the result. Returns the contents of `result.json`;
    /// an earlier result is kept.
    pub fn finish(&self, result: &impl Serialize, counted: &[Counted]) -> anyhow::Result<Vec<u8>> {
        if let Some(recorded) = self.file("result.json")? {
            return Ok(recorded);
        }
        let mut games: BTreeMap<(usize, usize), String> = BTreeMap::new();
        self.each_game(|record| {
            let place = counted.iter().enumerate().find_map(|(place, counted)| {
                let number = number_of(&counted.games_of, &record.game_id)?;
                (number < counted.end).then_some((place, number))
            });
            if let Some((place, number)) = place {
                let fault = counted[place].faults.get(&number);
                games.entry((place, number)).or_insert_with(|| match fault {
                    Some(fault) => write_sgf_ruled(&record, &ruling(&record, fault)),
                    None => write_sgf(&record),
                });
            }
            Ok(())
        })?;
        if !counted.is_empty() {
            let sgf: String = games.into_values().collect();
            let sums = format!("{}  games.sgf\n", sha256_hex(sgf.as_bytes()));
            self.store.files().put_new(&self.path("SHA256SUMS"), sums)?;
            self.store.files().put_new(&self.path("games.sgf"), sgf)?;
        }
        self.file_or("result.json", result)
    }

    /// Whether a note is about this match, rather than another one in the folder.
    fn is_own(&self, note: &Note) -> bool {
        *note.games_of.as_ref().unwrap_or(&self.id) == self.games_of
    }

    /// The notes, and a sentence about each that cannot be read.
    fn notes(&self) -> anyhow::Result<(Vec<Note>, Vec<String>)> {
        let (mut notes, mut damaged) = (Vec::new(), Vec::new());
        for (path, _) in self.store.files().list(&self.path("notes"))? {
            let bytes = self.store.files().require(&path)?;
            let note = unseal(&path, &bytes)
                .map_err(|error| error.to_string())
                .and_then(|json| serde_json::from_slice(&json).map_err(|error| format!("{path}: {error}")));
            match note {
                Ok(note) => notes.push(note),
                Err(reason) => damaged.push(format!(
                    "{reason}; the match goes on without this note: it says how games were lost by fault and what they \
                     cost"
                )),
            }
        }
        Ok((notes, damaged))
    }

    /// Visits every published game and returns a sentence about each damaged shard.
    fn each_game(&self, mut visit: impl FnMut(GameRecord) -> anyhow::Result<()>) -> anyhow::Result<Vec<String>> {
        let mut damaged = Vec::new();
        for shard in self.store.games().list_shards(&GamesOf::Match(self.id.clone()))? {
            match self.store.games().read(&shard) {
                Ok(games) => games.into_iter().try_for_each(&mut visit)?,
                Err(ShardReadError::Quarantined { shard, reason }) => {
                    damaged.push(format!("{shard} is damaged ({reason}); playing its games again"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(damaged)
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.top)
    }
}

/// Games to publish together.
pub struct Part<'a> {
    /// Identifies the process that played them.
    pub session: &'a str,
    /// Sequence number within the process.
    pub number: u64,
    /// The records of the finished games.
    pub games: &'a [GameRecord],
    /// The faults by which some of them were lost.
    pub faults: BTreeMap<usize, Fault>,
    /// What this process knows about the players.
    pub spent: Spent,
}

/// The games of a match that count toward its result.
pub struct Counted {
    games_of: String,
    /// One more than the number of the last game that counts.
    end: usize,
    /// The faults that ended games, by the number of the game.
    faults: BTreeMap<usize, FaultReport>,
}

impl Counted {
    /// The games that count toward the result of a match in this folder.
    pub fn of(folder: &Folder, result: &MatchResult) -> Counted {
        Counted {
            games_of: folder.games_of.clone(),
            end: result.game_list.last().map_or(0, |game| game.game + 1),
            faults: result
                .fault_reports
                .iter()
                .map(|report| (report.game, report.clone()))
                .collect(),
        }
    }
}

/// The referee's ruling on a game that ended by a fault of the side to move. SGF distinguishes losses on time from
/// other forfeits; records do not.
fn ruling(record: &GameRecord, report: &FaultReport) -> Ruling {
    let loser = record.mover(record.plies.len());
    let (name, winner) = match loser {
        Color::Black => (&record.black_model, 'W'),
        Color::White => (&record.white_model, 'B'),
    };
    let (fault, plies) = (&report.fault, record.plies.len());
    let (result, what) = match (report.void, fault.kind) {
        (true, _) => (
            "Void".to_owned(),
            "No result: the game does not count because of a fault by",
        ),
        (false, FaultKind::Timeout) => (format!("{winner}+T"), "Lost on time by"),
        (false, _) => (record.result_text(), "Lost by a fault of"),
    };
    Ruling {
        result,
        reason: format!("{what} {loser:?} ({name}) after {plies} plies: {}.", fault.reason),
    }
}

/// The number at the end of a game's id, if the id has this prefix.
fn number_of(games_of: &str, game_id: &str) -> Option<usize> {
    game_id.strip_prefix(games_of)?.strip_prefix('-')?.parse().ok()
}

/// Rejects a local folder that is not empty and not a match.
fn reject_other_folders(location: &str) -> anyhow::Result<()> {
    if location.trim().is_empty() {
        return Err(usage("--out needs a folder, such as data/matches/first"));
    }
    let folder = std::path::Path::new(location);
    let Ok(mut entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    if folder.join("run.json").exists() {
        return Err(usage(format!(
            "{location} is a run store; choose a separate folder for the match"
        )));
    }
    if entries.next().is_some() && !folder.join("spec.json").exists() && !folder.join("run.lock").exists() {
        return Err(usage(format!(
            "{location} already exists and is not a match; choose a new folder"
        )));
    }
    Ok(())
}
