//! Converts many external games into shards of a store and reports what happened to each.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use tengen_records::GameRecord;
use tengen_sgf::{SgfError, SgfGames, SgfText, no_game};
use tengen_store::{Admission, Collection, Store, StoreError};

use crate::game::{ImportRules, Imported, Refusal, import_game, origin_of};
use crate::sources::SgfSource;

/// Maximum number of games in one shard.
const SHARD_GAMES: usize = 2048;

/// Number of plies after which a shard is closed.
const SHARD_PLIES: usize = 500_000;

/// Maximum number of rejected games that are listed; the others are counted.
pub const MAX_REJECTIONS: usize = 100_000;

/// A game that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The file; for an archive, including the name inside it.
    pub file: String,
    /// Number of the game in the file, counted from 1; 0 if the file contains no game.
    pub game: u32,
    /// Number of the turn with the problem, counted from 1, if the problem concerns a turn.
    pub turn: Option<usize>,
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Name of the broken rule; `broken` for a game that cannot be parsed.
    pub rule: &'static str,
    /// What was expected and found.
    pub reason: String,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportReport {
    /// Files read, counting each file in an archive.
    pub files: u64,
    /// Files in which bytes had to be replaced because no encoding fits them.
    pub damaged_texts: u64,
    /// Games found, including broken ones.
    pub games: u64,
    /// Games kept: published or, in a dry run, valid.
    pub kept: u64,
    /// Positions of the kept games.
    pub positions: u64,
    /// Games that are already in the store or occurred twice.
    pub duplicates: u64,
    /// Games and files that cannot be parsed.
    pub broken: u64,
    /// Files whose rest was not read after a broken game, with the reason.
    pub unread: Vec<String>,
    /// Games that break a rule.
    pub illegal: u64,
    /// Games that break a rule, by rule.
    pub illegal_by_rule: BTreeMap<&'static str, u64>,
    /// Kept games by how their result under the rules compares with the file's claim.
    pub results: BTreeMap<&'static str, u64>,
    /// Passes inserted for turns missing from files.
    pub added_passes: u64,
    /// Passes dropped because they come after the end of a game.
    pub dropped_passes: u64,
    /// Paths of the published shards.
    pub shards: Vec<String>,
    /// The rejected games, in file order; at most [`MAX_REJECTIONS`].
    #[serde(skip)]
    pub rejections: Vec<Rejection>,
    /// Rejected games beyond those listed.
    pub unlisted: u64,
}

/// The games of a file that are legal under the rules, in order, and the number of those that are not or cannot be
/// read.
pub fn legal_games(source: &SgfSource, how: &ImportRules) -> (Vec<GameRecord>, u64) {
    let decoded = SgfText::decode(&source.bytes);
    let (mut games, mut rejected) = (Vec::new(), 0);
    for (game, number) in SgfGames::new(&decoded.text).zip(1..) {
        let imported = game.map_err(Refusal::broken).and_then(|game| {
            let origin = origin_of(&game, &source.name, number);
            import_game(&game, origin, how)
        });
        match imported {
            Ok(imported) => games.push(imported.record),
            Err(_) => rejected += 1,
        }
    }
    (games, rejected)
}

/// Imports external games and publishes those that are legal.
pub struct Importer {
    /// The games of the store; `None` without a store.
    admission: Option<Admission>,
    /// Whether games are published, and whether that has started.
    writing: Writing,
    collection: Collection,
    how: ImportRules,
    waiting: Vec<Imported>,
    waiting_ids: HashSet<String>,
    waiting_plies: usize,
    report: ImportReport,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Never,
    /// Leftovers of killed imports must be resolved first.
    NotYet,
    Begun,
}

impl Importer {
    /// Creates an importer into the collection `name` of a store; without a store, it does everything except
    /// publishing.
    ///
    /// # Errors
    /// [`StoreError`] if the ids of the games imported earlier cannot be read, or the name cannot be part of a path.
    pub fn new(store: Option<&Store>, name: &str, how: ImportRules) -> Result<Importer, StoreError> {
        tengen_store::check_name("import name", name)?;
        Ok(Importer {
            admission: store.map(Admission::new).transpose()?,
            writing: match store {
                Some(_) => Writing::NotYet,
                None => Writing::Never,
            },
            collection: Collection::Import { name: name.to_owned() },
            how,
            waiting: Vec::new(),
            waiting_ids: HashSet::new(),
            waiting_plies: 0,
            report: ImportReport::default(),
        })
    }

