//! The configuration of a run, one TOML file: reading it, `--set` overrides, and errors that name the key, the value
//! and the fix.

mod fault;
pub mod keys;
mod overrides;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};

use tengen_evaluator::GateConfig;
use tengen_matches::usage;
use tengen_model::NetworkConfig;
use tengen_rules::{Rules, SettingError, Size, above, check_setting};
use tengen_samples::{SampleConfig, SymmetryMode, WindowConfig};
use tengen_selfplay::{BoardShare, SelfPlayConfig};
use tengen_trainer::TrainerConfig;

use crate::ledger::Ledger;
use fault::Fault;

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
    #[serde(with = "rules_text")]
    pub rules: Rules,
    /// The architecture of the network.
    pub network: NetworkConfig,
    /// How self-play games are set up, searched and kept finite.
    #[serde(default)]
    pub selfplay: SelfPlayConfig,
    /// Which games are trained on.
    #[serde(default)]
    pub window: WindowConfig,
    /// How games become training samples.
    #[serde(default)]
    pub samples: SampleConfig,
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

/// How self-play, the trainer and the gate work together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoopConfig {
    /// Number of self-play threads; 0 means one per core. 2 to 4 keep a GPU busy.
    pub workers: usize,
    /// Groups of lockstep games that each worker plays in turn, 1 to 1024. Use 1 on a CPU and 2 or more on a GPU.
    pub groups_per_worker: usize,
    /// Raises the visits of self-play's full searches during the run: pairs of (positions played, visits from then on)
    /// in ascending order. Before the first, `selfplay.search.visits` applies. A run learns fastest with few visits
    /// early and more later.
    pub later_visits: Vec<(u64, u32)>,
    /// Which mirror image of a position is trained on: `canonical` (the one the search evaluates) or `random`.
    pub symmetry: SymmetryMode,
    /// Training starts once the store has this many positions.
    pub start_positions: u64,
    /// Samples trained on per new position. 2 was best on small boards; larger values learn more from the same games
    /// but eventually overfit.
    pub reuse: f64,
    /// Self-play waits when it is this many positions ahead of the trainer. Larger values mean fewer pauses but older
    /// weights.
    pub lead_positions: u64,
    /// A shard is published when it is this many seconds old. Use a few seconds on small boards, where fresh games
    /// matter most.
    pub shard_seconds: f64,
    /// A shard is also published when it has this many positions.
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
    /// Whether self-play uses champions only; otherwise it uses the latest weights, which is better on small boards.
    pub champions_only: bool,
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

/// When a run ends: at the first limit reached. Limits count from the start of the run, across all resumes; 0 means no
/// limit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetConfig {
    /// Minutes of self-play and training, without pauses between resumes.
    pub minutes: f64,
    /// Maximum number of finished self-play games.
    pub games: u64,
    /// Maximum number of network evaluations in self-play.
    pub evaluations: u64,
    /// Maximum number of training steps.
    pub steps: u64,
}

impl BudgetConfig {
    /// The share of the budget that is spent, from 0 to 1 or more, for the limit closest to being reached; 0 without
    /// limits.
    pub fn spent(&self, ledger: &Ledger, games: u64, steps: u64) -> f64 {
        let shares = [
            (ledger.elapsed_seconds, self.minutes * 60.0),
            (games as f64, self.games as f64),
            (ledger.evaluations as f64, self.evaluations as f64),
            (steps as f64, self.steps as f64),
        ];
        let limited = shares.iter().filter(|(_, limit)| *limit > 0.0);
        limited.map(|(spent, limit)| spent / limit).fold(0.0, f64::max)
    }

    /// Whether any limit is set, so that the run ends by itself.
    pub fn is_limited(&self) -> bool {
        self.minutes > 0.0 || self.games > 0 || self.evaluations > 0 || self.steps > 0
    }
}

