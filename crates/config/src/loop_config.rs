//! How self-play, the trainer, and the gate work together.

use serde::{Deserialize, Serialize};

use tengen_model::{ConfigError, NetworkConfig};
use tengen_rules::{Setting, SettingError, above, check_schedule, check_setting};
use tengen_samples::SymmetryMode;

/// How self-play, the trainer and the gate work together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoopConfig {
    /// Number of self-play threads; 0 means one per core, `auto` as many as a measurement finds best. 2 to 4 keep a GPU
    /// busy.
    pub workers: Setting<usize>,
    /// Groups of lockstep games that each worker plays in turn, 1 to 1024. Use 1 on a CPU and 2 or more on a GPU.
    pub groups_per_worker: Setting<usize>,
    /// Raises the visits of self-play's full searches during the run: pairs of (positions played, visits from then on)
    /// in ascending order. Before the first, `selfplay.search.visits` applies. A run learns fastest with few visits
    /// early and more later.
    pub later_visits: Vec<(u64, u32)>,
    /// Raises the visits by progress: they double with every candidate that the gate rejects, up to this many; 0 means
    /// they do not. Larger values search longer once the network stops improving.
    pub stalled_visits: u32,
    /// Larger networks during the run: pairs of (positions played, network from then on, such as `b5c64`) in ascending
    /// order. The larger network starts with the outputs of the smaller one. Before the first, `network` applies. Small
    /// networks play and learn several times faster while there is little to know.
    pub grow: Vec<(u64, String)>,
    /// Which mirror image of a position is trained on: `canonical` (the one the search evaluates) or `random`.
    pub symmetry: SymmetryMode,
    /// The share of the budget from which training uses the canonical image alone, whatever `symmetry` says; 1 means
    /// never. A small network learns faster from all images, and ends stronger if it has to know only one of them.
    pub canonical_from: f64,
    /// Training starts once the store has this many positions.
    pub start_positions: u64,
    /// Samples trained on per new position, including those of cheap searches and of openings (random plies, forks, and
    /// books), which are never drawn. 1 was best on 5x5, 0.5 with `full_share = 0.25` on 9x9; larger values learn more
    /// from the same games, but leave time for fewer of them and eventually overfit.
    pub reuse: f64,
    /// Share of the games, chosen by a hash of their ids, that are never trained on. The losses on them tell learning
    /// from remembering. Larger values measure more precisely but leave fewer games to learn from.
    pub held_out: f64,
    /// The network is validated on the held-out games and on the window after every so many training steps.
    pub validate_every_steps: u64,
    /// Self-play waits when it is this many positions ahead of the trainer. Larger values mean fewer pauses but older
    /// weights.
    pub lead_positions: u64,
    /// A shard is published when it is this many seconds old. Use a few seconds on small boards, where fresh games
    /// matter most.
    pub shard_seconds: f64,
    /// A shard is also published when it has this many positions, or a quarter of `lead_positions`.
    pub shard_positions: u64,
    /// MiB of finished games that may wait on this machine's disk while the store is unreachable; 0 disables waiting.
    /// Self-play pauses when this space is full and the trainer is too far behind.
    pub spool_mib: u64,
    /// How many seconds the run waits for an unreachable or full store before it ends.
    pub patience_seconds: f64,
    /// Self-play gets new weights after every so many training steps.
    pub weights_every_steps: u64,
    /// A candidate model is published for the gate after every so many training steps.
    pub candidate_every_steps: u64,
    /// Seconds between checkpoints, the most training that `kill -9` can lose.
    pub checkpoint_seconds: f64,
    /// Number of checkpoints to keep; older ones are deleted.
    pub checkpoints_kept: usize,
    /// How often processes that share the run look for each other's news in the store, seconds. Larger values ask the
    /// store less often but let workers play longer with old weights.
    pub look_seconds: f64,
    /// Whether the trainer of several processes merges the small shards of old generations every ten minutes. `tengen
    /// data merge` does it by hand.
    pub merge_old_games: bool,
    /// Whether self-play uses champions only; otherwise it uses the latest weights, which is better on small boards.
    pub champions_only: bool,
}

