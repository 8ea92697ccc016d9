//! Draws training samples from all positions of the window, by weight and reproducibly by seed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use tengen_encoding::{Features, Sample};
use tengen_records::{GameRecord, RecordError};
use tengen_rng::SplitMix64;
use tengen_rules::{Size, Symmetry};
use tengen_store::{ShardInfo, Store, StoreError};

use crate::draws::Draws;
use crate::game_cache::{CacheError, GameCache};
use crate::lesson::{Census, Teaching};
use crate::loaded_shard::{Found, LoadedShard, ReadShard, UnpackOn, Unpacker};
use crate::loader::Loader;
use crate::sample_config::{SampleConfig, SymmetryMode};
use crate::stored_game::{Parts, StoredGame};
use crate::window::Window;

/// Batches of at least this many samples are built on several threads.
const PARALLEL_BATCH: usize = 64;

/// Number of samples one thread builds at a time.
const PARALLEL_GRAIN: usize = 32;

/// Maximum threads of a [`Loader`] that runs while a network trains; more would only take the trainer's cores.
const MOST_READERS: usize = 4;

/// Maximum memory that drawing one sample maps: two accesses to a mapped file, 64 KiB each.
const MAPPED_PER_SAMPLE: usize = 2 << 16;

/// Why games could not be prepared for drawing.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// A game breaks the rules.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A scratch file could not be created.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread that reads games could not be started.
    #[error("cannot start a thread that reads games: {0}")]
    Thread(#[from] std::io::Error),
}

/// The result of loading a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowLoad {
    /// Number of shards read by this call.
    pub loaded: usize,
    /// Number of shards dropped.
    pub dropped: usize,
    /// Damaged shards found by this call: path and reason for the quarantine.
    pub quarantined: Vec<(String, String)>,
    /// Positions of the window's oldest shards that are left out because of [`SampleConfig::max_positions`] or the
    /// memory limit.
    pub left_out: u64,
}

/// The unpacked games of the window, from which training batches are drawn.
///
/// The games are in memory-mapped scratch files or in memory; [`SampleConfig`] says where, and how much memory they may
/// take. Samples depend only on the games, the seed and the weights, not on where the games are kept.
pub struct SampleSource {
    config: SampleConfig,
    unpacker: Unpacker,
    /// The shards, oldest first.
    shards: VecDeque<LoadedShard>,
    /// Shards of the window that were read but dropped because of a limit.
    too_old: BTreeSet<String>,
    /// The positions to train on.
    trained: Draws,
    /// The positions of the games that are never trained on.
    held_out: Draws,
    /// Total size of all scratch files in bytes.
    disk_bytes: usize,
    /// Samples drawn since mapped memory was last released.
    drawn: AtomicUsize,
}

impl SampleSource {
    /// Creates an empty source. With [`CachePlace::Auto`](crate::CachePlace::Auto), games are kept in the system's
    /// temporary folder.
    pub fn new(config: SampleConfig) -> SampleSource {
        SampleSource::with_cache(config.game_cache(None), config)
    }

    /// Creates an empty source for the games of a store. With [`CachePlace::Auto`](crate::CachePlace::Auto), games are
    /// kept in the store's `cache` folder if the store is local.
    pub fn for_store(store: &Store, config: SampleConfig) -> SampleSource {
        SampleSource::with_cache(config.game_cache(Some(store)), config)
    }

    fn with_cache(cache: GameCache, config: SampleConfig) -> SampleSource {
        SampleSource {
            unpacker: Unpacker {
                cache,
                parts: Parts {
                    planes: config.planes,
                    replies: false,
                },
                held_out_share: 0.0,
                teaching: None,
            },
            config,
            shards: VecDeque::new(),
            too_old: BTreeSet::new(),
            trained: Draws::default(),
            held_out: Draws::default(),
            disk_bytes: 0,
            drawn: AtomicUsize::new(0),
        }
    }

