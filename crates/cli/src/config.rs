//! One TOML file is a whole experiment: reading it, `--set` overrides, and errors that name the nearest known key.

use crate::output::usage;
use crate::run::Ledger;
use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tengen_evaluator::GateConfig;
use tengen_network::NetworkConfig;
use tengen_records::{SampleConfig, SymmetryMode, WindowConfig};
use tengen_rules::{Rules, Size};
use tengen_selfplay::{BoardShare, SelfPlayConfig};
use tengen_trainer::TrainerConfig;

/// Everything that defines a run. Unknown keys are refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    /// What people call the experiment.
    pub(crate) name: String,
    /// Every random choice of the run derives from it; 0 to 2^63 - 1.
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// The rules of all games, played as between machines.
    #[serde(with = "rules_text")]
    pub(crate) rules: Rules,
    /// The network's architecture.
    pub(crate) network: NetworkConfig,
    /// How self-play games are set up, searched and kept finite.
    #[serde(default)]
    pub(crate) selfplay: SelfPlayConfig,
    /// Which games are trained on.
    #[serde(default)]
    pub(crate) window: WindowConfig,
    /// How training samples are made of games.
    #[serde(default)]
    pub(crate) samples: SampleConfig,
    /// Loss, optimiser and schedule.
    #[serde(default)]
    pub(crate) training: TrainerConfig,
    /// How self-play, trainer and gate keep step.
    #[serde(rename = "loop", default)]
    pub(crate) pace: LoopConfig,
    /// The match between a new model and the champion.
    #[serde(default)]
    pub(crate) gate: GateConfig,
    /// When the run ends.
    #[serde(default)]
    pub(crate) budget: BudgetConfig,
}

/// Rules as text in config files.
mod rules_text {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use tengen_rules::Rules;

    pub(super) fn serialize<S: Serializer>(rules: &Rules, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(rules)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rules, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

fn one() -> u64 {
    1
}

/// How self-play, trainer and gate keep step with each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LoopConfig {
    /// Self-play threads; 0 means one for each core. On a GPU 2 to 4 feed it.
    pub(crate) workers: usize,
    /// Groups of lockstep games each worker plays in turn; 1 on a CPU, 2 or more on a GPU.
    pub(crate) groups_per_worker: usize,
    /// More visits for self-play's full searches as it goes on: pairs of (self-play positions made, visits from then
    /// on), ascending; before the first of them `selfplay.search.visits` counts. Few early and more later learn fastest.
    pub(crate) later_visits: Vec<(u64, u32)>,
    /// Which mirror image of a position is trained on: `canonical` (the one the search evaluates) or `random`.
    pub(crate) symmetry: SymmetryMode,
    /// Positions in the store before training starts.
    pub(crate) start_positions: u64,
    /// Samples trained for each new position. 2 was best on small boards; larger learns more from the same games but
    /// later overfits.
    pub(crate) reuse: f64,
    /// Self-play waits when it is this many positions ahead of the trainer. Larger is smoother and less fresh.
    pub(crate) lead_positions: u64,
    /// A shard is published when it is this old, in seconds. A few on small boards, where fresh games are worth most.
    pub(crate) shard_seconds: f64,
    /// A shard is published when it holds this many positions.
    pub(crate) shard_positions: u64,
    /// MiB of finished games that may wait on this machine's disk while the store is away; 0: none. Self-play stops when
    /// they are more and the trainer is too far behind.
    pub(crate) spool_mib: u64,
    /// Seconds the run waits for a store that is away or full before it ends.
    pub(crate) patience_seconds: f64,
    /// Self-play takes new weights every so many training steps.
    pub(crate) weights_every_steps: u64,
    /// A model is published and put before the gate every so many training steps.
    pub(crate) candidate_every_steps: u64,
    /// Seconds between checkpoints: what a `kill -9` can cost the trainer.
    pub(crate) checkpoint_seconds: f64,
    /// Checkpoints kept.
    pub(crate) checkpoints_kept: usize,
    /// `false`: self-play follows the latest weights (small boards). `true`: it follows champions only.
    pub(crate) champions_only: bool,
}

impl Default for LoopConfig {
    fn default() -> Self {
        LoopConfig {
            workers: 0,
            groups_per_worker: 1,
            later_visits: Vec::new(),
            symmetry: SymmetryMode::Canonical,
            start_positions: 2000,
            reuse: 2.0,
            lead_positions: 2000,
            shard_seconds: 1.0,
            shard_positions: 50_000,
            spool_mib: 1024,
            patience_seconds: 600.0,
            weights_every_steps: 10,
            candidate_every_steps: 500,
            checkpoint_seconds: 20.0,
            checkpoints_kept: 2,
            champions_only: false,
        }
    }
}

/// When a run ends: at the first limit reached. Limits count since the run's beginning, over all resumes; 0 means none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BudgetConfig {
    /// Minutes of self-play and training, pauses between resumes not counted.
    pub(crate) minutes: f64,
    /// Self-play games.
    pub(crate) games: u64,
    /// Network evaluations in self-play.
    pub(crate) evaluations: u64,
    /// Training steps.
    pub(crate) steps: u64,
}

