//! A match on disk. Games appear in shards as they finish; `spec.json` says first what is played, `result.json` comes
//! last.
//!
//! ```text
//! spec.json                     who plays, under which settings; put once
//! games/v1/kind=match/match=<id>/<shard>.parquet
//! notes/<utc ms>-<pid>-<n>.json what shards do not hold: how games were lost by a fault, what the players spent
//! games.sgf, result.json        once all games are played
//! ```
//!
//! In a run store the files other than shards lie below `matches/<id>/`.

use crate::usage::usage;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tengen_evaluator::{EngineReport, Fault, FinishedGame, GameScore, MatchConfig, MatchResult, Player, PlayerCost};
use tengen_records::{GameRecord, now_ms};
use tengen_sgf::write_sgf;
use tengen_store::{Collection, Create, GamesOf, RunLock, ShardReadError, Store, StoreError, sha256_hex};

/// Who plays, and how: equal specs have equal games.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec(Value);

impl Spec {
    /// The match of two players, named as they were asked for, under these settings, on this device with numbers of
    /// this type.
    pub fn new(players: [&str; 2], config: &MatchConfig, device: &str, dtype: &str) -> Spec {
        let mut settings = config.clone();
        // What is the usual value today may be another one tomorrow.
        settings.pairs_per_look = if config.sprt.is_some() || config.until_clear {
            config.look_every()
        } else {
            0
        };
        settings.max_plies = config.ply_limit();
        let mut settings = serde_json::to_value(settings).expect("settings are JSON");
        if let Some(settings) = settings.as_object_mut() {
            // How many games are played side by side changes none of them.
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

    /// The name of the match: the beginning of a hash over all of it.
    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{}", &sha256_hex(self.0.to_string().as_bytes())[..12])
    }

    /// What differs from another spec, in words; empty when nothing does.
    fn differences(&self, stored: &Value) -> String {
        let mut found = Vec::new();
        differ("", stored, &self.0, &mut found);
        found.join("; ")
    }
}

/// Collects the keys of `wanted` that `stored` has otherwise.
fn differ(key: &str, stored: &Value, wanted: &Value, found: &mut Vec<String>) {
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

/// A spec as it was put: with the names of the players and when the match began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begun {
    #[serde(flatten)]
    spec: Value,
    /// Names of player A and player B as their games call them.
    pub names: [String; 2],
    /// What was known of them then, where they are engines.
    pub engines: [Option<EngineReport>; 2],
    /// When the match began, milliseconds since 1970-01-01 UTC.
    pub start_time_ms: i64,
}

/// What one process knew when it published a shard.
#[derive(Serialize, Deserialize)]
struct Note {
    /// Names the process.
    session: String,
    /// What it knew of the players.
    #[serde(flatten)]
    spent: Spent,
    /// Faults by number of the game.
    faults: BTreeMap<usize, Fault>,
}

/// What is known of a match that was begun.
#[derive(Default)]
pub struct Known {
    /// The games, in no order.
    pub scores: Vec<GameScore>,
    /// What all processes that played them knew of the players.
    pub spent: Spent,
    /// Shards that are damaged, a sentence for each.
    pub damaged: Vec<String>,
}

/// What is known of the players in one process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spent {
    /// What A and B have spent so far.
    pub costs: [PlayerCost; 2],
    /// The engines behind A and B; earlier versions did not note them.
    #[serde(default)]
    pub engines: [Option<EngineReport>; 2],
}

impl Spent {
    /// Both processes together, this one the earlier.
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

/// The place of one match.
pub struct Folder {
    store: Store,
    id: String,
    /// Prefix of all files but shards.
    top: String,
    _lock: Option<RunLock>,
}

impl Folder {
    /// A folder or address that holds this match and nothing else, new or from an earlier call.
    pub fn alone(location: &str, id: &str) -> anyhow::Result<Folder> {
        refuse_strangers(location)?;
        let store = Store::open(location, Create::Always)?;
        let lock = match store.lock_run() {
            Err(StoreError::UnsupportedLocation { .. }) => None,
            lock => Some(lock?),
        };
        Ok(Folder {
            store,
            id: id.to_owned(),
            top: String::new(),
            _lock: lock,
        })
    }

    /// Removes a folder in which no match was begun, so that nothing is left of one that could not be.
    pub fn forget(self) -> anyhow::Result<()> {
        let begun = self.store.get(&self.path("spec.json"))?.is_some();
        if let (false, "", Some(folder)) = (begun, self.top.as_str(), self.store.local_path()) {
            std::fs::remove_file(folder.join("run.lock"))?;
            // What somebody else put there stays, and the folder with it.
            let _ = std::fs::remove_dir(folder);
        }
        Ok(())
    }

    /// A match inside a store that holds other things too.
    pub fn inside(store: &Store, id: &str) -> Folder {
        Folder {
            store: store.clone(),
            id: id.to_owned(),
            top: format!("matches/{id}/"),
            _lock: None,
        }
    }

    /// Name of the match.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The match as it was begun; `None` when it was not.
    pub fn begun(&self, spec: &Spec) -> anyhow::Result<Option<Begun>> {
        let Some(bytes) = self.store.get(&self.path("spec.json"))? else {
            return Ok(None);
        };
        let place = || format!("{}/{}", self.store.location(), self.path("spec.json"));
        let begun: Begun =
            serde_json::from_slice(&bytes).with_context(|| format!("{} does not describe a match", place()))?;
        let differences = spec.differences(&begun.spec);
        if differences.is_empty() {
            return Ok(Some(begun));
        }
        Err(usage(format!(
            "{} holds another match: {differences}; repeat its command to continue it, or name a new folder",
            self.store.location()
        )))
    }

