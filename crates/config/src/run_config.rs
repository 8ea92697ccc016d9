//! The configuration of a run, and the checks that decide whether it can be used.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use tengen_evaluator::GateConfig;
use tengen_model::NetworkConfig;
use tengen_reanalysis::ReanalysisConfig;
use tengen_rules::{Rules, SettingError, Size, check_setting, value_at};
use tengen_samples::{SampleConfig, TrainConfig, WindowConfig};
use tengen_selfplay::{BoardShare, SelfPlayConfig};
use tengen_trainer::{Schedule, TrainerConfig};

use crate::budget::BudgetConfig;
use crate::fault::Fault;
use crate::inference::InferenceConfig;
use crate::keys;
use crate::loop_config::{LoopConfig, grown};

/// Everything that defines a run. Unknown keys are rejected. `configs/all-keys.toml` explains every key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The name of the experiment and of its store's folder: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The seed of every random choice in the run, 0 to 2^63 - 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// The rules of all games, in their variant for play between machines.
    pub rules: Rules,
    /// The architecture of the network.
    pub network: NetworkConfig,
    /// What networks compute on.
    #[serde(default)]
    pub inference: InferenceConfig,
    /// How self-play games are set up, searched and kept finite.
    #[serde(default)]
    pub selfplay: SelfPlayConfig,
    /// Which games are trained on.
    #[serde(default)]
    pub window: WindowConfig,
    /// How games become training samples.
    #[serde(default)]
    pub samples: SampleConfig,
    /// Searching old games again with the newest network.
    #[serde(default)]
    pub reanalysis: ReanalysisConfig,
    /// The loss, the optimizer and the learning-rate schedule.
    #[serde(default)]
    pub training: TrainerConfig,
    /// How self-play, the trainer and the gate work together.
    #[serde(rename = "loop", default)]
    pub loop_config: LoopConfig,
    /// The match between a new model and the champion.
    #[serde(default)]
    pub gate: GateConfig,
    /// The limits at which the run ends.
    #[serde(default)]
    pub budget: BudgetConfig,
    /// Training on games of any origin with `tengen train FILE`, and before a run that begins with another model.
    #[serde(default)]
    pub train: TrainConfig,
}

fn one() -> u64 {
    1
}

/// How far a run has come, which settings can depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Positions of self-play in the store.
    pub positions: u64,
    /// Candidates that the gate has rejected.
    pub rejected: u32,
    /// The share of the budget that is spent, 0 to 1.
    pub spent: f64,
}

impl RunConfig {
    /// The effective configuration as TOML with every key, except optional keys that are not set.
    pub fn table(&self) -> anyhow::Result<toml::Table> {
        Ok(toml::from_str(&toml::to_string(self)?)?)
    }

    /// The visits of self-play's full searches once the run has come this far.
    pub fn visits_at(&self, progress: Progress) -> u32 {
        let LoopConfig {
            later_visits,
            stalled_visits,
            ..
        } = &self.loop_config;
        let planned = value_at(later_visits, progress.positions)
            .copied()
            .unwrap_or(self.selfplay.search.visits);
        let doublings = 2u32.saturating_pow(progress.rejected);
        planned.saturating_mul(doublings).min(planned.max(*stalled_visits))
    }

    /// The network that is trained after `positions` positions of self-play.
    pub fn network_at(&self, positions: u64) -> NetworkConfig {
        let last = value_at(&self.loop_config.grow, positions).and_then(|name| grown(&self.network, name).ok());
        last.unwrap_or_else(|| self.network.clone())
    }

    /// The board sizes of self-play, each once. The first is the board of the gate and the summary.
    pub fn sizes(&self) -> anyhow::Result<Vec<Size>> {
        self.sizes_from(0)
    }

    /// The board sizes that self-play still uses once the store holds this many positions, each once.
    ///
    /// # Errors
    /// If a board cannot be parsed.
    pub fn sizes_from(&self, positions: u64) -> anyhow::Result<Vec<Size>> {
        let parse = |board: &BoardShare| {
            board
                .size
                .parse::<Size>()
                .with_context(|| format!("selfplay.boards holds {:?}", board.size))
        };
        let mut sizes = Vec::new();
        let ahead = |board: &&BoardShare| board.until.is_none_or(|until| positions < until);
        for board in self.selfplay.boards.iter().filter(ahead) {
            let size = parse(board)?;
            if !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        Ok(sizes)
    }

    /// An id of this configuration: the first 12 hexadecimal digits of the SHA-256 of its TOML.
    pub fn id(&self) -> anyhow::Result<String> {
        Ok(tengen_store::sha256_hex(toml::to_string(self)?.as_bytes())[..12].to_owned())
    }

    /// The keys whose values differ from those of an earlier configuration, such as `budget.minutes 1.0 -> 2.5`.
    ///
    /// # Errors
    /// If a configuration cannot be written as TOML.
    pub fn changes_since(&self, earlier: &RunConfig) -> anyhow::Result<Vec<String>> {
        let (before, after) = (keys::values(&earlier.table()?), keys::values(&self.table()?));
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let text = |values: &BTreeMap<String, String>, key| values.get(key).cloned().unwrap_or("unset".to_owned());
        Ok(keys
            .into_iter()
            .filter(|&key| before.get(key) != after.get(key))
            .map(|key| format!("{key} {} -> {}", text(&before, key), text(&after, key)))
            .collect())
    }

    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.check_name()?;
        check_setting("seed", self.seed, 0..=i64::MAX as u64)?;
        let rules = self.rules.check_for_machines();
        rules.map_err(|error| Fault::new("rules", format!("rules: {error}")))?;
        self.network.validate()?;
        self.selfplay.validate()?;
        self.selfplay.check_rules(self.rules)?;
        check_setting("selfplay.search.visits", self.selfplay.search.visits, 1..)?;
        self.window.validate()?;
        self.samples.validate()?;
        self.reanalysis.validate()?;
        self.training.validate()?;
        self.loop_config.validate()?;
        self.loop_config.check_grow(&self.network)?;
        self.gate.validate()?;
        self.budget.validate()?;
        self.train.validate()?;
        // Training on the games of `train.from` ends by itself.
        let ends = self.budget.is_limited() || !self.train.from.is_empty();
        if self.training.schedule == Schedule::Budget && !ends {
            let message = "training.schedule is budget, but no limit in [budget] is set: set one, or use cosine";
            return Err(Fault::new("training.schedule", message.to_owned()));
        }
        Ok(())
    }

    /// The name becomes part of paths, so it must not lead out of the folder of runs.
    fn check_name(&self) -> Result<(), SettingError> {
        let name = &self.name;
        let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        match (1..=100).contains(&name.len())
            && name.chars().all(is_good)
            && !name.starts_with('.')
            && !name.contains("..")
        {
            true => Ok(()),
            false => {
                let expected = "1 to 100 letters, digits, `-`, `_` and `.`, with no `.` in front and no `..`";
                Err(SettingError::new("name", format!("{name:?}"), expected))
            }
        }
    }
}
