//! Reads the file of a sweep and plans its runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use tengen_evaluator::{MatchConfig, Openings};
use tengen_matches::{Asked, Conditions, TrainedOn, read_book, usage};
use tengen_rules::{Komi, Size, check_setting};
use tengen_run::{RunConfig, keys};
use tengen_store::Store;

use crate::factorial::Factorial;

/// A sweep as its file describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepFile {
    name: String,
    base: PathBuf,
    #[serde(default)]
    set: toml::Table,
    /// What is compared: arms with seeds, …
    #[serde(default)]
    arms: Vec<ChangeFile>,
    #[serde(default)]
    seeds: Vec<u64>,
    /// … or factors with a number of runs.
    #[serde(default)]
    factors: Vec<ChangeFile>,
    runs: Option<usize>,
    #[serde(default)]
    rating: RatingPlan,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeFile {
    name: String,
    #[serde(default)]
    set: toml::Table,
}

impl SweepFile {
    /// What is compared.
    fn design(&self) -> anyhow::Result<Design> {
        match (self.arms.is_empty(), self.factors.is_empty()) {
            (false, true) => Ok(Design::Arms(self.arms()?)),
            (true, false) => Ok(Design::Factors(self.factorial()?)),
            (false, false) => Err(usage(
                "a sweep has either [[arms]], which are compared with the first one, or [[factors]], of which each run \
                 has its own half",
            )),
            (true, true) => Err(usage(
                "a sweep needs [[arms]] and seeds, such as seeds = [1, 2, 3, 4], or [[factors]] and runs, such as runs \
                 = 16",
            )),
        }
    }

    fn arms(&self) -> anyhow::Result<Vec<Change>> {
        if self.seeds.is_empty() {
            return Err(usage("a sweep of arms needs seeds, such as seeds = [1, 2, 3, 4]"));
        }
        if self.runs.is_some() {
            return Err(usage(
                "`runs` is for sweeps of factors; every arm runs once with each of the seeds",
            ));
        }
        reject_twice("seeds", &self.seeds.iter().map(u64::to_string).collect::<Vec<_>>())?;
        changes("arms", &self.arms)
    }

    fn factorial(&self) -> anyhow::Result<Factorial> {
        let factors = changes("factors", &self.factors)?;
        let mut set_by = BTreeMap::new();
        for factor in &factors {
            if factor.set.is_empty() {
                return Err(usage(format!("the factor {} sets nothing", factor.name)));
            }
            for key in factor.set.keys() {
                if let Some(other) = set_by.insert(key, &factor.name) {
                    return Err(usage(format!(
                        "the factors {other} and {} both set {key}, but some runs have both factors",
                        factor.name
                    )));
                }
            }
        }
        let factorial = Factorial { factors };
        let (count, smallest) = (factorial.factors.len(), factorial.smallest());
        let needed = format!("with {count} factors, runs must be {smallest} or a multiple of it");
        match self.runs {
            _ if !self.seeds.is_empty() => Err(usage(
                "a sweep of factors has no seeds; each run has its own, the first run 1",
            )),
            Some(runs) if runs > 0 && runs.is_multiple_of(smallest) => Ok(factorial),
            Some(runs) => Err(usage(format!("{needed}; found runs = {runs}"))),
            None => Err(usage(format!("{needed}, but the file has no runs"))),
        }
    }

    /// The names of all runs and their seeds, in the order of the design.
    fn names_and_seeds(&self, design: &Design) -> Vec<(String, u64)> {
        match design {
            Design::Arms(arms) => {
                let of_seed = |&seed: &u64| {
                    arms.iter()
                        .map(move |arm| (format!("{}-s{seed}", slug(&arm.name)), seed))
                };
                self.seeds.iter().flat_map(of_seed).collect()
            }
            Design::Factors(_) => (1..=self.runs.unwrap_or(0) as u64)
                .map(|seed| (format!("run-{seed:02}"), seed))
                .collect(),
        }
    }
}

/// How the models of the runs are rated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RatingPlan {
    /// Games of each match (usual 20 to 100). More games make ratings more certain.
    pub games: u32,
    /// Visits per move (usual 16 to 100).
    pub visits: u32,
    /// Models of each run, spread evenly over its length and always including the last one (usual 4). More models show
    /// more of the learning curve but take more matches.
    pub models: usize,
    /// Komi of all matches; `None` means fair komi according to the last model of the first run.
    pub komi: Option<Komi>,
    /// How pairs of games start.
    pub openings: Openings,
    /// The seed of openings and players.
    pub seed: u64,
}

