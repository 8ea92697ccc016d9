//! How do many small shards become a few large ones, and several stores one, without losing or doubling a game?
//!
//! Compacting writes the merged shard, then the note that it replaces its sources (see the changes of a store), then
//! deletes the sources. Before the note the merged shard does not count, after it the sources do not; whoever is killed
//! in between leaves files that do not count, and the next merge takes them up or away.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::changes::{Change, GameTotals, IMPORTED, MERGED, Merged};
use crate::decode::decode_bytes;
use crate::prune::old_generations;
use crate::shards::{GamesOf, SealedShard, ShardInfo};
use crate::store::Store;
use crate::store_error::{ShardReadError, StoreError};
use tengen_records::GameRecord;

/// Merged shards that one note names; a kill loses at most so much work.
const PER_NOTE: usize = 32;

/// What to compact, and how far.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CompactSettings {
    /// Generations with a game among the newest so many positions are left alone.
    pub keep_positions: u64,
    /// Size merged shards do not exceed, bytes. Usual: 8 MiB.
    pub target_bytes: u64,
}

/// Neighbouring shards of one generation that become one.
type Run = Vec<ShardInfo>;

/// What compacting would do, or did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactReport {
    /// The small shards.
    pub replaced: GameTotals,
    /// The shards that replace them; before it is done, only their number is known.
    pub merged: GameTotals,
    /// Files deleted, those that an earlier merge or prune had left included.
    pub deleted_files: u64,
}

impl Store {
    /// Finds the runs of small shards in old generations; the report says what merging them replaces. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn plan_compact(&self, settings: CompactSettings) -> Result<CompactReport, StoreError> {
        let runs = self.small_runs(settings)?;
        Ok(CompactReport {
            replaced: GameTotals::of(runs.iter().flatten()),
            merged: GameTotals {
                shards: runs.len() as u64,
                ..GameTotals::default()
            },
            deleted_files: 0,
        })
    }

    /// Merges small neighbouring shards of old generations into larger ones. Readers and writers may go on meanwhile.
    /// `progress` is called after every merged shard with the number done and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Contended`] when somebody else merges or prunes this store; [`StoreError::Write`]: what was merged
    /// before stays merged.
    pub fn compact(
        &self,
        settings: CompactSettings,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<CompactReport, StoreError> {
        let lock = self.lock_upkeep()?;
        let mut report = CompactReport {
            deleted_files: self.sweep()?,
            ..CompactReport::default()
        };
        let runs = self.small_runs(settings)?;
        let mut done = 0;
        for batch in runs.chunks(PER_NOTE) {
            let changes = self.changes()?;
            let mut notes = Vec::new();
            for run in batch {
                if let Some((sources, merged)) = self.put_merged(run)? {
                    report.replaced = report.replaced.plus(GameTotals::of(&sources));
                    report.merged = report.merged.plus(GameTotals::of([&merged]));
                    notes.push(Merged {
                        into: merged.path,
                        replaces: sources.into_iter().map(|shard| shard.path).collect(),
                    });
                }
                done += 1;
                progress(done, runs.len());
            }
            if !notes.is_empty() {
                self.put_change(&changes, &Change::new(notes, Vec::new()))?;
                report.deleted_files += self.sweep()?;
            }
        }
        if lock.is_some() {
            self.drop_orphans()?;
        }
        Ok(report)
    }

    fn small_runs(&self, settings: CompactSettings) -> Result<Vec<Run>, StoreError> {
        let listing = self.list_games(&GamesOf::SelfPlay)?;
        let old = old_generations(&listing, settings.keep_positions);
        let mut runs: Vec<Run> = vec![Vec::new()];
        let mut bytes = 0;
        for shard in listing.shards {
            let last = runs.last_mut().expect("there is always a run");
            let neighbours = last
                .last()
                .is_none_or(|before| before.generation() == shard.generation());
            let small = old.contains(&shard.generation()) && shard.bytes <= settings.target_bytes / 2;
            if !(neighbours && small && bytes + shard.bytes <= settings.target_bytes) {
                runs.push(Vec::new());
                bytes = 0;
            }
            if small {
                bytes += shard.bytes;
                runs.last_mut().expect("there is always a run").push(shard);
            }
        }
        runs.retain(|run| run.len() > 1);
        Ok(runs)
    }

    /// Puts the shard that holds the games of a run's good shards; returns both. Nothing when fewer than two are good.
    fn put_merged(&self, run: &Run) -> Result<Option<(Run, ShardInfo)>, StoreError> {
        let mut games = Vec::new();
        let mut sources = Run::new();
        for shard in run {
            match self.read_shard(shard) {
                Ok(more) => {
                    games.extend(more);
                    sources.push(shard.clone());
                }
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => {}
                Err(ShardReadError::Store(error)) => return Err(error),
            }
        }
        let Some(newest) = sources.last().filter(|_| sources.len() > 1) else {
            return Ok(None);
        };
        // The same sources give the same name, so that work cut short by a kill is found again.
        let merged = self.put_shard_named(newest, MERGED, &games)?;
        Ok(Some((sources, merged)))
    }

    /// Puts games as a shard beside `beside`, at its time, under another worker's name.
    fn put_shard_named(&self, beside: &ShardInfo, worker: &str, games: &[GameRecord]) -> Result<ShardInfo, StoreError> {
        let (time, sequence) = (beside.name.created_ms, beside.name.sequence);
        let shard = SealedShard::named(&beside.collection, time, worker, sequence, games)?;
        // Others are deleted for it, so it must be one that every reader takes.
        decode_bytes(shard.bytes.clone()).map_err(|error| StoreError::Damaged {
            path: shard.info.path.clone(),
            expected: "merged games that read back".to_owned(),
            found: error.to_string(),
        })?;
        self.publish(&shard)?;
        Ok(shard.info)
    }

    /// Deletes merged shards that no note names: remains of a merge that was killed and is planned otherwise now.
    fn drop_orphans(&self) -> Result<(), StoreError> {
        let changes = self.changes()?;
        for (path, bytes) in self.list("games")? {
            let shard = ShardInfo::of_file(&path, bytes);
            if shard.is_some_and(|shard| shard.name.worker == MERGED && !changes.shows(&shard)) {
                self.delete(&path)?;
            }
        }
        Ok(())
    }
}