impl BudgetConfig {
    /// The share of the budget that is spent, 0 to 1 and beyond: that of the limit nearest to its end; 0 without limits.
    pub(crate) fn spent(&self, ledger: &Ledger, games: u64, steps: u64) -> f64 {
        let shares = [
            (ledger.elapsed_seconds, self.minutes * 60.0),
            (games as f64, self.games as f64),
            (ledger.evaluations as f64, self.evaluations as f64),
            (steps as f64, self.steps as f64),
        ];
        let limited = shares.iter().filter(|(_, limit)| *limit > 0.0);
        limited.map(|(spent, limit)| spent / limit).fold(0.0, f64::max)
    }

    /// Whether the run ends at all.
    pub(crate) fn is_limited(&self) -> bool {
        self.minutes > 0.0 || self.games > 0 || self.evaluations > 0 || self.steps > 0
    }
}

impl RunConfig {
    /// Reads a config file and applies `--set key=value` overrides.
    pub(crate) fn load(path: &Path, overrides: &[String]) -> anyhow::Result<RunConfig> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!(
                "cannot read the config {}; configs/5x5.toml is an example",
                path.display()
            )
        })?;
        // On its own first, so that errors keep their line.
        let config: RunConfig = parse(&text).with_context(|| format!("in {}", path.display()))?;
        let config = match overrides.is_empty() {
            true => config,
            false => {
                let mut table: toml::Table = toml::from_str(&text)?;
                for assignment in overrides {
                    set(&mut table, assignment)?;
                }
                parse(&toml::to_string(&table)?).context("after the --set overrides")?
            }
        };
        config.check().with_context(|| format!("in {}", path.display()))?;
        Ok(config)
    }

    /// The visits of self-play's full searches once `positions` were made.
    pub(crate) fn visits_at(&self, positions: u64) -> u32 {
        let reached = self.pace.later_visits.iter().take_while(|(from, _)| *from <= positions);
        reached
            .last()
            .map_or(self.selfplay.search.visits, |&(_, visits)| visits)
    }

    /// The board sizes.
    pub(crate) fn sizes(&self) -> anyhow::Result<Vec<Size>> {
        let parse = |board: &BoardShare| {
            board
                .size
                .parse()
                .with_context(|| format!("selfplay.boards holds {:?}", board.size))
        };
        self.selfplay.boards.iter().map(parse).collect()
    }

    /// Names this configuration: the first 12 hexadecimal digits of the SHA-256 of its TOML.
    pub(crate) fn id(&self) -> anyhow::Result<String> {
        Ok(tengen_records::sha256_hex(toml::to_string(self)?.as_bytes())[..12].to_owned())
    }

    fn check(&self) -> anyhow::Result<()> {
        self.network.validate()?;
        self.selfplay.validate()?;
        self.selfplay.check_rules(self.rules)?;
        self.training.validate()?;
        self.samples.validate()?;
        self.gate.validate().map_err(anyhow::Error::msg)?;
        let rules = self.rules.check_for_machines();
        rules.with_context(|| format!("rules = \"{}\"", self.rules))?;
        let pace = &self.pace;
        let above_0 = f64::MIN_POSITIVE..1e9;
        let broken = [
            (self.seed >= 1 << 63, "seed must be below 2^63"),
            (
                self.selfplay.search.visits == 0,
                "selfplay.search.visits must be at least 1",
            ),
            (pace.groups_per_worker == 0, "loop.groups_per_worker must be at least 1"),
            (
                pace.later_visits.iter().any(|v| v.1 == 0),
                "loop.later_visits: a search needs at least 1 visit",
            ),
            (
                !pace.later_visits.is_sorted_by_key(|v| v.0),
                "loop.later_visits must ascend",
            ),
            (!above_0.contains(&pace.reuse), "loop.reuse must be above 0"),
            (pace.lead_positions == 0, "loop.lead_positions must be at least 1"),
            (
                !above_0.contains(&pace.shard_seconds),
                "loop.shard_seconds must be above 0",
            ),
            (
                !(0.0..1e9).contains(&pace.checkpoint_seconds),
                "loop.checkpoint_seconds must be 0 or more",
            ),
            (
                !(0.0..1e9).contains(&pace.patience_seconds),
                "loop.patience_seconds must be 0 or more",
            ),
            (pace.spool_mib > 1 << 30, "loop.spool_mib must be at most 2^30"),
            (
                !(0.0..=1.0).contains(&self.window.fraction),
                "window.fraction must be 0 to 1",
            ),
            (pace.workers > 4096, "loop.workers must be at most 4096"),
            (
                !(0.0..1e9).contains(&self.budget.minutes),
                "budget.minutes must be 0 or more",
            ),
            (pace.shard_positions == 0, "loop.shard_positions must be at least 1"),
            (
                pace.weights_every_steps == 0,
                "loop.weights_every_steps must be at least 1",
            ),
            (
                pace.candidate_every_steps == 0,
                "loop.candidate_every_steps must be at least 1",
            ),
            (pace.checkpoints_kept == 0, "loop.checkpoints_kept must be at least 1"),
        ];
        match broken.iter().find(|(broken, _)| *broken) {
            Some((_, reason)) => bail!("{reason}"),
            None => Ok(()),
        }
    }
}

