//! How do many foreign games become shards of a store, and what is said of those that do not?

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use tengen_sgf::{SgfError, SgfGames, SgfText, no_game};
use tengen_store::{Admission, Collection, Store, StoreError};

use super::game::{ImportRules, Imported, Refusal, import_game, origin_of};
use super::sources::SgfSource;

/// Games of one shard at most.
const SHARD_GAMES: usize = 2048;

/// Plies of one shard after which it is closed.
const SHARD_PLIES: usize = 500_000;

/// A game that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// The file, with the name inside it when it is an archive.
    pub file: String,
    /// Number of the game in the file, counted from 1; 0 when the file holds none.
    pub game: u32,
    /// Number of the turn it is about, counted from 1, when it is about a turn.
    pub turn: Option<usize>,
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Name of the rule that is broken; `broken` for what cannot be read.
    pub rule: &'static str,
    /// What was expected and found.
    pub reason: String,
}

/// What became of all games.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportReport {
    /// Files read, those in archives counted by themselves.
    pub files: u64,
    /// Files in which bytes had to be replaced as no encoding fits them.
    pub damaged_texts: u64,
    /// Games found, broken ones included.
    pub games: u64,
    /// Games kept: published, or with a dry run found fit to be.
    pub kept: u64,
    /// Positions of the games kept.
    pub positions: u64,
    /// Games that are in the store already or came twice.
    pub duplicates: u64,
    /// Games and files that cannot be read.
    pub broken: u64,
    /// Games that break a rule.
    pub illegal: u64,
    /// Those by the rule they break.
    pub illegal_by_rule: BTreeMap<&'static str, u64>,
    /// Games kept by how their result by the rules compares with the file's claim.
    pub results: BTreeMap<&'static str, u64>,
    /// Passes put in for turns the files leave out.
    pub added_passes: u64,
    /// Passes left out that come after the end of a game.
    pub dropped_passes: u64,
    /// Paths of the shards published.
    pub shards: Vec<String>,
    /// The games left out, in the order of the files.
    #[serde(skip)]
    pub rejections: Vec<Rejection>,
}

/// Takes foreign games and publishes those that keep the rules.
pub struct Importer {
    /// The games of the store; none without a store.
    admission: Option<Admission>,
    /// Whether games are published, and nothing was yet.
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
    /// What killed imports left is looked at first.
    NotYet,
    Begun,
}

impl Importer {
    /// An importer into the collection `name` of a store; without a store everything is done but publishing.
    ///
    /// # Errors
    /// [`StoreError`] when the ids of the games imported earlier cannot be read, or the name cannot be part of a path.
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

    /// The same importer, which compares with the games of the store but publishes nothing.
    pub fn without_writing(self) -> Importer {
        Importer {
            writing: Writing::Never,
            ..self
        }
    }

    /// What has become of the games so far.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    /// Takes the games of a file; `progress` is told the bytes of text read so far and may end the work by `false`.
    ///
    /// # Errors
    /// [`StoreError`] when a shard cannot be published. What was published before stays.
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
        Ok(())
    }

    /// Publishes what waits and says what became of everything.
    ///
    /// # Errors
    /// [`StoreError`] when the last shard cannot be published.
    pub fn finish(mut self) -> Result<ImportReport, StoreError> {
        self.publish()?;
        Ok(self.report)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if let (Writing::NotYet, Some(admission)) = (self.writing, &mut self.admission) {
            admission.settle_strays()?;
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

    /// Publishes the games that wait, but for those that somebody else brought meanwhile, and counts them.
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