/// What gathering several stores in one did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GatherReport {
    /// Shards copied now.
    pub copied: GameTotals,
    /// Games left out because one with the same id was there already.
    pub repeated_games: u64,
    /// Damaged shards left out: path and reason.
    pub damaged: Vec<(String, String)>,
}

/// Copies the games of several stores into one, each game once.
#[derive(Debug)]
pub struct Gather {
    into: Store,
    ids: BTreeSet<String>,
    report: GatherReport,
}

impl Gather {
    /// Gathers into a store that may hold games already, from an earlier call that was cut short, say.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn new(into: &Store) -> Result<Gather, StoreError> {
        let mut gather = Gather {
            into: into.clone(),
            ids: BTreeSet::new(),
            report: GatherReport::default(),
        };
        for shard in into.list_shards(&GamesOf::All)? {
            match into.read_shard(&shard) {
                Ok(games) => gather.ids.extend(games.into_iter().map(|game| game.game_id)),
                Err(ShardReadError::Store(error)) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(gather)
    }

    /// Copies the games of `from`, checked, shard by shard. `progress` is called after every shard with the number done
    /// and the number of all.
    ///
    /// # Errors
    /// [`StoreError`] when one of the stores fails; what was copied stays, and the same call again goes on.
    pub fn add(&mut self, from: &Store, mut progress: impl FnMut(usize, usize)) -> Result<(), StoreError> {
        let shards = from.list_shards(&GamesOf::All)?;
        for (done, shard) in shards.iter().enumerate() {
            match from.read_shard(shard) {
                Ok(games) => self.copy(shard, games)?,
                Err(ShardReadError::Quarantined { shard, reason }) => self.report.damaged.push((shard, reason)),
                Err(ShardReadError::Gone { .. }) => {}
                Err(ShardReadError::Store(error)) => return Err(error),
            }
            progress(done + 1, shards.len());
        }
        Ok(())
    }

    fn copy(&mut self, shard: &ShardInfo, mut games: Vec<GameRecord>) -> Result<(), StoreError> {
        let all = games.len();
        games.retain(|game| self.ids.insert(game.game_id.clone()));
        self.report.repeated_games += (all - games.len()) as u64;
        if games.is_empty() {
            return Ok(());
        }
        let worker = if [MERGED, IMPORTED].contains(&shard.name.worker.as_str()) {
            "gathered"
        } else {
            &shard.name.worker
        };
        let copied = self.into.put_shard_named(shard, worker, &games)?;
        self.report.copied = self.report.copied.plus(GameTotals::of([&copied]));
        Ok(())
    }

    /// What was done.
    pub fn finish(self) -> GatherReport {
        self.report
    }
}