    /// Never trains on this share of the games, 0 to 1, which [`is_held_out`](crate::is_held_out) selects by their ids.
    /// Their positions come only from [`SampleSource::draw_held_out`].
    ///
    /// # Panics
    /// If games were added before.
    pub fn holding_out(mut self, share: f64) -> SampleSource {
        assert!(
            self.shards.is_empty(),
            "the games to hold out are chosen before any is added"
        );
        self.unpacker.held_out_share = share;
        self
    }

    /// Sets whether samples come with the opponent's policy at the next turn; initially they do not. It takes about as
    /// much space as their own policy.
    ///
    /// # Panics
    /// If the source already has games.
    pub fn with_replies(mut self, replies: bool) -> SampleSource {
        assert!(
            self.shards.is_empty(),
            "what is kept of a game is chosen before any is added"
        );
        self.unpacker.parts.replies = replies;
        self
    }

    /// Sets what games teach, wherever they come from; initially, games count as a run's own self-play.
    ///
    /// # Panics
    /// If the source already has games.
    pub fn teaching(mut self, teaching: Teaching) -> SampleSource {
        assert!(self.shards.is_empty(), "what games teach is chosen before any is added");
        self.unpacker.teaching = Some(teaching);
        self
    }

    /// How the games added are used, if the source is [`teaching`](SampleSource::teaching).
    pub fn census(&self) -> Census {
        let all = self.shards.iter().map(|shard| shard.census);
        all.fold(Census::default(), Census::plus)
    }

    /// Adds the games of a shard as the newest ones, leaving out games that teach nothing. A known key is ignored. The
    /// oldest shards are dropped when a limit is reached.
    ///
    /// # Errors
    /// [`SampleError::Record`] if a game that was not validated before breaks the rules, [`SampleError::Cache`] if
    /// there is no space for the games; nothing is added in either case.
    pub fn add_games(&mut self, key: &str, games: &[GameRecord]) -> Result<(), SampleError> {
        if !self.contains(key) {
            let shard = self.unpacker.unpack(key, games, UnpackOn::Pool, &|write| write())?;
            self.push(shard);
        }
        Ok(())
    }

    /// Adds a shard as the newest one and drops the oldest ones that no longer fit.
    fn push(&mut self, shard: LoadedShard) {
        self.shards.push_back(shard);
        match self.enforce_limits() {
            0 => self.index_shard(self.shards.len() - 1),
            _ => self.index(),
        }
    }

    /// Whether the games of a shard are present.
    pub fn contains(&self, key: &str) -> bool {
        self.shards.iter().any(|shard| shard.key == key)
    }

