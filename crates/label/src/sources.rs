//! Reads the games to label, one after the other, from stores and SGF files.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use tengen_datasets::{DatasetFilter, shards_of};
use tengen_import::{ImportRules, MissingTurns, find_sources, legal_games, read_source};
use tengen_records::GameRecord;
use tengen_rules::Rules;
use tengen_store::{Create, ShardInfo, ShardReadError, Store};

use crate::chunk::with_origin;
use crate::error::LabelError;
use crate::settings::PositionChoice;

/// A folder that exists in every store with games.
const GAMES_FOLDER: &str = "games/v1";

/// The games of stores and SGF files, in order: sources as they were named, shards from old to new, files by name. A
/// game that occurs more than once is read only once.
pub struct SourceGames {
    parts: VecDeque<Part>,
    filter: DatasetFilter,
    positions: PositionChoice,
    rules: ImportRules,
    waiting: VecDeque<GameRecord>,
    seen: HashSet<String>,
    locations: Vec<String>,
    /// Positions of all games, including those that the filters leave out.
    pub(crate) all_positions: u64,
    pub(crate) games_read: u64,
    pub(crate) rejected: u64,
    pub(crate) damaged: Vec<String>,
}

/// Games that are read in one go.
enum Part {
    Shard(Store, ShardInfo),
    File(PathBuf),
}

/// A game and the plies to label.
pub(crate) struct SourceGame {
    pub(crate) record: GameRecord,
    pub(crate) plies: Vec<usize>,
}

impl SourceGames {
    /// Lists the games of these sources: stores (folders or addresses) and SGF files, folders, and archives. SGF games
    /// are replayed under the first rule set of the filter, or Tromp-Taylor; illegal ones are skipped and counted.
    ///
    /// # Errors
    /// [`LabelError::Store`] or [`LabelError::Source`] if a source cannot be read.
    pub fn open(sources: &[String], filter: DatasetFilter, every: u32) -> Result<SourceGames, LabelError> {
        let rules = ImportRules {
            rules: filter.rules.first().copied().unwrap_or(Rules::tromp_taylor()),
            komi: None,
            missing_turns: MissingTurns::Refuse,
        };
        let mut games = SourceGames {
            parts: VecDeque::new(),
            positions: PositionChoice::new(&filter, every),
            filter,
            rules,
            waiting: VecDeque::new(),
            seen: HashSet::new(),
            locations: Vec::new(),
            all_positions: 0,
            games_read: 0,
            rejected: 0,
            damaged: Vec::new(),
        };
        for source in sources {
            match is_store(source) {
                true => games.add_store(source)?,
                false => games.add_files(source)?,
            }
        }
        Ok(games)
    }

    /// Which positions are labelled.
    pub fn positions(&self) -> PositionChoice {
        self.positions
    }

    /// The sources, for people.
    pub(crate) fn in_words(&self) -> String {
        self.locations.join(", ")
    }

    /// Whether the store at this location is a source.
    pub(crate) fn contains_store(&self, location: &str) -> bool {
        self.locations.iter().any(|own| own == location)
    }

    /// The next game that has positions to label.
    pub(crate) fn next(&mut self) -> Result<Option<SourceGame>, LabelError> {
        loop {
            while let Some(record) = self.waiting.pop_front() {
                if !self.seen.insert(record.game_id.clone()) {
                    continue;
                }
                self.games_read += 1;
                let plies = self.positions.plies(&self.filter, &record);
                if !plies.is_empty() {
                    return Ok(Some(SourceGame { record, plies }));
                }
            }
            match self.parts.pop_front() {
                None => return Ok(None),
                Some(Part::Shard(store, shard)) => self.read_shard(&store, &shard)?,
                Some(Part::File(path)) => {
                    let (games, rejected) = self.read_file(&path)?;
                    self.waiting.extend(games);
                    self.rejected += rejected;
                }
            }
        }
    }

    fn add_store(&mut self, location: &str) -> Result<(), LabelError> {
        let store = Store::open(location, Create::Never)?;
        self.locations.push(store.location().to_owned());
        let (shards, _) = shards_of(&store, &self.filter)?;
        self.all_positions += shards.iter().map(ShardInfo::positions).sum::<u64>();
        self.parts
            .extend(shards.into_iter().map(|shard| Part::Shard(store.clone(), shard)));
        Ok(())
    }

    fn add_files(&mut self, path: &str) -> Result<(), LabelError> {
        self.locations.push(path.to_owned());
        for file in find_sources(&[PathBuf::from(path)])? {
            let (games, _) = self.read_file(&file)?;
            self.all_positions += games.iter().map(|game| game.plies.len() as u64).sum::<u64>();
            self.parts.push_back(Part::File(file));
        }
        Ok(())
    }

    fn read_file(&self, path: &Path) -> Result<(Vec<GameRecord>, u64), LabelError> {
        let (mut games, mut rejected) = (Vec::new(), 0);
        for source in read_source(path)? {
            let (legal, illegal) = legal_games(&source, &self.rules);
            games.extend(legal);
            rejected += illegal;
        }
        Ok((games, rejected))
    }

    fn read_shard(&mut self, store: &Store, shard: &ShardInfo) -> Result<(), LabelError> {
        match store.games().read(shard) {
            Ok(games) => self.waiting.extend(
                (1..)
                    .zip(games)
                    .map(|(number, game)| with_origin(game, &shard.path, number)),
            ),
            Err(ShardReadError::Quarantined { shard, reason }) => self.damaged.push(format!("{shard}: {reason}")),
            Err(ShardReadError::Gone { shard }) => self.damaged.push(format!("{shard}: it was pruned in the meantime")),
            Err(ShardReadError::Store(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Whether a source is a store: an address, or a folder that holds games or a run.
fn is_store(source: &str) -> bool {
    let folder = Path::new(source.strip_prefix("store:").unwrap_or(source));
    source.contains("://") || folder.join(GAMES_FOLDER).is_dir() || folder.join("run.json").is_file()
}