impl Default for RatingPlan {
    fn default() -> RatingPlan {
        RatingPlan {
            games: 40,
            visits: 32,
            models: 4,
            komi: None,
            openings: "random:4".parse().expect("a valid opening"),
            seed: 1,
        }
    }
}

/// A change of the base configuration: an arm or a factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name in tables and curves.
    pub name: String,
    /// The keys that it sets, with their values as TOML.
    pub set: BTreeMap<String, String>,
}

impl Change {
    fn of(file: &ChangeFile) -> Change {
        Change {
            name: file.name.clone(),
            set: keys::values(&file.set),
        }
    }

    /// What it sets, as `key=value`.
    pub fn settings(&self) -> Vec<String> {
        settings(&self.set)
    }
}

/// Which run has which changes. The names of changes differ in their slugs.
#[derive(Clone, Debug)]
pub enum Design {
    /// Each run has one arm. The arms take turns, seed by seed, so that early results cover all of them.
    Arms(Vec<Change>),
    /// Each run has its own half of the factors, and its own seed.
    Factors(Factorial),
}

impl Design {
    /// The changes that a run has; `run` is its index in the plan.
    pub fn of_run(&self, run: usize) -> Vec<&Change> {
        match self {
            Design::Arms(arms) => vec![&arms[run % arms.len()]],
            Design::Factors(factorial) => factorial.of_run(run).collect(),
        }
    }
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Its seed.
    pub seed: u64,
    /// The name of its store: `<arm>-s<seed>`, or `run-<number>` in a sweep of factors.
    pub name: String,
    /// Its whole configuration.
    pub config: RunConfig,
}

/// A sweep: the runs, and how their models are rated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the sweep and of its folder.
    pub name: String,
    /// Which run has which changes.
    pub design: Design,
    /// All runs, in the order in which they begin.
    pub runs: Vec<PlannedRun>,
    /// How their models are rated.
    pub rating: RatingPlan,
}

impl Plan {
    /// Reads a sweep's file and the base configuration that it names by a path relative to the file.
    ///
    /// # Errors
    /// If a file cannot be read, a key is unknown or out of range, a run would never end, two arms have the same name,
    /// two factors set the same key, the number of runs does not suit the factors, or runs play on different boards or
    /// under different rules.
    pub fn load(path: &Path) -> anyhow::Result<Plan> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the sweep {shown}"))?;
        let file: SweepFile =
            toml::from_str(&text).map_err(|error| usage(format!("{shown}: {}", error.to_string().trim_end())))?;
        let base = path.parent().unwrap_or(Path::new("")).join(&file.base);
        Plan::of(file, &base).with_context(|| format!("in the sweep {shown}"))
    }

    fn of(file: SweepFile, base: &Path) -> anyhow::Result<Plan> {
        let rating = &file.rating;
        check_setting("rating.games", rating.games, 2..).map_err(|error| usage(error.to_string()))?;
        check_setting("rating.visits", rating.visits, 1..).map_err(|error| usage(error.to_string()))?;
        check_setting("rating.models", rating.models, 1..).map_err(|error| usage(error.to_string()))?;
        let design = file.design()?;
        let common = keys::values(&file.set);
        let mut runs = Vec::new();
        for (run, (name, seed)) in file.names_and_seeds(&design).into_iter().enumerate() {
            let changes = design.of_run(run);
            let mut values = common.clone();
            values.extend(changes.iter().flat_map(|change| change.set.clone()));
            values.insert("name".to_owned(), format!("\"{name}\""));
            values.insert("seed".to_owned(), seed.to_string());
            let about = || match changes.len() {
                0 => format!("the run {name}, without any factor"),
                1..=3 => {
                    let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
                    format!("the run {name}: {}", names.join(", "))
                }
                count => format!("the run {name}, with {count} factors"),
            };
            let config = RunConfig::load(base, &settings(&values)).with_context(about)?;
            runs.push(PlannedRun { seed, name, config });
        }
        check_runs(&runs)?;
        Ok(Plan {
            name: slug(&file.name),
            design,
            runs,
            rating: file.rating,
        })
    }

    /// The settings of all matches, chosen for the last model of the first run, whose store is `store`.
    ///
    /// # Errors
    /// If the store cannot be read, or if the opening book does not exist.
    pub fn match_config(&self, store: &Store) -> anyhow::Result<MatchConfig> {
        let (run, rating) = (&self.runs[0], &self.rating);
        let model = store
            .models()
            .list()?
            .pop()
            .with_context(|| format!("the run {} has no models", run.name))?;
        let training = TrainedOn::of(&run.name, &store.models().info(&model)?, store.run_info()?.as_ref());
        let Conditions { size, komi, rules } = training.conditions(Asked {
            size: run.config.sizes()?.first().copied(),
            komi: rating.komi,
            rules: Some(run.config.rules),
        });
        Ok(MatchConfig {
            size,
            komi,
            rules,
            games: rating.games as usize,
            openings: read_book(rating.openings.clone(), size, None)?,
            seed: rating.seed,
            parallel: 64,
            ..MatchConfig::default()
        })
    }
}