    /// Drops every shard for which `keep` returns false; returns how many were dropped.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) -> usize {
        let dropped = self.drop_shards(keep);
        self.index();
        dropped
    }

    /// [`SampleSource::retain`] without rebuilding the index.
    fn drop_shards(&mut self, keep: impl Fn(&str) -> bool) -> usize {
        let before = self.shards.len();
        self.shards.retain(|shard| keep(&shard.key));
        self.too_old.retain(|key| keep(key));
        before - self.shards.len()
    }

    /// Makes the source hold the window's shards, as far as its limits allow: reads and checks the new ones, several at
    /// a time, and drops the others. Damaged shards are quarantined and reported, which is not an error. Passes each
    /// new shard to `see`, in order, with its games without their plies.
    ///
    /// # Errors
    /// [`SampleError::Store`] if the store fails, [`SampleError::Cache`] if there is no space for the games,
    /// [`SampleError::Thread`] if a thread cannot be started.
    pub fn load_window(
        &mut self,
        store: &Store,
        window: &Window,
        see: impl FnMut(&ShardInfo, &[GameRecord]),
    ) -> Result<WindowLoad, SampleError> {
        self.load_window_with(Vec::new(), store, window, see)
    }

    /// [`SampleSource::load_window`] with shards that a [`Loader`] of this source has already read, so only the others
    /// are read now. Ready shards outside the window are dropped.
    ///
    /// # Errors
    /// Same as [`SampleSource::load_window`].
    pub fn load_window_with(
        &mut self,
        ready: Vec<ReadShard>,
        store: &Store,
        window: &Window,
        mut see: impl FnMut(&ShardInfo, &[GameRecord]),
    ) -> Result<WindowLoad, SampleError> {
        let shards = self.affordable(&window.shards);
        if self.precedes(shards, &ready) {
            let dropped = self.shards.len() + ready.len() - shards.len();
            let report = self.advance(ready, dropped, see);
            let left_out = self.left_out(&window.shards, shards.len());
            return Ok(WindowLoad { left_out, ..report });
        }
        let places: BTreeMap<&str, usize> = shards.iter().map(|shard| shard.path.as_str()).zip(0..).collect();
        let mut report = WindowLoad {
            dropped: self.drop_shards(|key| places.contains_key(key)),
            ..WindowLoad::default()
        };
        let known: BTreeSet<&str> = self.shards.iter().map(|shard| shard.key.as_str()).collect();
        let is_new = |info: &&ShardInfo| !known.contains(info.path.as_str()) && !self.too_old.contains(&info.path);
        let new: Vec<&ShardInfo> = shards.iter().filter(is_new).collect();
        let mut ready: BTreeMap<String, ReadShard> = ready
            .into_iter()
            .map(|shard| (shard.info.path.clone(), shard))
            .collect();
        let others: Vec<&ShardInfo> = new
            .iter()
            .copied()
            .filter(|info| !ready.contains_key(&info.path))
            .collect();
        // A single shard is unpacked by the whole pool instead.
        let mut loader = Loader::new(store, &self.unpacker, rayon::current_num_threads());
        if others.len() > 1 {
            others.into_iter().try_for_each(|info| loader.offer(info.clone()))?;
        }
        for info in new {
            let read = match ready.remove(&info.path) {
                Some(read) => read,
                None => match loader.wait_for_next()? {
                    Some(read) => read,
                    None => self.unpacker.read(store, info, UnpackOn::Pool)?,
                },
            };
            match read.found {
                Found::Games(shard, games) => {
                    see(info, &games);
                    let newer = |other: &LoadedShard| places.get(other.key.as_str()) < places.get(info.path.as_str());
                    self.shards.insert(self.shards.partition_point(newer), shard);
                    self.enforce_limits();
                    report.loaded += 1;
                }
                Found::Damage(reason) => report.quarantined.push((info.path.clone(), reason)),
                Found::Nothing => {}
            }
        }
        self.index();
        report.left_out = self.left_out(&window.shards, shards.len());
        Ok(report)
    }

    /// Whether `shards` are exactly the newest ones held followed by the ready ones, as is usual during a run.
    fn precedes(&self, shards: &[ShardInfo], ready: &[ReadShard]) -> bool {
        let kept = shards.len().saturating_sub(ready.len());
        let (kept, new) = shards.split_at(kept);
        let Some(dropped) = self.shards.len().checked_sub(kept.len()) else {
            return false;
        };
        let held = self.shards.iter().skip(dropped).map(|shard| &shard.key);
        self.too_old.is_empty()
            && ready.iter().all(ReadShard::has_games)
            && ready
                .iter()
                .map(|shard| &shard.info.path)
                .eq(new.iter().map(|shard| &shard.path))
            && held.eq(kept.iter().map(|shard| &shard.path))
    }

    /// Adds the ready shards and drops as many of the oldest as [`SampleSource::precedes`] leaves out. The cost grows
    /// with the number of shards held, not of games, unless a limit drops more shards.
    fn advance(
        &mut self,
        ready: Vec<ReadShard>,
        dropped: usize,
        mut see: impl FnMut(&ShardInfo, &[GameRecord]),
    ) -> WindowLoad {
        for shard in self.shards.drain(..dropped) {
            self.disk_bytes -= shard.disk_bytes();
            self.trained.drop_first(&shard.games);
            self.held_out.drop_first(&shard.held_out);
        }
        let loaded = ready.len();
        for read in ready {
            if let Found::Games(shard, games) = read.found {
                see(&read.info, &games);
                self.push(shard);
            }
        }
        WindowLoad {
            loaded,
            dropped,
            ..WindowLoad::default()
        }
    }

    /// A loader that reads a store's shards for [`SampleSource::load_window_with`]. It uses this source's current
    /// settings.
    pub fn loader(&self, store: &Store) -> Loader {
        Loader::new(store, &self.unpacker, rayon::current_num_threads().min(MOST_READERS))
    }

    /// The newest shards that together stay within the position limit; at least one.
    fn affordable<'a>(&self, shards: &'a [ShardInfo]) -> &'a [ShardInfo] {
        let mut positions = 0;
        let fits = shards.iter().rev().take_while(|shard| {
            positions += shard.positions();
            positions <= self.config.max_positions
        });
        let count = fits.count().max(1).min(shards.len());
        &shards[shards.len() - count..]
    }

    /// Positions of the window's shards that are not among the newest `affordable` ones or were dropped because of a
    /// limit.
    fn left_out(&self, shards: &[ShardInfo], affordable: usize) -> u64 {
        let too_many = shards.len() - affordable;
        let out = |&(number, shard): &(usize, &ShardInfo)| number < too_many || self.too_old.contains(&shard.path);
        let shards = shards.iter().enumerate().filter(out);
        shards.map(|(_, shard)| shard.positions()).sum()
    }

    /// Drops the oldest shards until the limits are met; the newest always stays. Returns how many were dropped.
    fn enforce_limits(&mut self) -> usize {
        let before = self.shards.len();
        while self.shards.len() > 1 && !self.is_within_limits() {
            let oldest = self.shards.pop_front().expect("there are at least two shards");
            self.too_old.insert(oldest.key);
        }
        before - self.shards.len()
    }

    fn is_within_limits(&self) -> bool {
        let fits = self.unpacker.cache != GameCache::Memory || self.memory_bytes() <= self.config.cache_bytes;
        let positions: u64 = self.shards.iter().map(|shard| shard.positions).sum();
        fits && positions <= self.config.max_positions
    }

    fn index(&mut self) {
        self.disk_bytes = 0;
        self.trained.clear();
        self.held_out.clear();
        (0..self.shards.len()).for_each(|number| self.index_shard(number));
    }

    /// Adds a shard to the index, after all earlier ones.
    fn index_shard(&mut self, number: usize) {
        let shard = &self.shards[number];
        self.disk_bytes += shard.disk_bytes();
        self.trained.add(number, &shard.games);
        self.held_out.add(number, &shard.held_out);
    }

    /// Number of positions in the games to train on.
    pub fn positions(&self) -> u64 {
        self.trained.positions()
    }

    /// Number of games to train on.
    pub fn games(&self) -> usize {
        self.trained.games()
    }

    /// Number of positions in the games that are never trained on.
    pub fn held_out_positions(&self) -> u64 {
        self.held_out.positions()
    }

    /// Number of games that are never trained on.
    pub fn held_out_games(&self) -> usize {
        self.held_out.games()
    }

    /// Memory in bytes that the games take even if they are not drawn: all of them if they are kept in memory,
    /// otherwise only their index.
    pub fn memory_bytes(&self) -> usize {
        self.shards.iter().map(LoadedShard::memory_bytes).sum()
    }

    /// Disk space in bytes that the scratch files take.
    pub fn disk_bytes(&self) -> usize {
        self.disk_bytes
    }

    /// Draws `count` samples to train on with replacement, each position with probability proportional to its weight.
    /// The same games in the same order, count, seed and mode give the same samples, regardless of the number of
    /// threads and of where the games are kept. `None` if there is nothing to draw from.
    pub fn draw_samples(&self, count: usize, seed: u64, mode: SymmetryMode) -> Option<Vec<Sample>> {
        self.draw_part(0..count, seed, mode)
    }

    /// The part of [`SampleSource::draw_samples`] with these places in it.
    pub fn draw_part(&self, part: Range<usize>, seed: u64, mode: SymmetryMode) -> Option<Vec<Sample>> {
        self.draw_from(&self.trained, |shard| &shard.games, part, seed, mode)
    }

    /// Like [`SampleSource::draw_samples`], from the games that are never trained on.
    pub fn draw_held_out(&self, count: usize, seed: u64, mode: SymmetryMode) -> Option<Vec<Sample>> {
        self.draw_from(&self.held_out, |shard| &shard.held_out, 0..count, seed, mode)
    }

    fn draw_from(
        &self,
        draws: &Draws,
        games: fn(&LoadedShard) -> &[StoredGame],
        part: Range<usize>,
        seed: u64,
        mode: SymmetryMode,
    ) -> Option<Vec<Sample>> {
        let total = draws.total().filter(|&total| total > 0)?;
        let mut random = SplitMix64::new(seed);
        let picks = (0..part.end).map(|_| (random.below(total), random.bits()));
        let picks: Vec<(u64, u64)> = picks.skip(part.start).collect();
        let build = |&(offset, symmetry): &(u64, u64)| {
            let (shard, game, within) = draws.find(offset);
            let shard = &self.shards[shard];
            self.build(shard, &games(shard)[game], within, symmetry, mode)
        };
        let mut samples = Vec::with_capacity(picks.len());
        for picks in picks.chunks(self.samples_to_release()) {
            self.make_room(picks.len());
            match picks.len() < PARALLEL_BATCH {
                true => samples.extend(picks.iter().map(build)),
                false => samples.par_extend(picks.par_iter().with_min_len(PARALLEL_GRAIN).map(build)),
            }
        }
        Some(samples)
    }

    /// The number of samples that may be drawn before mapped memory must be released.
    fn samples_to_release(&self) -> usize {
        match self.disk_bytes <= self.config.cache_bytes {
            true => usize::MAX,
            false => (self.config.cache_bytes / MAPPED_PER_SAMPLE).max(PARALLEL_BATCH),
        }
    }

    /// Releases mapped memory if drawing this many samples could exceed the memory limit.
    fn make_room(&self, samples: usize) {
        let drawn = self.drawn.fetch_add(samples, Ordering::Relaxed) + samples;
        if drawn > self.samples_to_release() {
            self.drawn.store(samples, Ordering::Relaxed);
            self.shards.iter().for_each(|shard| shard.block.release());
        }
    }

    /// The sample of a game's position at which the running sum of its weights exceeds `offset`.
    fn build(&self, shard: &LoadedShard, game: &StoredGame, offset: u64, symmetry: u64, mode: SymmetryMode) -> Sample {
        let image = |features: &Features| match mode {
            SymmetryMode::Canonical => features.canonical_symmetry(),
            SymmetryMode::Random => random_symmetry(features, symmetry),
        };
        game.sample(shard.block.bytes(), offset, self.config.result_share, image)
    }

    /// All board sizes present, sorted.
    pub fn sizes(&self) -> Vec<Size> {
        let mut sizes: Vec<_> = self
            .shards
            .iter()
            .flat_map(|shard| shard.games.iter().chain(&shard.held_out))
            .map(StoredGame::size)
            .collect();
        sizes.sort_by_key(|size| (size.width(), size.height()));
        sizes.dedup();
        sizes
    }
}

fn random_symmetry(features: &Features, random: u64) -> Symmetry {
    let all = Symmetry::all(features.size);
    all[((u128::from(random) * all.len() as u128) >> 64) as usize]
}