    /// Turns off publishing; games are still compared with those in the store.
    pub fn without_writing(self) -> Importer {
        Importer {
            writing: Writing::Never,
            ..self
        }
    }

    /// What has been imported and rejected so far.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    /// Imports the games of a file; `progress` receives the bytes of text read so far and may stop the import by
    /// returning `false`.
    ///
    /// # Errors
    /// [`StoreError`] if a shard cannot be published. What was published before stays.
    pub fn take(&mut self, source: &SgfSource, mut progress: impl FnMut(usize) -> bool) -> Result<(), StoreError> {
        self.begin()?;
        self.report.files += 1;
        let decoded = SgfText::decode(&source.bytes);
        self.report.damaged_texts += u64::from(decoded.is_damaged);
        let mut games = SgfGames::new(&decoded.text);
        let mut number = 0;
        while let Some(game) = games.next() {
            number += 1;
            self.report.games += 1;
            let imported = game.map_err(Refusal::broken).and_then(|game| {
                let origin = origin_of(&game, &source.name, number);
                import_game(&game, origin, &self.how)
            });
            match imported {
                Ok(imported) => self.keep(imported)?,
                Err(refusal) => self.reject(source, number, refusal),
            }
            if !progress(games.bytes_read()) {
                return Ok(());
            }
        }
        if number == 0 {
            self.reject(source, 0, Refusal::broken(no_game(&decoded.text)));
        }
        if let Some(error) = games.unread() {
            self.report.unread.push(format!("{}, {error}", source.name));
        }
        Ok(())
    }

    /// Publishes the remaining games and returns the report.
    ///
    /// # Errors
    /// [`StoreError`] if the last shard cannot be published.
    pub fn finish(mut self) -> Result<ImportReport, StoreError> {
        self.publish()?;
        Ok(self.report)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if let (Writing::NotYet, Some(admission)) = (self.writing, &mut self.admission) {
            admission.resolve_strays()?;
            self.writing = Writing::Begun;
        }
        Ok(())
    }

    fn keep(&mut self, imported: Imported) -> Result<(), StoreError> {
        let game_id = &imported.record.game_id;
        let is_known = self
            .admission
            .as_ref()
            .is_some_and(|admission| admission.knows(game_id));
        if is_known || !self.waiting_ids.insert(game_id.clone()) {
            self.report.duplicates += 1;
            return Ok(());
        }
        self.waiting_plies += imported.record.plies.len();
        self.waiting.push(imported);
        match self.waiting.len() >= SHARD_GAMES || self.waiting_plies >= SHARD_PLIES {
            true => self.publish(),
            false => Ok(()),
        }
    }

    /// Publishes and counts the waiting games, except those that another import added in the meantime.
    fn publish(&mut self) -> Result<(), StoreError> {
        let mut labels = HashMap::new();
        let mut games = Vec::new();
        for imported in self.waiting.drain(..) {
            let passes = (imported.added_passes, imported.dropped_passes);
            labels.insert(imported.record.game_id.clone(), (imported.comparison, passes));
            games.push(imported.record);
        }
        self.waiting_plies = 0;
        if let (Writing::Begun, Some(admission)) = (self.writing, &mut self.admission) {
            self.waiting_ids.clear();
            let sequence = self.report.shards.len() as u64;
            let shard = admission.admit(&self.collection, sequence, &mut games)?;
            self.report.shards.extend(shard.map(|shard| shard.path));
        }
        let report = &mut self.report;
        report.kept += games.len() as u64;
        report.duplicates += (labels.len() - games.len()) as u64;
        for game in &games {
            let (comparison, (added, dropped)) = labels[&game.game_id];
            report.positions += game.plies.len() as u64;
            report.added_passes += added;
            report.dropped_passes += dropped;
            *report.results.entry(comparison.name()).or_default() += 1;
        }
        Ok(())
    }

    fn reject(&mut self, source: &SgfSource, game: u32, refusal: Refusal) {
        let Refusal { rule, error } = refusal;
        match rule {
            "broken" => self.report.broken += 1,
            _ => {
                self.report.illegal += 1;
                *self.report.illegal_by_rule.entry(rule).or_default() += 1;
            }
        }
        if self.report.rejections.len() >= MAX_REJECTIONS {
            self.report.unlisted += 1;
            return;
        }
        let SgfError {
            line,
            column,
            problem,
            turn,
        } = error;
        self.report.rejections.push(Rejection {
            file: source.name.clone(),
            game,
            turn,
            line,
            column,
            rule,
            reason: problem,
        });
    }
}
