//! Which positions does the trainer see next? Drawn by weight from all positions of the window, by seed.

use std::collections::{BTreeMap, VecDeque};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tengen_rules::{Size, Symmetry};

use crate::features::Features;
use crate::inputs::{InputBatch, canvas_index};
use crate::random::SplitMix64;
use crate::record::{GameRecord, RecordError};
use crate::shards::ShardInfo;
use crate::store::Store;
use crate::store_error::{ShardReadError, StoreError};
use crate::stored_game::{Sample, StoredGame, planes_bytes};
use crate::window::Window;

/// Batches of at least this many samples are built on several threads.
const PARALLEL_BATCH: usize = 64;

/// Samples one thread builds at a time.
const PARALLEL_GRAIN: usize = 32;

/// Which mirror image of a drawn position is trained on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymmetryMode {
    /// The smallest one, the same for all images of a position.
    Canonical,
    /// One of all by chance: 8 on squares, 4 on other rectangles.
    Random,
}

/// How samples are made and how much memory they may take.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SampleConfig {
    /// Share of the game's result in the value target, 0 to 1; the rest is the search's value. Usual: 0.7. More is
    /// noisier and less biased.
    pub result_share: f32,
    /// Most positions kept in memory; beyond it the oldest shards are let go. Usual: 2000000.
    pub max_positions: u64,
    /// Bytes of ready bit planes kept in memory; positions beyond it are replayed when drawn. Usual: 268435456.
    pub cache_bytes: usize,
}

impl Default for SampleConfig {
    fn default() -> SampleConfig {
        SampleConfig {
            result_share: 0.7,
            max_positions: 2_000_000,
            cache_bytes: 256 << 20,
        }
    }
}

/// A batch of `B` samples on one canvas of `H` rows and `W` columns, `A = H * W`, ready for the trainer. All targets
/// are from the mover's view and in the frame of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingBatch {
    /// What the network sees.
    pub inputs: InputBatch,
    /// Policy targets, `[B, A + 1]`, the pass last; all 0 where there is no target.
    pub policy: Vec<f32>,
    /// 1 where there is a policy target, else 0, `[B]`.
    pub policy_weight: Vec<f32>,
    /// Mover's area minus opponent's at the end, points, without komi, `[B]`.
    pub board_margin: Vec<i32>,
    /// Targets for win, tie, loss, `[B, 3]`.
    pub value: Vec<f32>,
    /// Owners at the end, `[B, A]`: 1 mover, -1 opponent, 0 neither or off the board.
    pub ownership: Vec<f32>,
    /// Weight of each sample, `[B]`.
    pub weight: Vec<f32>,
}

/// The games of one shard in memory.
struct LoadedShard {
    key: String,
    games: Vec<StoredGame>,
    positions: u64,
    planes_bytes: usize,
}

/// What loading a window did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowLoad {
    /// Shards read now.
    pub loaded: usize,
    /// Shards let go.
    pub dropped: usize,
    /// Damaged shards met now: path and the reason of the quarantine.
    pub quarantined: Vec<(String, String)>,
}

/// The games of the window in memory, from which training batches are drawn.
pub struct SampleSource {
    config: SampleConfig,
    shards: VecDeque<LoadedShard>,
    /// For every game the sum of weights up to and with it, in the order of shards and games.
    cumulative: Vec<u64>,
    /// Shard and game of every entry of `cumulative`.
    places: Vec<(u32, u32)>,
    planes_bytes: usize,
}

impl SampleSource {
    /// A source without games.
    pub fn new(config: SampleConfig) -> SampleSource {
        SampleSource {
            config,
            shards: VecDeque::new(),
            cumulative: Vec::new(),
            places: Vec::new(),
            planes_bytes: 0,
        }
    }

    /// Adds the games of a shard as the newest ones; games without a score are left out. A key that is there already is
    /// left alone. The oldest shards go when the memory bound is met.
    ///
    /// # Errors
    /// [`RecordError`] when a game was not validated before and breaks the rules; then nothing is added.
    pub fn add_games(&mut self, key: &str, games: &[GameRecord]) -> Result<(), RecordError> {
        if self.contains(key) {
            return Ok(());
        }
        let shard = self.unpack(key, games)?;
        self.planes_bytes += shard.planes_bytes;
        self.shards.push_back(shard);
        while self.positions() > self.config.max_positions && self.shards.len() > 1 {
            self.drop_oldest();
        }
        self.index();
        Ok(())
    }

