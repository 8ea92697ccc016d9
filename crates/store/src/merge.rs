//! Merges many small shards into a few large ones, and several stores into one, without losing or duplicating a game.
//!
//! Compacting writes the merged shard, then the change note that says it replaces its sources (see `changes.rs`), then
//! deletes the sources. Before the note the merged shard does not count; after it the sources do not. A process killed
//! in between leaves files that do not count, and the next merge reuses or deletes them.

use std::collections::BTreeSet;

use serde::Serialize;

use tengen_records::GameRecord;
use tengen_shard::decode_bytes;

use crate::changes::{Change, GameTotals, Merged};
use crate::games::Games;
use crate::lock::RunLock;
use crate::prune::old_generations;
use crate::shard_info::{GamesOf, MERGED, SealedShard, ShardInfo};
use crate::store_error::{ShardReadError, StoreError};

/// Number of merged shards per change note, which bounds the work lost to a kill.
const PER_NOTE: usize = 32;

/// Which generations to compact, and how large merged shards may become.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CompactSettings {
    /// Generations that contain any of the newest `keep_positions` positions are left alone.
    pub keep_positions: u64,
    /// Maximum size of a merged shard in bytes. Usually 8 MiB.
    pub target_bytes: u64,
}

/// Adjacent shards of one generation that are merged into one.
type Run = Vec<ShardInfo>;

/// What a compaction did, or what it would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactReport {
    /// The small shards that are replaced.
    pub replaced: GameTotals,
    /// The shards that replace them; in a plan, only their number is known.
    pub merged: GameTotals,
    /// Number of deleted files, including leftovers of earlier merges and prunes.
    pub deleted_files: u64,
    /// Merged shards that no note counted although no other shard holds their games; they now count again.
    pub counted_again: Vec<String>,
    /// Merged shards that no note counts and that are the only ones to hold some of their games. They are kept but do
    /// not count.
    pub uncounted: Vec<String>,
}