impl LoopConfig {
    /// Checks every setting's range.
    fn validate(&self) -> Result<(), SettingError> {
        check_setting("loop.workers", self.workers, 0..=4096)?;
        check_setting("loop.groups_per_worker", self.groups_per_worker, 1..=1024)?;
        self.check_later_visits()?;
        check_setting("loop.reuse", self.reuse, above(0.0, 1e6))?;
        check_setting("loop.lead_positions", self.lead_positions, 1..)?;
        check_setting("loop.shard_seconds", self.shard_seconds, above(0.0, 1e9))?;
        check_setting("loop.shard_positions", self.shard_positions, 1..)?;
        check_setting("loop.spool_mib", self.spool_mib, 0..=1 << 30)?;
        check_setting("loop.patience_seconds", self.patience_seconds, 0.0..=1e9)?;
        check_setting("loop.weights_every_steps", self.weights_every_steps, 1..)?;
        check_setting("loop.candidate_every_steps", self.candidate_every_steps, 1..)?;
        check_setting("loop.checkpoint_seconds", self.checkpoint_seconds, 0.0..=1e9)?;
        check_setting("loop.checkpoints_kept", self.checkpoints_kept, 1..)
    }

    /// Checks that every entry has visits and more positions than the one before it.
    fn check_later_visits(&self) -> Result<(), SettingError> {
        let mut before = None;
        for (number, &(positions, visits)) in self.later_visits.iter().enumerate() {
            let refuse = |expected: String| {
                let key = format!("loop.later_visits[{number}]");
                Err(SettingError::new(key, format!("[{positions}, {visits}]"), expected))
            };
            match before {
                _ if visits == 0 => return refuse("[positions, visits] with 1 visit or more".to_owned()),
                Some((earlier, of)) if positions <= earlier => {
                    return refuse(format!("more positions than [{earlier}, {of}], the entry before it"));
                }
                _ => before = Some((positions, visits)),
            }
        }
        Ok(())
    }
}

/// Collects the values of all keys of a section, whose own key is `prefix`; lists count as values.
fn flatten(prefix: &str, section: &toml::Table, all: &mut BTreeMap<String, String>) {
    for (name, value) in section {
        match value {
            toml::Value::Table(section) => flatten(&format!("{prefix}{name}."), section, all),
            value => {
                all.insert(format!("{prefix}{name}"), value.to_string());
            }
        }
    }
}