    /// Begins the match; the first spec put counts.
    pub fn begin(&self, spec: &Spec, players: &[Box<dyn Player>; 2]) -> anyhow::Result<Begun> {
        let [a, b] = players;
        let begun = Begun {
            spec: spec.0.clone(),
            names: [a.name(), b.name()],
            engines: [a.engine(), b.engine()],
            start_time_ms: i64::try_from(now_ms()).unwrap_or(i64::MAX),
        };
        self.store
            .put_new(&self.path("spec.json"), serde_json::to_vec_pretty(&begun)?)?;
        self.begun(spec)?
            .context("spec.json was written a moment ago and is gone")
    }

    /// All games published so far. Damaged shards are named and passed over: their games are played again.
    pub fn known(&self, config: &MatchConfig) -> anyhow::Result<Known> {
        let notes = self.notes()?;
        let mut faults: BTreeMap<usize, Fault> = BTreeMap::new();
        let mut sessions: BTreeMap<String, Spent> = BTreeMap::new();
        for note in notes {
            faults.extend(note.faults);
            sessions.insert(note.session, note.spent);
        }
        let mut known = Known {
            scores: Vec::new(),
            spent: sessions.into_values().fold(Spent::default(), Spent::then),
            damaged: Vec::new(),
        };
        known.damaged = self.each_game(|record| {
            let number = number_of(&record.game_id);
            let game = FinishedGame::of_record(config, &self.id, record, number.and_then(|n| faults.get(&n).cloned()));
            known.scores.push(GameScore::of(&game.map_err(anyhow::Error::msg)?));
            Ok(())
        })?;
        Ok(known)
    }

    /// Publishes games with what shards do not hold of them. The shard comes last: only then the games are played.
    pub fn publish(&self, part: &Part<'_>) -> anyhow::Result<()> {
        let note = Note {
            session: part.session.to_owned(),
            spent: part.spent.clone(),
            faults: part.faults.clone(),
        };
        let name = format!("notes/{}-{:06}.json", part.session, part.number);
        self.store.put_new(&self.path(&name), serde_json::to_vec(&note)?)?;
        let collection = Collection::Match { id: self.id.clone() };
        self.store
            .publish_games(&collection, "match", part.number, part.games)?;
        Ok(())
    }

    /// Writes all games as SGF and then the result.
    pub fn finish(&self, result: &MatchResult) -> anyhow::Result<()> {
        if self.store.get(&self.path("result.json"))?.is_some() {
            return Ok(());
        }
        let counted = result.game_list.last().map_or(0, |game| game.game + 1);
        let mut games: BTreeMap<usize, String> = BTreeMap::new();
        self.each_game(|record| {
            if let Some(number) = number_of(&record.game_id).filter(|number| *number < counted) {
                games.entry(number).or_insert_with(|| write_sgf(&record));
            }
            Ok(())
        })?;
        let sgf: String = games.into_values().collect();
        self.store.put_new(&self.path("games.sgf"), sgf)?;
        self.store
            .put_new(&self.path("result.json"), serde_json::to_vec_pretty(result)?)?;
        Ok(())
    }

    fn notes(&self) -> anyhow::Result<Vec<Note>> {
        let mut notes = Vec::new();
        for (path, _) in self.store.list(&self.path("notes"))? {
            let bytes = self.store.require(&path)?;
            notes.push(serde_json::from_slice(&bytes).with_context(|| format!("{path} is no note of a match"))?);
        }
        Ok(notes)
    }

    /// Visits every published game and returns what is damaged, a sentence for each shard.
    fn each_game(&self, mut visit: impl FnMut(GameRecord) -> anyhow::Result<()>) -> anyhow::Result<Vec<String>> {
        let mut damaged = Vec::new();
        for shard in self.store.list_shards(&GamesOf::Match(self.id.clone()))? {
            match self.store.read_shard(&shard) {
                Ok(games) => games.into_iter().try_for_each(&mut visit)?,
                Err(ShardReadError::Quarantined { shard, reason }) => {
                    damaged.push(format!("{shard} is damaged ({reason}): its games are played again"));
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

/// Games to be published together.
pub struct Part<'a> {
    /// Names the process that played them.
    pub session: &'a str,
    /// Counts the parts of the process.
    pub number: u64,
    /// The games.
    pub games: &'a [GameRecord],
    /// How some of them were lost by a fault.
    pub faults: BTreeMap<usize, Fault>,
    /// What this process knows of the players.
    pub spent: Spent,
}

/// The number at the end of a game's name.
fn number_of(game_id: &str) -> Option<usize> {
    game_id.rsplit_once('-')?.1.parse().ok()
}

/// Refuses a local folder that has something in it but no match.
fn refuse_strangers(location: &str) -> anyhow::Result<()> {
    if location.trim().is_empty() {
        return Err(usage("--out names no folder: give one such as data/matches/first"));
    }
    let folder = std::path::Path::new(location);
    let Ok(mut entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    if folder.join("run.json").exists() {
        return Err(usage(format!(
            "{location} is a run store; name a folder of its own for the match"
        )));
    }
    if entries.next().is_some() && !folder.join("spec.json").exists() && !folder.join("run.lock").exists() {
        return Err(usage(format!(
            "{location} exists already and holds no match; name a new folder for it"
        )));
    }
    Ok(())
}
