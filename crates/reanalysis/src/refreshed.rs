//! The newest reanalyzed games, for the trainer.

use tengen_encoding::Sample;
use tengen_rng::SplitMix64;
use tengen_rules::{Rules, Size};
use tengen_samples::{
    Loader, OwnershipFrom, PolicyFrom, ReadShard, SampleConfig, SampleError, SampleSource, SymmetryMode, Teaching,
    ValueFrom, Window, WindowConfig,
};
use tengen_store::{Create, GamesOf, ShardInfo, Store};

use crate::config::ReanalysisConfig;
use crate::store_in;

/// The reanalyzed games to train on. They reach as far back as the window of self-play, in proportion to their share.
pub struct Refreshed {
    config: ReanalysisConfig,
    store: Store,
    source: SampleSource,
    loader: Loader,
    /// The shards of the window, and at first also older ones.
    shards: Vec<ShardInfo>,
    is_loaded: bool,
}

impl Refreshed {
    /// Opens the store of a run's reanalyzed games; [`Refreshed::admit_ready`] reads them. Games on other boards or
    /// under other rules are left out. `replies` says whether samples come with the opponent's policy at the next turn.
    ///
    /// # Errors
    /// If the store fails or a thread cannot be started.
    pub fn open(
        run: &Store,
        config: ReanalysisConfig,
        samples: SampleConfig,
        boards: (Vec<Size>, Rules),
        replies: bool,
    ) -> Result<Refreshed, SampleError> {
        let store = store_in(run, Create::Always)?;
        let source = SampleSource::for_store(&store, samples)
            .with_replies(replies)
            .teaching(Teaching {
                policy: PolicyFrom::Labels,
                value: ValueFrom::Mixed,
                ownership: OwnershipFrom::Counted,
                sizes: boards.0,
                rules: boards.1,
            });
        let mut loader = source.loader(&store);
        let shards = store.games().list_shards(&GamesOf::Imported)?;
        loader.skip(&shards);
        Ok(Refreshed {
            config,
            loader,
            source,
            shards,
            store,
            is_loaded: false,
        })
    }

    /// Hands a new shard to the threads that read and check games. Never waits.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn offer(&mut self, shard: ShardInfo) -> Result<(), SampleError> {
        self.loader.offer(shard)
    }

    /// Takes in the shards that are ready, at first also those of earlier processes, and drops those that are too old
    /// for `window` positions of self-play. Damaged shards are named in the log and skipped.
    ///
    /// # Errors
    /// [`SampleError`] if the store or its cache fails.
    pub fn admit_ready(&mut self, window: u64) -> Result<(), SampleError> {
        let ready = self.loader.take_ready()?;
        if ready.is_empty() && self.is_loaded {
            return Ok(());
        }
        for shard in &ready {
            if let Some(reason) = shard.damage() {
                tracing::warn!("{} is damaged and was quarantined: {reason}", shard.info().path);
            }
        }
        let good: Vec<ReadShard> = ready.into_iter().filter(ReadShard::has_games).collect();
        self.shards.extend(good.iter().map(|shard| shard.info().clone()));
        let wanted = WindowConfig {
            base_positions: ((window as f64 * self.config.per_row()) as u64).max(1),
            fraction: 0.0,
        };
        let window = Window::select(&self.shards, wanted);
        let load = self.source.load_window_with(good, &self.store, &window, |_, _| {})?;
        for (path, reason) in &load.quarantined {
            tracing::warn!("{path} is damaged and was quarantined: {reason}");
        }
        self.is_loaded = true;
        self.shards = window.shards;
        Ok(())
    }

    /// Positions of the reanalyzed games to draw from, including those that were not searched again.
    pub fn positions(&self) -> u64 {
        self.source.positions()
    }

    /// The reanalyzed part of a batch of `batch` samples: the share, rounded at random by the seed. Empty if there are
    /// no reanalyzed games.
    pub fn draw(&self, batch: usize, seed: u64, mode: SymmetryMode) -> Vec<Sample> {
        let mut random = SplitMix64::new(seed);
        // 53 bits, so that the number is below 1.
        let u = (random.bits() >> 11) as f64 / 2f64.powi(53);
        let count = ((batch as f64 * self.config.share + u) as usize).min(batch);
        self.source.draw_samples(count, random.bits(), mode).unwrap_or_default()
    }
}