impl Games {
    /// Finds runs of small shards in old generations and reports what merging would replace. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn plan_compact(&self, settings: CompactSettings) -> Result<CompactReport, StoreError> {
        let (runs, _) = self.small_runs(settings)?;
        Ok(CompactReport {
            replaced: GameTotals::of(runs.iter().flatten()),
            merged: GameTotals {
                shards: runs.len() as u64,
                ..GameTotals::default()
            },
            ..CompactReport::default()
        })
    }

    /// Merges small adjacent shards of old generations into larger ones. Readers and writers may continue in the
    /// meantime. `progress` is called after every merged shard with the number done and the total.
    ///
    /// # Errors
    /// [`StoreError::Contended`] if another process merges or prunes this store; [`StoreError::Write`]. What was merged
    /// before the error stays merged.
    pub fn compact(
        &self,
        settings: CompactSettings,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<CompactReport, StoreError> {
        let lock = RunLock::of_upkeep(&self.files)?;
        let mut report = CompactReport {
            deleted_files: self.sweep()?,
            ..CompactReport::default()
        };
        let (runs, mut seen) = self.small_runs(settings)?;
        let mut done = 0;
        for batch in runs.chunks(PER_NOTE) {
            let changes = self.changes()?;
            if changes.upkeep != seen {
                let location = self.files.location().to_owned();
                return Err(StoreError::Contended { location });
            }
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
                seen = self.put_change(&changes, &Change::new(notes, Vec::new()))?;
                report.deleted_files += self.sweep()?;
            }
        }
        if lock.is_some() {
            self.resolve_orphans(&mut report)?;
        }
        Ok(report)
    }

    /// What to merge, and the number of the last note of a merge or prune that was known by then.
    fn small_runs(&self, settings: CompactSettings) -> Result<(Vec<Run>, u32), StoreError> {
        let listing = self.list(&GamesOf::SelfPlay)?;
        let seen = listing.upkeep;
        let old = old_generations(&listing, settings.keep_positions);
        let mut runs: Vec<Run> = vec![Vec::new()];
        let mut bytes = 0;
        for shard in listing.shards {
            let last = runs.last_mut().expect("there is always at least one run");
            let neighbors = last
                .last()
                .is_none_or(|before| before.generation() == shard.generation());
            let small = old.contains(&shard.generation()) && shard.bytes <= settings.target_bytes / 2;
            if !(neighbors && small && bytes + shard.bytes <= settings.target_bytes) {
                runs.push(Vec::new());
                bytes = 0;
            }
            if small {
                bytes += shard.bytes;
                runs.last_mut().expect("there is always at least one run").push(shard);
            }
        }
        runs.retain(|run| run.len() > 1);
        Ok((runs, seen))
    }

    /// Writes one shard with the games of a run's intact shards; returns both. `None` if fewer than two are intact.
    fn put_merged(&self, run: &Run) -> Result<Option<(Run, ShardInfo)>, StoreError> {
        let mut games = Vec::new();
        let mut sources = Run::new();
        for shard in run {
            match self.read(shard) {
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
        // The same sources give the same name, so work interrupted by a kill is found again.
        let merged = self.put_shard_named(newest, MERGED, &games)?;
        Ok(Some((sources, merged)))
    }

    /// Writes games as a shard in the collection and at the creation time of `sibling`, under another worker name.
    fn put_shard_named(
        &self,
        sibling: &ShardInfo,
        worker: &str,
        games: &[GameRecord],
    ) -> Result<ShardInfo, StoreError> {
        let (time, sequence) = (sibling.name.created_ms, sibling.name.sequence);
        let shard = SealedShard::named(&sibling.collection, time, worker, sequence, games)?;
        // The sources will be deleted, so make sure that every reader accepts the merged shard.
        decode_bytes(shard.bytes.clone()).map_err(|error| StoreError::Damaged {
            path: shard.info.path.clone(),
            expected: "merged games that can be read back".to_owned(),
            found: error.to_string(),
        })?;
        self.publish(&shard)?;
        Ok(shard.info)
    }

    /// Handles merged shards that no note names. An interrupted merge leaves them beside their sources, or beside
    /// another shard merged from those; such leftovers are deleted. But if a note is lost, such an orphan may be all
    /// that is left of its games.
    fn resolve_orphans(&self, report: &mut CompactReport) -> Result<(), StoreError> {
        for orphan in self.left_out()? {
            if orphan.name.worker != MERGED {
                continue;
            }
            let ids = match self.ids(&orphan) {
                Ok(ids) => ids,
                Err(ShardReadError::Store(error)) => return Err(error),
                Err(ShardReadError::Quarantined { .. } | ShardReadError::Gone { .. }) => {
                    report.uncounted.push(orphan.path);
                    continue;
                }
            };
            let counted = self.counted_ids(&orphan)?;
            let unique = ids.iter().filter(|id| !counted.contains(*id)).count();
            if unique == 0 || self.changes()?.dropped(orphan.generation()) {
                self.files.delete(&orphan.path)?;
                report.deleted_files += 1;
            } else if unique == ids.len() {
                self.put_change(&*self.changes()?, &Change::admitting(&orphan.path))?;
                report.counted_again.push(orphan.path);
            } else {
                report.uncounted.push(orphan.path);
            }
        }
        Ok(())
    }

    /// Merged and imported shards that no note names.
    pub(crate) fn left_out(&self) -> Result<Vec<ShardInfo>, StoreError> {
        let files = self.files.list("games")?;
        // Read after the files, so that a shard named in between is not counted as left out.
        let changes = self.changes()?;
        let shards = files
            .iter()
            .filter_map(|(path, bytes)| ShardInfo::of_file(path, *bytes));
        Ok(shards.filter(|shard| changes.leaves_out(shard)).collect())
    }

    /// The ids of all games that count in the collection of `orphan`.
    fn counted_ids(&self, orphan: &ShardInfo) -> Result<BTreeSet<String>, StoreError> {
        let mut shards = self.list_shards(&GamesOf::All)?;
        shards.retain(|shard| shard.collection == orphan.collection);
        self.ids_of(&shards)
    }
}

/// The result of gathering several stores into one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GatherReport {
    /// Shards copied by this call.
    pub copied: GameTotals,
    /// Games skipped because one with the same id already existed.
    pub repeated_games: u64,
    /// Damaged shards that were skipped: path and reason.
    pub damaged: Vec<(String, String)>,
}

/// Copies the games of several stores into one, each game once.
#[derive(Debug)]
pub struct Gather {
    into: Games,
    ids: BTreeSet<String>,
    report: GatherReport,
}

impl Gather {
    /// Gathers into a store that may already hold games, for example from an interrupted call.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub fn new(into: &Games) -> Result<Gather, StoreError> {
        Ok(Gather {
            into: into.clone(),
            ids: into.ids_of(&into.list_shards(&GamesOf::All)?)?,
            report: GatherReport::default(),
        })
    }

    /// Checks and copies the games of `from`, shard by shard. `progress` is called after every shard with the number
    /// done and the total.
    ///
    /// # Errors
    /// [`StoreError`] if one of the stores fails; copied games stay, and repeating the call resumes where it left off.
    pub fn add(&mut self, from: &Games, mut progress: impl FnMut(usize, usize)) -> Result<(), StoreError> {
        let shards = from.list_shards(&GamesOf::All)?;
        for (done, shard) in shards.iter().enumerate() {
            match from.read(shard) {
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
        let worker = match shard.needs_note() {
            true => "gathered",
            false => &shard.name.worker,
        };
        let copied = self.into.put_shard_named(shard, worker, &games)?;
        self.report.copied = self.report.copied.plus(GameTotals::of([&copied]));
        Ok(())
    }

    /// Ends the gathering and returns the totals.
    pub fn finish(self) -> GatherReport {
        self.report
    }
}