    fn unpack(&self, key: &str, games: &[GameRecord]) -> Result<LoadedShard, RecordError> {
        let mut room = self.config.cache_bytes.saturating_sub(self.planes_bytes);
        let mut fits = Vec::with_capacity(games.len());
        for game in games {
            let needed = planes_bytes(game);
            fits.push(needed <= room);
            if needed <= room {
                room -= needed;
            }
        }
        let unpacked: Result<Vec<_>, RecordError> = games
            .par_iter()
            .zip(fits)
            .map(|(game, fits)| StoredGame::unpack(game, fits))
            .collect();
        let games: Vec<_> = unpacked?.into_iter().flatten().collect();
        let positions = games.iter().map(|game| game.plies() as u64).sum();
        let planes_bytes = games.iter().map(StoredGame::planes_bytes).sum();
        Ok(LoadedShard {
            key: key.to_owned(),
            games,
            positions,
            planes_bytes,
        })
    }

    /// Whether a shard's games are in memory.
    pub fn contains(&self, key: &str) -> bool {
        self.shards.iter().any(|shard| shard.key == key)
    }

    /// Lets go of every shard for which `keep` says no; returns how many.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) -> usize {
        let before = self.shards.len();
        self.shards.retain(|shard| keep(&shard.key));
        self.planes_bytes = self.shards.iter().map(|shard| shard.planes_bytes).sum();
        self.index();
        before - self.shards.len()
    }

    /// Makes the source hold exactly the window's shards: reads and checks the new ones, lets go of the others. Damaged
    /// shards go into quarantine and are reported, not fatal. The games of each shard that is read are also shown to
    /// `see`.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails.
    pub fn load_window(
        &mut self,
        store: &Store,
        window: &Window,
        mut see: impl FnMut(&[GameRecord]),
    ) -> Result<WindowLoad, StoreError> {
        let shards = self.affordable(&window.shards);
        let places: BTreeMap<&str, usize> = shards
            .iter()
            .enumerate()
            .map(|(place, shard)| (shard.path.as_str(), place))
            .collect();
        let mut report = WindowLoad {
            dropped: self.retain(|key| places.contains_key(key)),
            ..WindowLoad::default()
        };
        for shard in shards {
            if self.contains(&shard.path) {
                continue;
            }
            match store.read_shard(shard) {
                Ok(games) => {
                    see(&games);
                    self.add_games(&shard.path, &games)
                        .expect("the store has replayed these games");
                    report.loaded += 1;
                }
                Err(ShardReadError::Quarantined { shard, reason }) => {
                    report.quarantined.push((shard, reason));
                }
                // Only a window that reaches beyond what pruning keeps meets this; its games are no more.
                Err(ShardReadError::Gone { .. }) => {}
                Err(ShardReadError::Store(error)) => return Err(error),
            }
        }
        let in_order = self.shards.make_contiguous();
        in_order.sort_by_key(|shard| places.get(shard.key.as_str()).copied());
        self.index();
        Ok(report)
    }

    /// The newest of the shards that fit into the memory bound together, at least one.
    fn affordable<'a>(&self, shards: &'a [ShardInfo]) -> &'a [ShardInfo] {
        let mut positions = 0;
        let fits = shards.iter().rev().take_while(|shard| {
            positions += shard.positions();
            positions <= self.config.max_positions
        });
        let count = fits.count().max(1).min(shards.len());
        &shards[shards.len() - count..]
    }

    fn drop_oldest(&mut self) {
        if let Some(shard) = self.shards.pop_front() {
            self.planes_bytes -= shard.planes_bytes;
        }
    }

    fn index(&mut self) {
        self.cumulative.clear();
        self.places.clear();
        let mut sum = 0;
        for (shard_number, shard) in self.shards.iter().enumerate() {
            for (game_number, game) in shard.games.iter().enumerate() {
                sum += game.total_weight();
                self.cumulative.push(sum);
                self.places.push((shard_number as u32, game_number as u32));
            }
        }
    }

    /// Positions of the games in memory.
    pub fn positions(&self) -> u64 {
        self.shards.iter().map(|shard| shard.positions).sum()
    }

    /// Games in memory.
    pub fn games(&self) -> usize {
        self.shards.iter().map(|shard| shard.games.len()).sum()
    }

    /// Bytes of memory the games take.
    pub fn memory_bytes(&self) -> usize {
        self.shards
            .iter()
            .flat_map(|shard| &shard.games)
            .map(StoredGame::memory_bytes)
            .sum()
    }

    /// Draws `count` samples with replacement, each position with a chance in proportion to its weight. The same games
    /// in the same order, count, seed and mode give the same samples, for any number of threads. `None` when there is
    /// nothing to draw.
    pub fn draw_samples(&self, count: usize, seed: u64, mode: SymmetryMode) -> Option<Vec<Sample>> {
        let total = self.cumulative.last().copied().filter(|&total| total > 0)?;
        let mut random = SplitMix64::new(seed);
        let picks: Vec<(u64, u64)> = (0..count).map(|_| (random.below(total), random.next())).collect();
        let build = |&(offset, symmetry): &(u64, u64)| self.build(offset, symmetry, mode);
        Some(if count < PARALLEL_BATCH {
            picks.iter().map(build).collect()
        } else {
            picks.par_iter().with_min_len(PARALLEL_GRAIN).map(build).collect()
        })
    }

    /// [`SampleSource::draw_samples`] as one batch, on the smallest canvas that holds every board drawn.
    pub fn draw(&self, count: usize, seed: u64, mode: SymmetryMode) -> Option<TrainingBatch> {
        self.draw_samples(count, seed, mode)
            .map(|samples| TrainingBatch::of(&samples))
    }

    fn build(&self, offset: u64, symmetry: u64, mode: SymmetryMode) -> Sample {
        let number = self.cumulative.partition_point(|&sum| sum <= offset);
        let before = if number == 0 { 0 } else { self.cumulative[number - 1] };
        let (shard, game) = self.places[number];
        let game = &self.shards[shard as usize].games[game as usize];
        game.sample(
            game.ply_at(offset - before),
            self.config.result_share,
            |features| match mode {
                SymmetryMode::Canonical => features.canonical_symmetry(),
                SymmetryMode::Random => random_symmetry(features, symmetry),
            },
        )
    }

    /// Every board size in memory, ordered.
    pub fn sizes(&self) -> Vec<Size> {
        let mut sizes: Vec<_> = self
            .shards
            .iter()
            .flat_map(|shard| &shard.games)
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

impl TrainingBatch {
    /// Puts samples side by side on the smallest canvas that holds every board.
    ///
    /// # Panics
    /// When there is no sample.
    pub fn of(samples: &[Sample]) -> TrainingBatch {
        let side = |get: fn(Size) -> usize| samples.iter().map(|sample| get(sample.features.size)).max();
        let (width, height) = side(Size::width)
            .zip(side(Size::height))
            .expect("a batch has at least one sample");
        let canvas = Size::new(width, height).expect("sides of boards are sides of a board");
        let (count, area) = (samples.len(), canvas.area());
        let mut batch = TrainingBatch {
            inputs: InputBatch::new(canvas),
            policy: vec![0.0; count * (area + 1)],
            policy_weight: samples.iter().map(|sample| sample.policy_weight).collect(),
            board_margin: samples.iter().map(|sample| sample.board_margin).collect(),
            value: samples.iter().flat_map(|sample| sample.value_target).collect(),
            ownership: vec![0.0; count * area],
            weight: samples.iter().map(|sample| sample.weight).collect(),
        };
        for (number, sample) in samples.iter().enumerate() {
            batch.inputs.push(&sample.features);
            write_policy(sample, canvas, &mut batch.policy[number * (area + 1)..][..area + 1]);
            write_ownership(sample, canvas, &mut batch.ownership[number * area..][..area]);
        }
        batch
    }

    /// Number of samples, `B`.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether the batch holds no sample.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }
}

fn write_policy(sample: &Sample, canvas: Size, target: &mut [f32]) {
    let size = sample.features.size;
    for &(index, probability) in &sample.policy {
        let index = usize::from(index);
        let place = if index == size.area() {
            canvas.area()
        } else {
            canvas_index(size, canvas, index)
        };
        target[place] += probability;
    }
}

fn write_ownership(sample: &Sample, canvas: Size, target: &mut [f32]) {
    let width = sample.features.size.width();
    for (row, owners) in sample.ownership.chunks_exact(width).enumerate() {
        for (value, &owner) in target[row * canvas.width()..].iter_mut().zip(owners) {
            *value = f32::from(owner);
        }
    }
}