impl Default for LoopConfig {
    fn default() -> Self {
        LoopConfig {
            workers: Setting::Is(0),
            groups_per_worker: Setting::Is(1),
            later_visits: Vec::new(),
            stalled_visits: 0,
            grow: Vec::new(),
            symmetry: SymmetryMode::Canonical,
            canonical_from: 1.0,
            start_positions: 2000,
            reuse: 2.0,
            held_out: 0.05,
            validate_every_steps: 100,
            lead_positions: 2000,
            shard_seconds: 1.0,
            shard_positions: 50_000,
            spool_mib: 1024,
            patience_seconds: 600.0,
            weights_every_steps: 10,
            candidate_every_steps: 500,
            checkpoint_seconds: 20.0,
            checkpoints_kept: 2,
            look_seconds: 2.0,
            merge_old_games: true,
            champions_only: false,
        }
    }
}

impl LoopConfig {
    /// Which mirror image of a position is trained on when this share of the budget is spent.
    pub fn symmetry_at(&self, spent: f64) -> SymmetryMode {
        if self.canonical_from < 1.0 && spent >= self.canonical_from {
            return SymmetryMode::Canonical;
        }
        self.symmetry
    }

    /// Checks every setting's range.
    pub(crate) fn validate(&self) -> Result<(), SettingError> {
        self.workers.check("loop.workers", 0..=4096)?;
        self.groups_per_worker.check("loop.groups_per_worker", 1..=1024)?;
        self.check_later_visits()?;
        check_setting("loop.canonical_from", self.canonical_from, 0.0..=1.0)?;
        check_setting("loop.reuse", self.reuse, above(0.0, 1e6))?;
        check_setting("loop.held_out", self.held_out, 0.0..=0.5)?;
        check_setting("loop.validate_every_steps", self.validate_every_steps, 1..)?;
        check_setting("loop.lead_positions", self.lead_positions, 1..)?;
        check_setting("loop.shard_seconds", self.shard_seconds, above(0.0, 1e9))?;
        check_setting("loop.shard_positions", self.shard_positions, 1..)?;
        check_setting("loop.spool_mib", self.spool_mib, 0..=1 << 30)?;
        check_setting("loop.patience_seconds", self.patience_seconds, 0.0..=1e9)?;
        check_setting("loop.weights_every_steps", self.weights_every_steps, 1..)?;
        check_setting("loop.candidate_every_steps", self.candidate_every_steps, 1..)?;
        check_setting("loop.checkpoint_seconds", self.checkpoint_seconds, 0.0..=1e9)?;
        check_setting("loop.look_seconds", self.look_seconds, above(0.0, 3600.0))?;
        check_setting("loop.checkpoints_kept", self.checkpoints_kept, 1..)
    }

    /// Checks that every network of the run can grow into the next one.
    pub(crate) fn check_grow(&self, network: &NetworkConfig) -> Result<(), SettingError> {
        let mut before = network.clone();
        for (number, (positions, name)) in self.grow.iter().enumerate() {
            check_setting(&format!("loop.grow[{number}][0]"), *positions, 1..)?;
            let refuse = |expected: String| {
                let key = format!("loop.grow[{number}]");
                Err(SettingError::new(key, format!("[{positions}, {name:?}]"), expected))
            };
            let Ok(next) = grown(network, name) else {
                return refuse("[positions, network] with a network such as \"b5c64\"".to_owned());
            };
            if !before.can_grow_into(&next) {
                return refuse(format!("a larger network than {}", before.name()));
            }
            before = next;
        }
        check_schedule("loop.grow", &self.grow)
    }

    /// Checks that every entry has visits and more positions than the one before it.
    fn check_later_visits(&self) -> Result<(), SettingError> {
        for (number, &(_, visits)) in self.later_visits.iter().enumerate() {
            check_setting(&format!("loop.later_visits[{number}][1]"), visits, 1..)?;
        }
        check_schedule("loop.later_visits", &self.later_visits)
    }
}

/// The network with the blocks and channels that `name` states, otherwise like the run's first network.
pub(crate) fn grown(first: &NetworkConfig, name: &str) -> Result<NetworkConfig, ConfigError> {
    let NetworkConfig { blocks, channels, .. } = name.parse()?;
    Ok(NetworkConfig {
        blocks,
        channels,
        ..first.clone()
    })
}