/// The changes that a file describes; `what` is what it calls them.
fn changes(what: &str, files: &[ChangeFile]) -> anyhow::Result<Vec<Change>> {
    let changes: Vec<Change> = files.iter().map(Change::of).collect();
    reject_twice(
        what,
        &changes.iter().map(|change| slug(&change.name)).collect::<Vec<_>>(),
    )?;
    Ok(changes)
}

/// Values by key as `key=value`.
fn settings(values: &BTreeMap<String, String>) -> Vec<String> {
    values.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// A name in a form that is safe in paths: lowercase letters, digits, `.`, and `-`.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars() {
        match character.is_ascii_alphanumeric() || (character == '.' && !slug.is_empty()) {
            true => slug.push(character.to_ascii_lowercase()),
            false if slug.ends_with('-') || slug.is_empty() => {}
            false => slug.push('-'),
        }
    }
    slug.trim_end_matches(['-', '.']).to_owned()
}

fn reject_twice(what: &str, names: &[String]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| name.is_empty() || !seen.insert(*name)) {
        Some(name) if name.is_empty() => Err(usage(format!("one of the {what} has no name with a letter or digit"))),
        Some(name) => Err(usage(format!("two of the {what} are called {name}"))),
        None => Ok(()),
    }
}

/// Checks that runs end and that their models can meet.
fn check_runs(runs: &[PlannedRun]) -> anyhow::Result<()> {
    let mut played: BTreeMap<(Size, String), &str> = BTreeMap::new();
    for run in runs {
        if !run.config.budget.is_limited() {
            return Err(usage(
                "a run of a sweep must end: set a limit, such as budget.cpu_seconds = 600 or budget.steps = 5000",
            ));
        }
        let board = run.config.sizes()?[0];
        played.insert((board, run.config.rules.to_string()), &run.name);
    }
    match played.len() {
        1 => Ok(()),
        _ => Err(usage(format!(
            "all runs must play on the same board under the same rules; found {}",
            played
                .iter()
                .map(|((board, rules), name)| format!("{board} under {rules} in {name}"))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> anyhow::Result<Plan> {
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
        Plan::of(toml::from_str(text).expect("TOML of a sweep"), &configs)
    }

    fn error_of(text: &str) -> String {
        format!("{:#}", plan(text).expect_err("an invalid sweep"))
    }

    const TWO: &str = r#"
        name = "Few visits"
        base = ""
        seeds = [1, 2]
        set.training.schedule = "constant"
        set.budget.cpu_seconds = 60
        [[arms]]
        name = "8"
        [[arms]]
        name = "4 visits, quick"
        set.selfplay.search.visits = 4
        set.budget.cpu_seconds = 30
    "#;

    #[test]
    fn every_arm_runs_with_every_seed() {
        let plan = plan(TWO).expect("a valid sweep");
        let runs: Vec<_> = plan
            .runs
            .iter()
            .map(|run| {
                let config = &run.config;
                let budget = config.budget.cpu_seconds;
                (run.name.as_str(), config.seed, config.selfplay.search.visits, budget)
            })
            .collect();
        assert_eq!(
            runs,
            [
                ("8-s1", 1, 8, 60.0),
                ("4-visits-quick-s1", 1, 4, 30.0),
                ("8-s2", 2, 8, 60.0),
                ("4-visits-quick-s2", 2, 4, 30.0),
            ]
        );
        assert_eq!(plan.name, "few-visits");
        assert_eq!(
            plan.design.of_run(1)[0].settings(),
            ["budget.cpu_seconds=30", "selfplay.search.visits=4"]
        );
    }

    const FACTORS: &str = r#"
        name = "Three at once"
        base = ""
        runs = 16
        set.budget.cpu_seconds = 60
        set.training.batch = 32
        [[factors]]
        name = "4 visits"
        set.selfplay.search.visits = 4
        [[factors]]
        name = "large batches"
        set.training.batch = 256
        [[factors]]
        name = "tree reuse"
        set.selfplay.tree_reuse = true
    "#;

    #[test]
    fn every_run_has_its_own_half_of_the_factors() {
        let plan = plan(FACTORS).expect("a valid sweep");
        let run = |index: usize| {
            let PlannedRun { name, config, .. } = &plan.runs[index];
            let (visits, batch) = (config.selfplay.search.visits, config.training.batch);
            (name.as_str(), config.seed, visits, batch, config.selfplay.tree_reuse)
        };
        assert_eq!(run(0), ("run-01", 1, 8, 32, false), "the base, with what all runs set");
        assert_eq!(run(1), ("run-02", 2, 4, 256, true), "everything");
        assert_eq!(run(2), ("run-03", 3, 4, 32, false));
        assert_eq!(run(3), ("run-04", 4, 8, 256, true));
        assert_eq!(run(8), ("run-09", 9, 8, 32, false), "the base again, with another seed");
        assert_eq!(plan.runs.len(), 16);
    }

    #[test]
    fn factors_that_cannot_be_told_apart_are_refused() {
        let refused = |from: &str, to: &str| error_of(&FACTORS.replace(from, to));
        assert!(refused("runs = 16", "runs = 12").contains("8 or a multiple of it; found runs = 12"));
        assert!(refused("runs = 16", "runs = 0").contains("found runs = 0"));
        assert!(refused("runs = 16", "").contains("the file has no runs"));
        assert!(refused("runs = 16", "runs = 16\nseeds = [1]").contains("has no seeds"));
        assert!(refused("training.batch = 256", "selfplay.search.visits = 16").contains("both set"));
        assert!(refused("set.selfplay.tree_reuse = true", "").contains("tree reuse sets nothing"));
        assert!(refused("large batches", "4 visits").contains("two of the factors are called 4-visits"));
        assert!(refused("visits = 4", "visits = 0").contains("the run run-02: 4 visits, large batches"));
        assert!(error_of(&format!("{TWO}\n[[factors]]\nname = \"x\"")).contains("either [[arms]]"));
        assert!(refused("[[factors]]", "[[arms]]").contains("needs seeds"));
        assert!(error_of(&TWO.replace("seeds = [1, 2]", "seeds = [1]\nruns = 2")).contains("for sweeps of factors"));
        assert!(error_of("name = \"x\"\nbase = \"\"").contains("needs [[arms]] and seeds"));
    }

    #[test]
    fn shipped_sweeps_load() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sweeps");
        for file in std::fs::read_dir(folder).expect("a folder of sweeps") {
            let path = file.expect("a file").path();
            if path.is_dir() {
                continue; // base configurations of sweeps
            }
            let plan = Plan::load(&path).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
            let runs = plan.runs.len();
            let (changes, is_enough) = match &plan.design {
                Design::Arms(arms) => (arms.len(), runs >= 3 * arms.len()),
                Design::Factors(factorial) => (factorial.factors.len(), runs >= factorial.smallest()),
            };
            assert!(changes > 1 && is_enough, "{}: {runs} runs of {changes}", path.display());
        }
    }

    #[test]
    fn errors_name_the_arm_and_the_key() {
        assert!(error_of(&TWO.replace("seeds = [1, 2]", "seeds = [2, 2]")).contains("two of the seeds are called 2"));
        assert!(error_of(&TWO.replace("4 visits, quick", "8")).contains("two of the arms are called 8"));
        assert!(error_of(&TWO.replace("4 visits, quick", "§")).contains("no name"));
        assert!(error_of(&TWO.replace("visits = 4", "visit = 4")).contains("the run 4-visits-quick-s1: 4 visits"));
        let endless = "set.budget = { cpu_seconds = 0, minutes = 0 }";
        assert!(error_of(&TWO.replace("set.budget.cpu_seconds = 60", endless)).contains("must end"));
        let larger = "set.selfplay.boards = [{ size = \"7x7\" }]";
        assert!(error_of(&TWO.replace("set.selfplay.search.visits = 4", larger)).contains("same board"));
        assert!(error_of(&format!("{TWO}\n[rating]\ngames = 0")).contains("rating.games"));
    }
}