impl RunConfig {
    /// Reads a config file and applies `--set key=value` overrides.
    ///
    /// # Errors
    /// A usage error for a bad override or for a store in place of the file; all other errors are about the file.
    pub fn load(path: &Path, overrides: &[String]) -> anyhow::Result<RunConfig> {
        refuse_store(path)?;
        let text = std::fs::read_to_string(path).with_context(|| {
            format!(
                "cannot read the config {}; configs/5x5.toml is an example",
                path.display()
            )
        })?;
        let in_file = |fault: &Fault| match line_of(&text, &fault.key) {
            Some(line) => anyhow!("{}, line {line}: {fault}", path.display()),
            None => anyhow!("{}: {fault}", path.display()),
        };
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| anyhow!("{}: {}", path.display(), error.to_string().trim_end()))?;
        let config = fault::read(&table).map_err(|fault| in_file(&fault))?;
        config.override_with(table, overrides, in_file)
    }

    /// Applies `--set key=value` overrides to a configuration that does not come from a file.
    ///
    /// # Errors
    /// A usage error for a bad override; all other errors are about the configuration itself.
    pub fn with_overrides(&self, overrides: &[String]) -> anyhow::Result<RunConfig> {
        self.override_with(self.table()?, overrides, |fault| anyhow!("{fault}"))
    }

    /// Applies overrides to the table that the configuration was read from, and checks the result.
    fn override_with(
        &self,
        mut table: toml::Table,
        overrides: &[String],
        refuse: impl Fn(&Fault) -> anyhow::Error,
    ) -> anyhow::Result<RunConfig> {
        let assignments = overrides::parse(overrides)?;
        let mut config = self.clone();
        for assignment in &assignments {
            config = assignment.apply(&mut table)?;
        }
        let Err(fault) = config.check() else { return Ok(config) };
        match assignments.iter().find(|assignment| assignment.concerns(&fault.key)) {
            Some(assignment) => Err(assignment.refuse(&fault)),
            None if self.check().is_ok() => Err(overrides::refuse(&assignments, &fault)),
            None => Err(refuse(&fault)),
        }
    }

    /// The effective configuration as TOML with every key, except optional keys that are not set.
    pub fn table(&self) -> anyhow::Result<toml::Table> {
        Ok(toml::from_str(&toml::to_string(self)?)?)
    }

    /// The visits of self-play's full searches after `positions` positions of self-play.
    pub fn visits_at(&self, positions: u64) -> u32 {
        let reached = self
            .loop_config
            .later_visits
            .iter()
            .take_while(|(from, _)| *from <= positions);
        reached
            .last()
            .map_or(self.selfplay.search.visits, |&(_, visits)| visits)
    }

    /// The board sizes of self-play. The first is the board of the gate and the summary.
    pub fn sizes(&self) -> anyhow::Result<Vec<Size>> {
        let parse = |board: &BoardShare| {
            board
                .size
                .parse()
                .with_context(|| format!("selfplay.boards holds {:?}", board.size))
        };
        self.selfplay.boards.iter().map(parse).collect()
    }

    /// Names this configuration: the first 12 hexadecimal digits of the SHA-256 of its TOML.
    pub fn id(&self) -> anyhow::Result<String> {
        Ok(tengen_store::sha256_hex(toml::to_string(self)?.as_bytes())[..12].to_owned())
    }

    /// The keys whose values differ from those of an earlier configuration, such as `budget.minutes 1.0 -> 2.5`.
    pub(crate) fn changes_since(&self, earlier: &RunConfig) -> anyhow::Result<Vec<String>> {
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        flatten("", &earlier.table()?, &mut before);
        flatten("", &self.table()?, &mut after);
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let text = |values: &BTreeMap<String, String>, key| values.get(key).cloned().unwrap_or("unset".to_owned());
        Ok(keys
            .into_iter()
            .filter(|&key| before.get(key) != after.get(key))
            .map(|key| format!("{key} {} -> {}", text(&before, key), text(&after, key)))
            .collect())
    }

    fn check(&self) -> Result<(), Fault> {
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
        self.training.validate()?;
        self.loop_config.validate()?;
        self.gate.validate()?;
        check_setting("budget.minutes", self.budget.minutes, 0.0..=1e9)?;
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

/// Returns a usage error for a folder or an address in place of a config file.
fn refuse_store(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if path.join("run.json").is_file() || path.to_string_lossy().contains("://") {
        return Err(usage(format!(
            "{shown} is a store, but a config file is expected: name a file here and the store with --store {shown}; \
             `tengen config show {shown} > run.toml` writes the configuration of its run to a file"
        )));
    }
    if path.is_dir() {
        return Err(usage(format!(
            "{shown} is a folder, but a config file is expected, such as configs/5x5.toml"
        )));
    }
    Ok(())
}

/// The line, counted from 1, of a key in TOML text, or of the innermost enclosing section that exists.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let root = toml::de::DeTable::parse(text).ok()?;
    let root = toml::de::DeValue::Table(root.into_inner());
    let (mut here, mut start) = (&root, None);
    for part in keys::parts(key) {
        let next = match here {
            toml::de::DeValue::Array(_) => part.parse::<usize>().ok().and_then(|place| here.get(place)),
            _ => here.get(part),
        };
        let Some(next) = next else { break };
        start = Some(next.span().start);
        here = next.get_ref();
    }
    Some(1 + text[..start?].matches('\n').count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use toml::Table;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs")
    }

    fn configs() -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder()).expect("configs/ exists");
        files.map(|file| file.expect("readable").path()).collect()
    }

    fn text_of(file: &str) -> String {
        std::fs::read_to_string(folder().join(file)).expect("readable")
    }

    fn table_of(file: &str) -> Table {
        toml::from_str(&text_of(file)).expect("TOML")
    }

    /// Every key of a file, including those in lines such as `#key = value`, and whether a comment explains it: after
    /// the value or on the line above.
    fn stated(text: &str) -> Vec<(String, bool)> {
        let (mut section, mut above, mut found) = ("", "", Vec::new());
        for line in text.lines() {
            if let Some(header) = line.strip_prefix('[') {
                section = header.split(']').next().unwrap_or_default();
            } else if let Some((name, value)) = line.trim_start_matches('#').split_once(" = ")
                && !name.contains(' ')
            {
                let explained = above.starts_with("# ") || value.contains(" # ");
                found.push((keys::join(section, name), explained));
            }
            above = line;
        }
        found
    }

    /// The table without one of its keys.
    fn without(table: &Table, path: &str) -> Table {
        let (mut table, mut parts) = (table.clone(), path.split('.').rev());
        let name = parts.next().expect("a name");
        let mut here = &mut table;
        for section in parts.rev() {
            here = here[section].as_table_mut().expect("a section");
        }
        here.remove(name).expect("a key");
        table
    }

    fn effective(table: &Table) -> Result<String, Fault> {
        fault::read(table).map(|config| toml::to_string(&config).expect("TOML"))
    }

    /// The message of a load that fails.
    #[track_caller]
    fn message(overrides: &[&str]) -> String {
        let overrides: Vec<String> = overrides.iter().map(|set| (*set).to_owned()).collect();
        let error = RunConfig::load(&folder().join("5x5.toml"), &overrides).expect_err("refused");
        let wrong_use = error.is::<tengen_matches::UsageError>();
        assert!(wrong_use, "a bad override is a usage error: {error:#}");
        format!("{error:#}")
    }

    #[test]
    fn shipped_configs_load() {
        let configs = configs();
        assert!(configs.len() >= 5, "{configs:?}");
        for path in configs {
            RunConfig::load(&path, &[]).unwrap_or_else(|error| panic!("{error:?}"));
        }
    }

    #[test]
    fn all_keys_explains_every_key_and_no_other() {
        let stated = stated(&text_of("all-keys.toml"));
        let mut named: Vec<&str> = stated.iter().map(|(key, _)| key.as_str()).collect();
        let mut known: Vec<&str> = keys::leaves().collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
        let unexplained: Vec<_> = stated.iter().filter(|(_, explained)| !explained).collect();
        assert!(unexplained.is_empty(), "{unexplained:?}");
    }

    #[test]
    fn all_keys_holds_the_defaults() {
        let table = table_of("all-keys.toml");
        let whole = effective(&table).expect("loads");
        let mut required = Vec::new();
        for (key, _) in stated(&text_of("all-keys.toml")) {
            match keys::look_up(&table, &key).map(|_| effective(&without(&table, &key))) {
                Some(Ok(without)) => assert_eq!(without, whole, "{key} differs from its default"),
                Some(Err(_)) => required.push(key),
                // Off unless set.
                None => assert!(keys::default_of(&key).is_none(), "{key} has a default"),
            }
        }
        // Keys that are off unless set can be set as the file shows them.
        let given = text_of("all-keys.toml").replace("\n#", "\n").replace("\n ", "\n# ");
        effective(&toml::from_str(&given).expect("TOML")).expect("loads");
        let in_required = toml::from_str::<Table>(keys::REQUIRED).expect("TOML");
        let other = required.iter().find(|key| keys::look_up(&in_required, key).is_none());
        assert_eq!(other, None, "keys without a default");
    }

    #[test]
    fn configs_only_set_what_differs_from_the_defaults_and_explain_it() {
        for path in configs().iter().filter(|path| !path.ends_with("all-keys.toml")) {
            let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
            let table = table_of(file);
            let whole = effective(&table).expect("loads");
            for (key, explained) in stated(&text_of(file)) {
                assert!(explained, "{file}: no comment at {key}");
                let without = effective(&without(&table, &key));
                assert_ne!(without, Ok(whole.clone()), "{file}: {key} is at its default");
            }
        }
    }

    #[test]
    fn the_effective_configuration_can_be_loaded_again() {
        for path in configs() {
            let config = RunConfig::load(&path, &[]).expect("loads");
            let again = fault::read(&config.table().expect("TOML")).expect("loads");
            assert_eq!(again.id().expect("TOML"), config.id().expect("TOML"));
        }
    }

    /// Every key accepts or rejects any value, and accepted values can be used.
    #[test]
    fn odd_values_are_rejected_or_usable() {
        let odd = "-1 0 1 9223372036854775807 -9223372036854775808 -0.5 1e300 inf nan true 'x' '' [] {}";
        let path = folder().join("5x5.toml");
        let mut taken = 0;
        for key in keys::all().iter().map(|key| &key.path) {
            for value in odd.split(' ') {
                match RunConfig::load(&path, &[format!("{key}={value}")]) {
                    Err(error) => {
                        let message = format!("{error:#}");
                        assert!(message.starts_with(&format!("--set {key}={value}: ")), "{message}");
                        for foreign in [
                            "f64", "f32", "u64", "u32", "usize", "struct", "variant", "sequence", "TOML",
                        ] {
                            assert!(!message.contains(foreign), "{message}");
                        }
                    }
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

    #[test]
    fn overrides_replace_values() {
        let path = folder().join("5x5.toml");
        let load = |set: &str| RunConfig::load(&path, &[set.to_owned()]).expect("loads");
        assert_eq!(load("budget.minutes=0.5").budget.minutes, 0.5);
        assert_eq!(load("budget.minutes = 3").budget.minutes, 3.0);
        assert_eq!(load("name=other").name, "other");
        assert_eq!(load("name=7").name, "7");
        assert_eq!(
            load("selfplay.komi.fixed_fair=24.5").selfplay.komi.fixed_fair,
            Some(24.5)
        );
        assert_eq!(load("selfplay.komi={spread=1}").selfplay.komi.spread, 1.0);
        for rules in Rules::names() {
            assert_eq!(load(&format!("rules={rules}")).rules.name(), rules);
        }
        let settled = |rules: &str| RunConfig::load(&path, &["selfplay.end_when_settled=true".into(), rules.into()]);
        assert!(settled("rules=aga").expect("counts area").selfplay.end_when_settled);
    }

    #[test]
    fn bad_overrides_are_named_with_the_fix() {
        for (set, expected) in [
            (
                "budget.minutes",
                "--set takes KEY=VALUE, such as budget.minutes=10; found \"budget.minutes\"",
            ),
            ("=3", "--set takes KEY=VALUE"),
            ("minutes=3", "minutes is not a key; did you mean `budget.minutes`?"),
            (
                "training.lr=1",
                "training.lr is not a key; did you mean `training.learning_rate`?",
            ),
            (
                "budget.minuts=3",
                "budget.minuts is not a key; did you mean `budget.minutes`?",
            ),
            (
                "komi=7",
                "komi is not a key; did you mean `selfplay.komi.uniform_share`, `selfplay.komi.spread` or",
            ),
            (
                "gate.colour=3",
                "gate.colour is not a key; the keys of gate are always_promote, games,",
            ),
            (
                "colour=3",
                "colour is not a key; configs/all-keys.toml explains every key",
            ),
            (
                "name.inner=3",
                "name is a single value, not a section: set all of it, such as name=\"5x5\"",
            ),
            (
                "selfplay.boards[0].size=7",
                "selfplay.boards is a single value, not a section: set all of it, such as \
                 selfplay.boards=[{ size = \"9x9\", share = 1.0 }]",
            ),
            (
                "selfplay.boards=5x5",
                "selfplay.boards is \"5x5\": expected a list, such as [{ size = \"9x9\", share = 1.0 }]",
            ),
            (
                "selfplay.boards=[{size=5}]",
                "selfplay.boards[0].size is 5: expected text, such as \"5x5\"",
            ),
            (
                "selfplay.boards=[{}]",
                "selfplay.boards[0].size is missing: expected a value, such as \"5x5\"",
            ),
            (
                "selfplay.boards=[{size=\"5x\"}]",
                "selfplay.boards[0].size is \"5x\": expected WIDTHxHEIGHT or one number",
            ),
            (
                "selfplay.boards=[{size=\"5x5\", share=0}]",
                "selfplay.boards[0].share is 0: expected above 0, up to",
            ),
            (
                "selfplay.boards=[]",
                "selfplay.boards is []: expected at least one board",
            ),
            (
                "selfplay.boards=[5]",
                "selfplay.boards[0] is 5: expected a section in braces, such as { share = 1.0, size = \"5x5\" }",
            ),
            (
                "selfplay.boards=[{size=\"5x5\", shares=2}]",
                "selfplay.boards[0].shares is not a key: expected a value, such as [{ size = \"9x9\", share = 1.0 }]",
            ),
            (
                "selfplay.komi=7",
                "selfplay.komi is 7: expected a section with the keys uniform_share, spread, fixed_fair, such as \
                 selfplay.komi.uniform_share=0.2",
            ),
            (
                "selfplay.komi=[]",
                "selfplay.komi is []: expected a section with the keys",
            ),
            (
                "selfplay.end_when_settled=1",
                "selfplay.end_when_settled is 1: expected true or false, such as false",
            ),
            (
                "selfplay.decided_value=1.5",
                "selfplay.decided_value is 1.5: expected 0 to 1",
            ),
            (
                "selfplay.opening.max_random_plies=0",
                "selfplay.opening.max_random_plies is 0: expected 1 to 1000",
            ),
            (
                "selfplay.search.visits=-3",
                "selfplay.search.visits is -3: expected a whole number from 0 to 4294967295",
            ),
            (
                "selfplay.search.visits=0",
                "selfplay.search.visits is 0: expected 1 or more",
            ),
            (
                "selfplay.search.margin_share=2",
                "selfplay.search.margin_share is 2: expected 0 to 1",
            ),
            (
                "training.optimizer=adam",
                "training.optimizer is \"adam\": expected adamw or sgd",
            ),
            (
                "training.optimizer=3",
                "training.optimizer is \"3\": expected adamw or sgd",
            ),
            (
                "training.learning_rate=fast",
                "--set training.learning_rate=fast: training.learning_rate is \"fast\": expected a number, such as \
                 0.003",
            ),
            (
                "training.learning_rate=0",
                "training.learning_rate is 0: expected above 0, up to 100",
            ),
            (
                "training.batch=1.5",
                "training.batch is 1.5: expected a whole number, 0 or more, such as 128",
            ),
            (
                "window.base_positions=0",
                "window.base_positions is 0: expected 1 or more",
            ),
            ("window.fraction=-0.1", "window.fraction is -0.1: expected 0 to 1"),
            ("window.fraction=nan", "window.fraction is NaN: expected 0 to 1"),
            ("loop.workers=100000", "loop.workers is 100000: expected 0 to 4096"),
            (
                "loop.later_visits=8",
                "loop.later_visits is 8: expected a list, such as [[100000, 16], [1000000, 32]]",
            ),
            (
                "loop.later_visits=[[5]]",
                "loop.later_visits[0] is [5]: expected a list of 2 values, such as [[",
            ),
            (
                "loop.later_visits=[[5, 0]]",
                "loop.later_visits[0] is [5, 0]: expected [positions, visits] with 1 visit",
            ),
            (
                "loop.later_visits=[[500, 8], [200, 16]]",
                "loop.later_visits[1] is [200, 16]: expected more positions than [500, 8], the entry before it",
            ),
            (
                "gate.openings=some",
                "gate.openings: 'some' does not describe openings: expected none, first-moves",
            ),
            (
                "gate.openings=book:a.sgf",
                "gate.openings is book:a.sgf: expected none, first-moves or random, not a book",
            ),
            ("gate.games=1", "gate.games is 1: expected 2 or more"),
            (
                "gate.sprt.alpha=0.5",
                "gate.sprt.alpha is 0.5: expected above 0, below 0.5",
            ),
            (
                "gate.sprt.elo0=60",
                "gate.sprt.elo1 is 50: expected more than elo0, which is 60",
            ),
            ("rules=japanese", "rules: "),
            (
                "rules=aga,button=yes",
                "rules: games between machines do not support the button",
            ),
            (
                "name=",
                "name is \"\": expected 1 to 100 letters, digits, `-`, `_` and `.`",
            ),
            ("name=a/b", "name is \"a/b\": expected 1 to 100 letters"),
            ("name=..", "name is \"..\": expected 1 to 100 letters"),
            ("name=a..b", "name is \"a..b\": expected"),
            ("name=é", "name is \"é\": expected"),
            ("seed=-1", "seed is -1: expected a whole number, 0 or more, such as 1"),
            ("network.blocks=0", "network.blocks is 0: expected 1 to 128"),
            (
                "samples.result_share=1.5",
                "samples.result_share is 1.5: expected 0 to 1",
            ),
        ] {
            let found = message(&[set]);
            assert!(
                found.contains(expected),
                "{set}\nexpected: {expected}\nfound:    {found}"
            );
        }
    }

    #[test]
    fn conflicting_overrides_are_all_named() {
        let twice = message(&["budget.minutes=1", "gate.games=8", "budget.minutes=2"]);
        assert_eq!(
            twice,
            "--set gives budget.minutes twice: budget.minutes=1 and budget.minutes=2; leave one out"
        );
        let settled = message(&["selfplay.end_when_settled=true", "rules=japanese2008"]);
        assert!(
            settled
                .starts_with("--set selfplay.end_when_settled=true: selfplay.end_when_settled is true: expected false"),
            "{settled}"
        );
        // The key that becomes invalid is not among the overrides.
        let spread = message(&["gate.sprt.elo0=60", "gate.games=8"]);
        assert!(
            spread.starts_with("--set gate.sprt.elo0=60 --set gate.games=8: gate.sprt.elo1 is 50"),
            "{spread}"
        );
    }

    #[test]
    fn errors_in_a_file_name_the_line() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("mine.toml");
        let refused = |text: &str, overrides: &[&str]| {
            std::fs::write(&path, text).expect("writable");
            let overrides: Vec<String> = overrides.iter().map(|set| (*set).to_owned()).collect();
            let error = RunConfig::load(&path, &overrides).expect_err("refused");
            assert!(!error.is::<tengen_matches::UsageError>(), "{error:#}");
            let message = format!("{error:#}");
            message
                .strip_prefix(&path.display().to_string())
                .expect(&message)
                .to_owned()
        };
        let begin = "name = \"a\"\nrules = \"aga\"\nnetwork = { blocks = 1, channels = 8 }\n";
        for (rest, expected) in [
            (
                "[budget]\nminutes = \"ten\"",
                ", line 5: budget.minutes is \"ten\": expected a number, such as 0.0",
            ),
            (
                "[budget]\n\nminuts = 3",
                ", line 6: budget.minuts is not a key; did you mean `budget.minutes`?",
            ),
            (
                "minutes = 3",
                ", line 4: minutes is not a key; did you mean `budget.minutes`?",
            ),
            ("[gate]\nvisits = 0", ", line 5: gate.visits is 0: expected 1 or more"),
            (
                "[loop]\nlater_visits = [\n  [9, 1],\n  [8, 1],\n]",
                ", line 7: loop.later_visits[1] is [8, 1]: expected more positions",
            ),
            (
                "gate = 3",
                ", line 4: gate is 3: expected a section with the keys always_promote",
            ),
            ("[gate", ": TOML parse error at line 4"),
        ] {
            let found = refused(&format!("{begin}{rest}"), &[]);
            assert!(found.starts_with(expected), "expected: {expected}\nfound:    {found}");
        }
        let found = refused("name = \"a\"\nrules = \"aga\"", &[]);
        assert_eq!(found, ": network.blocks is missing: expected a value, such as 4");
        let found = refused(&format!("{begin}[gate]\nvisits = 0"), &["budget.minutes=1"]);
        assert!(found.starts_with(", line 5: gate.visits is 0"), "{found}");
    }
}
