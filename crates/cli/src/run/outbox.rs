//! Shards on their way into the store. While it is away they wait in a local spool, whole and in order, and self-play
//! goes on; what waits is published when the store is back, also after a restart.

use crate::config::LoopConfig;
use crate::output::thousands;
use anyhow::Context;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tengen_records::{GameTotals, SealedShard, ShardInfo, Spool, Store, StoreError};

/// How often a store that is away is asked again.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// Shards between self-play and the store.
pub(crate) struct Outbox {
    store: Store,
    folder: PathBuf,
    max_bytes: u64,
    patience: Duration,
    /// Opened when it is needed, or has something in it.
    spool: Option<Spool>,
    /// Shards that are in neither place yet; they keep their names from try to try.
    pending: VecDeque<SealedShard>,
    away: Option<Away>,
}

/// A store that does not answer.
struct Away {
    since: Instant,
    ask_next: Instant,
}

impl Outbox {
    /// Shards for `store`; those that have to wait do so in `folder`.
    ///
    /// # Errors
    /// When the folder holds the shards of another store or cannot be read.
    pub(crate) fn new(store: &Store, folder: &Path, pace: &LoopConfig) -> anyhow::Result<Outbox> {
        let mut outbox = Outbox {
            store: store.without_patience(),
            folder: folder.to_owned(),
            max_bytes: pace.spool_mib << 20,
            patience: Duration::from_secs_f64(pace.patience_seconds),
            spool: None,
            pending: VecDeque::new(),
            away: None,
        };
        if folder.is_dir() {
            outbox.open_spool()?;
        }
        Ok(outbox)
    }

    /// Publishes a shard, after all that came before it, or lets it wait. Returns what is in the store now.
    ///
    /// # Errors
    /// When the store refuses for good, or is away longer than the patience lasts and no more shards can wait.
    pub(crate) fn send(&mut self, shard: SealedShard) -> anyhow::Result<Vec<ShardInfo>> {
        self.hold(shard);
        self.flush()
    }

    /// Takes a shard without trying to publish it.
    pub(crate) fn hold(&mut self, shard: SealedShard) {
        self.pending.push_back(shard);
    }

    /// Tries to publish what waits; returns what is in the store now.
    ///
    /// # Errors
    /// As [`Outbox::send`].
    pub(crate) fn flush(&mut self) -> anyhow::Result<Vec<ShardInfo>> {
        let mut published = Vec::new();
        if self.away.as_ref().is_some_and(|away| Instant::now() < away.ask_next) {
            self.let_wait(None)?;
            return Ok(published);
        }
        match self.publish(&mut published) {
            Ok(()) => {
                if let Some(away) = self.away.take() {
                    let seconds = away.since.elapsed().as_secs();
                    tracing::info!(
                        "the store is back after {seconds} s; {} shards published",
                        published.len()
                    );
                }
            }
            Err(error) if error.may_pass() => {
                if self.away.is_none() {
                    tracing::warn!(
                        "the store is away, finished games wait in {}: {error}",
                        self.folder.display()
                    );
                }
                let since = self.away.take().map_or_else(Instant::now, |away| away.since);
                let ask_next = Instant::now() + ASK_EVERY;
                self.away = Some(Away { since, ask_next });
                self.let_wait(Some(error))?;
            }
            Err(error) => return Err(error).with_context(|| self.failure()),
        }
        Ok(published)
    }

    /// Publishes what waits, at the end of the process; what the store does not take goes into the spool, whatever the
    /// reason.
    ///
    /// # Errors
    /// When the store refuses for good, and when games are lost because neither store nor spool takes them.
    pub(crate) fn close(&mut self) -> anyhow::Result<()> {
        let Err(refused) = self.publish(&mut Vec::new()) else {
            self.away = None;
            return Ok(());
        };
        let stowed = self.stow();
        if self.pending.is_empty() {
            if !refused.may_pass() {
                return Err(refused).with_context(|| self.failure());
            }
            let now = Instant::now();
            self.away.get_or_insert(Away {
                since: now,
                ask_next: now,
            });
            return Ok(());
        }
        let games: u64 = self.pending.drain(..).map(|shard| shard.info.games()).sum();
        let reason = match stowed {
            Ok(_) => "loop.spool_mib bounds it".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        Err(refused).with_context(|| {
            format!(
                "{} games are lost: {} does not take them, nor does the spool {} ({reason})",
                thousands(games),
                self.store.location(),
                self.folder.display()
            )
        })
    }

    /// Whether every shard is in the store or safe in the spool.
    pub(crate) fn is_safe(&self) -> bool {
        self.pending.is_empty()
    }

    /// What waits, in words; nothing when nothing does.
    pub(crate) fn in_words(&self) -> Option<String> {
        let away = self.away.as_ref()?;
        let waiting = self
            .spool
            .as_ref()
            .and_then(|spool| spool.waiting().ok())
            .unwrap_or_default();
        let totals = GameTotals::of(&waiting);
        Some(format!(
            "the store is away for {} s: {} shards with {} games wait in {}",
            away.since.elapsed().as_secs(),
            totals.shards + self.pending.len() as u64,
            thousands(totals.games + self.pending.iter().map(|shard| shard.info.games()).sum::<u64>()),
            self.folder.display()
        ))
    }

    fn publish(&mut self, published: &mut Vec<ShardInfo>) -> Result<(), StoreError> {
        if let Some(spool) = &self.spool {
            let (report, result) = spool.publish(&self.store);
            published.extend(report.published);
            for (path, reason) in report.damaged {
                tracing::warn!("{}/{path} is damaged and stays there: {reason}", self.folder.display());
            }
            result?;
        }
        while let Some(shard) = self.pending.front() {
            self.store.publish(shard)?;
            tracing::info!("published {}", shard.info.name);
            published.extend(self.pending.pop_front().map(|shard| shard.info));
        }
        Ok(())
    }

    /// Moves shards into the spool as far as it takes them. What it does not take waits in memory, as long as the
    /// patience lasts.
    fn let_wait(&mut self, error: Option<StoreError>) -> anyhow::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let stowed = self.stow();
        let waited = self.away.as_ref().map(|away| away.since.elapsed()).unwrap_or_default();
        match (stowed, error) {
            (Ok(true), _) => Ok(()),
            (_, Some(error)) if waited >= self.patience => Err(error).with_context(|| self.failure()),
            (Err(error), None) if waited >= self.patience => Err(error).with_context(|| self.failure()),
            (Ok(false) | Err(_), _) => Ok(()),
        }
    }

    /// Whether everything is in the spool now.
    fn stow(&mut self) -> anyhow::Result<bool> {
        if self.max_bytes == 0 {
            return Ok(false);
        }
        self.open_spool()?;
        let Some(spool) = &self.spool else { return Ok(false) };
        while let Some(shard) = self.pending.front() {
            if !spool.take(shard)? {
                return Ok(false);
            }
            self.pending.pop_front();
        }
        Ok(true)
    }

    fn open_spool(&mut self) -> anyhow::Result<()> {
        if self.spool.is_none() {
            self.spool = Some(Spool::open(&self.folder, &self.store, self.max_bytes)?);
        }
        Ok(())
    }

    fn failure(&self) -> String {
        format!(
            "cannot publish games into {}; free space or mend the store, then start again: the games published so far, \
             and those that wait in {}, are safe",
            self.store.location(),
            self.folder.display()
        )
    }
}
