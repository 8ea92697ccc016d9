//! Publishes shards to the store. While the store is unreachable, shards wait in a local spool, complete and in order,
//! and self-play continues; they are published when the store is back, even after a restart.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;

use tengen_report::counted;
use tengen_store::{GameTotals, SealedShard, ShardInfo, Spool, Store, StoreError};

use tengen_config::LoopConfig;

/// How often to try an unreachable store again.
const RETRY_EVERY: Duration = Duration::from_secs(2);

/// The queue of shards between self-play and the store.
pub struct Outbox {
    store: Store,
    folder: PathBuf,
    max_bytes: u64,
    patience: Duration,
    /// Opened when first needed, or at startup if its folder exists.
    spool: Option<Spool>,
    /// Whether the spool may hold shards; otherwise, publishing skips it.
    is_spooled: bool,
    /// Shards that are in neither the store nor the spool; retries keep their names.
    pending: VecDeque<SealedShard>,
    away: Option<Away>,
}

/// The state of a store that does not respond.
struct Away {
    since: Instant,
    ask_next: Instant,
    /// Whether a warning was logged that the spool cannot be used either.
    warned: bool,
}

impl Away {
    fn now() -> Away {
        let now = Instant::now();
        Away {
            since: now,
            ask_next: now,
            warned: false,
        }
    }
}

impl Outbox {
    /// A queue of shards for `store`, with `folder` for those that have to wait.
    ///
    /// # Errors
    /// If the folder has shards of another store or cannot be read.
    pub fn new(store: &Store, folder: &Path, config: &LoopConfig) -> anyhow::Result<Outbox> {
        let mut outbox = Outbox {
            store: store.without_patience(),
            folder: folder.to_owned(),
            max_bytes: config.spool_mib << 20,
            patience: Duration::from_secs_f64(config.patience_seconds),
            spool: None,
            is_spooled: false,
            pending: VecDeque::new(),
            away: None,
        };
        if folder.is_dir() {
            outbox.open_spool()?;
        }
        Ok(outbox)
    }

    /// Publishes a shard after all earlier ones, or queues it. Returns the shards that have now reached the store.
    ///
    /// # Errors
    /// If the store fails permanently, or is unreachable for longer than the patience and no more shards can wait.
    pub fn send(&mut self, shard: SealedShard) -> anyhow::Result<Vec<ShardInfo>> {
        self.hold(shard);
        self.flush()
    }

    /// Queues a shard without trying to publish it.
    pub fn hold(&mut self, shard: SealedShard) {
        self.pending.push_back(shard);
    }

    /// Tries to publish the waiting shards; returns those that have now reached the store.
    ///
    /// # Errors
    /// See [`Outbox::send`].
    pub fn flush(&mut self) -> anyhow::Result<Vec<ShardInfo>> {
        let mut published = Vec::new();
        if self.away.as_ref().is_some_and(|away| Instant::now() < away.ask_next) {
            self.let_wait(None)?;
            return Ok(published);
        }
        match self.publish(&mut published) {
            Ok(()) => {
                if let Some(away) = self.away.take() {
                    tracing::info!(
                        "the store is reachable again after {} s; published {}",
                        away.since.elapsed().as_secs(),
                        counted(published.len() as u64, "shard")
                    );
                }
            }
            Err(error) if error.may_pass() => {
                if self.away.is_none() {
                    tracing::warn!(
                        "the store is unreachable, finished games wait in {}: {error}",
                        self.folder.display()
                    );
                }
                self.away.get_or_insert_with(Away::now).ask_next = Instant::now() + RETRY_EVERY;
                self.let_wait(Some(error))?;
            }
            Err(error) => return Err(error).with_context(|| self.failure()),
        }
        Ok(published)
    }