/// Parses TOML into `T`; an unknown key's error also names the nearest known one.
fn parse<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    toml::from_str(text).map_err(|error| {
        let message = error.to_string();
        match nearest_known(&message) {
            Some(known) => anyhow::anyhow!("{}\ndid you mean `{known}`?", message.trim_end()),
            None => anyhow::anyhow!("{}", message.trim_end()),
        }
    })
}

/// The known key nearest to the unknown one in serde's "unknown field `x`, expected one of `a`, `b`".
fn nearest_known(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("unknown field `")?;
    let mut quoted = rest.split('`').step_by(2).map(str::to_owned);
    let unknown = quoted.next()?;
    let distance = |known: &String| strsim::damerau_levenshtein(&unknown, known);
    quoted
        .filter(|known| !known.is_empty() && distance(known) <= 3)
        .min_by_key(distance)
}

/// Sets `a.b=value` in a table; the value is TOML where it parses as such, else a string.
fn set(table: &mut toml::Table, assignment: &str) -> anyhow::Result<()> {
    let Some((path, value)) = assignment.split_once('=') else {
        return Err(usage(format!(
            "--set takes KEY=VALUE, such as budget.minutes=10; found {assignment:?}"
        )));
    };
    let value = match toml::from_str::<toml::Table>(&format!("v = {value}")) {
        Ok(mut parsed) => parsed
            .remove("v")
            .unwrap_or_else(|| toml::Value::String(value.to_owned())),
        Err(_) => toml::Value::String(value.to_owned()),
    };
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut here = table;
    for key in keys {
        let entry = here
            .entry(key)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        here = match entry {
            toml::Value::Table(inner) => inner,
            _ => return Err(usage(format!("--set {path}: `{key}` is a value, not a section"))),
        };
    }
    here.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs() -> Vec<std::path::PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let files = std::fs::read_dir(folder).expect("configs/ exists");
        files.map(|file| file.expect("readable").path()).collect()
    }

    #[test]
    fn shipped_configs_load() {
        let configs = configs();
        assert!(configs.len() >= 4, "{configs:?}");
        for path in configs {
            RunConfig::load(&path, &[]).unwrap_or_else(|error| panic!("{error:?}"));
        }
    }

    /// Any value of any key is taken or refused; what is taken can be used.
    #[test]
    fn odd_values_are_refused_or_bearable() {
        let odd = "-1 0 1 9223372036854775807 -9223372036854775808 -0.5 1e300 inf nan true 'x' '' [] {}";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let text = std::fs::read_to_string(&path).expect("readable");
        let table: toml::Table = toml::from_str(&text).expect("TOML");
        let of_section = |(section, value): (&String, &toml::Value)| match value.as_table() {
            Some(inner) => inner.keys().map(|key| format!("{section}.{key}")).collect(),
            None => vec![section.clone()],
        };
        let mut taken = 0;
        for key in table.iter().flat_map(of_section) {
            for value in odd.split(' ') {
                match RunConfig::load(&path, &[format!("{key}={value}")]) {
                    Err(error) => assert!(!format!("{error:#}").is_empty()),
                    Ok(config) => {
                        taken += 1;
                        let _ = (config.sizes(), config.id(), config.budget.is_limited());
                        let _ = [0, 1, 1000, u64::MAX].map(|positions| config.visits_at(positions));
                    }
                }
            }
        }
        assert!(taken > 100, "{taken}");
    }

    /// Every key a config can hold stands, with a comment, in the shipped files.
    #[test]
    fn shipped_configs_state_every_key() {
        fn keys(prefix: &str, table: &toml::Table, into: &mut Vec<String>) {
            for (key, value) in table {
                match value {
                    toml::Value::Table(inner) => keys(&format!("{prefix}{key}."), inner, into),
                    _ => into.push(format!("{prefix}{key}")),
                }
            }
        }
        for path in configs() {
            let text = std::fs::read_to_string(&path).expect("readable");
            // This key is written only when it is true.
            let on = "network.pass_alive_inputs=true".to_owned();
            let config = RunConfig::load(&path, &[on]).expect("loads");
            let (mut known, mut stated) = (Vec::new(), Vec::new());
            keys("", &toml::Table::try_from(&config).expect("a table"), &mut known);
            keys("", &toml::from_str(&text).expect("TOML"), &mut stated);
            let missing: Vec<_> = known.iter().filter(|key| !stated.contains(key)).collect();
            assert!(missing.is_empty(), "{} leaves out {missing:?}", path.display());
            for line in text.lines().filter(|line| line.contains('=') && !line.starts_with('#')) {
                assert!(line.contains('#'), "{}: no comment at: {line}", path.display());
            }
        }
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        let error = parse::<BudgetConfig>("minuts = 3").expect_err("unknown");
        assert!(error.to_string().contains("did you mean `minutes`?"), "{error}");
    }

    #[test]
    fn overrides() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        let load = |set: &str| RunConfig::load(&path, &[set.to_owned()]);
        assert_eq!(load("budget.minutes=0.5").expect("loads").budget.minutes, 0.5);
        assert_eq!(load("name=other").expect("loads").name, "other");
        for rules in Rules::names() {
            let config = load(&format!("rules={rules}")).expect("every named set");
            assert_eq!(config.rules.name(), rules);
        }
        for bad in [
            "budget.minutes",
            "name.inner=3",
            "budget.minuts=3",
            "loop.later_visits=[[5, 0]]",
            "rules=japanese",
            "rules=\"aga,button=yes\"",
            "selfplay.end_when_settled=1",
            "window.fraction=-0.1",
            "window.fraction=nan",
            "loop.workers=100000",
            "selfplay.boards=[{size=\"5x\"}]",
        ] {
            assert!(load(bad).is_err(), "{bad}");
        }
        let settled = |rules: &str| RunConfig::load(&path, &["selfplay.end_when_settled=true".into(), rules.into()]);
        assert!(settled("rules=aga").expect("counts area").selfplay.end_when_settled);
        let error = settled("rules=japanese2008").expect_err("counts territory");
        let error = format!("{error:#}");
        assert!(error.contains("selfplay.end_when_settled is true: expected false"), "{error}");
    }
}