    /// Publishes the waiting shards at the end of the process. Shards that the store does not accept, for any reason,
    /// go into the spool.
    ///
    /// # Errors
    /// If the store fails permanently, or if games are lost because neither the store nor the spool accepts them.
    pub fn close(&mut self) -> anyhow::Result<()> {
        let Err(error) = self.publish(&mut Vec::new()) else {
            self.away = None;
            return Ok(());
        };
        let stowed = self.stow();
        if self.pending.is_empty() {
            if !error.may_pass() {
                return Err(error).with_context(|| self.failure());
            }
            self.away.get_or_insert_with(Away::now);
            return Ok(());
        }
        let games: u64 = self.pending.drain(..).map(|shard| shard.info.games()).sum();
        let reason = match stowed {
            Ok(_) => "it is full; loop.spool_mib sets its size".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        Err(error).with_context(|| {
            format!(
                "lost {}: neither {} nor the spool {} accepts them ({reason})",
                counted(games, "game"),
                self.store.location(),
                self.folder.display()
            )
        })
    }

    /// Whether every shard is in the store or safe in the spool.
    pub fn is_safe(&self) -> bool {
        self.pending.is_empty()
    }

    /// How many games are waiting for the store and where, as text; `None` while the store is reachable.
    pub fn in_words(&self) -> Option<String> {
        let away = self.away.as_ref()?;
        let waiting = self
            .spool
            .as_ref()
            .and_then(|spool| spool.waiting().ok())
            .unwrap_or_default();
        let totals = GameTotals::of(&waiting);
        let pending_games: u64 = self.pending.iter().map(|shard| shard.info.games()).sum();
        Some(format!(
            "store unreachable for {} s; waiting in {}: {} in {}",
            away.since.elapsed().as_secs(),
            self.folder.display(),
            counted(totals.games + pending_games, "game"),
            counted(totals.shards + self.pending.len() as u64, "shard")
        ))
    }

    fn publish(&mut self, published: &mut Vec<ShardInfo>) -> Result<(), StoreError> {
        if let Some(spool) = self.spool.as_ref().filter(|_| self.is_spooled) {
            let (report, result) = spool.publish(&self.store);
            published.extend(report.published);
            for (path, reason) in report.damaged {
                tracing::warn!(
                    "{}/{path} is damaged and was not published, but renamed to end in .damaged: {reason}",
                    self.folder.display()
                );
            }
            result?;
            self.is_spooled = false;
        }
        while let Some(shard) = self.pending.front() {
            self.store.games().publish(shard)?;
            tracing::info!("published {}", shard.info.name);
            published.extend(self.pending.pop_front().map(|shard| shard.info));
        }
        Ok(())
    }

    /// Moves shards into the spool while it has room. The rest wait in memory until the patience runs out.
    fn let_wait(&mut self, error: Option<StoreError>) -> anyhow::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let stowed = self.stow();
        if let (Err(error), Some(away)) = (&stowed, &mut self.away)
            && !away.warned
        {
            away.warned = true;
            let (folder, limit) = (self.folder.display(), self.patience.as_secs());
            tracing::warn!("{folder} cannot be used either, so games wait in memory, for {limit} s at most: {error:#}");
        }
        let waited = self.away.as_ref().map(|away| away.since.elapsed()).unwrap_or_default();
        match (stowed, error) {
            (Ok(true), _) => Ok(()),
            (_, Some(error)) if waited >= self.patience => Err(error).with_context(|| self.failure()),
            (Err(error), None) if waited >= self.patience => Err(error).with_context(|| self.failure()),
            (Ok(false) | Err(_), _) => Ok(()),
        }
    }

    /// Moves all pending shards into the spool; false if some did not fit.
    fn stow(&mut self) -> anyhow::Result<bool> {
        if self.max_bytes == 0 {
            return Ok(false);
        }
        self.open_spool()?;
        let Some(spool) = &self.spool else { return Ok(false) };
        while let Some(shard) = self.pending.front() {
            self.is_spooled = true;
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
            self.is_spooled = true;
        }
        Ok(())
    }

    fn failure(&self) -> String {
        format!(
            "cannot publish games to {}; free space or repair the store, then start again (published games and those \
             waiting in {} are safe)",
            self.store.location(),
            self.folder.display()
        )
    }
}
