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

/// A sweep as its file describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepFile {
    name: String,
    base: PathBuf,
    seeds: Vec<u64>,
    #[serde(default)]
    set: toml::Table,
    arms: Vec<ArmFile>,
    #[serde(default)]
    rating: RatingPlan,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmFile {
    name: String,
    #[serde(default)]
    set: toml::Table,
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

/// One of the settings that a sweep compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// Its name in tables and curves.
    pub name: String,
    /// The keys in which it differs from the base configuration, as `key=value`.
    pub set: Vec<String>,
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Index of its arm.
    pub arm: usize,
    /// Its seed.
    pub seed: u64,
    /// The name of its store: `<arm>-s<seed>`.
    pub name: String,
    /// Its whole configuration.
    pub config: RunConfig,
}

/// A sweep: the runs, and how their models are rated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the sweep and of its folder.
    pub name: String,
    /// The arms; each is compared with the first one.
    pub arms: Vec<Arm>,
    /// All runs, seed by seed, so that early results cover all arms.
    pub runs: Vec<PlannedRun>,
    /// How their models are rated.
    pub rating: RatingPlan,
}

impl Plan {
    /// Reads a sweep's file and the base configuration that it names by a path relative to the file.
    ///
    /// # Errors
    /// If a file cannot be read, a key is unknown or out of range, a run would never end, two arms have the same name,
    /// or arms play on different boards or under different rules.
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
        if file.arms.is_empty() || file.seeds.is_empty() {
            return Err(usage("a sweep needs at least one arm and one seed"));
        }
        let slugs: Vec<String> = file.arms.iter().map(|arm| slug(&arm.name)).collect();
        reject_twice("arms", &slugs)?;
        reject_twice("seeds", &file.seeds.iter().map(u64::to_string).collect::<Vec<_>>())?;
        let mut runs = Vec::new();
        for &seed in &file.seeds {
            for (arm, slug) in slugs.iter().enumerate() {
                let mut values = keys::values(&file.set);
                values.extend(keys::values(&file.arms[arm].set));
                let name = format!("{slug}-s{seed}");
                values.insert("name".to_owned(), format!("\"{name}\""));
                values.insert("seed".to_owned(), seed.to_string());
                let settings: Vec<String> = values.iter().map(|(key, value)| format!("{key}={value}")).collect();
                let config =
                    RunConfig::load(base, &settings).with_context(|| format!("the arm {}", file.arms[arm].name))?;
                runs.push(PlannedRun {
                    arm,
                    seed,
                    name,
                    config,
                });
            }
        }
        check_runs(&runs)?;
        let arm = |arm: &ArmFile| Arm {
            name: arm.name.clone(),
            set: keys::values(&arm.set)
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect(),
        };
        Ok(Plan {
            arms: file.arms.iter().map(arm).collect(),
            name: slug(&file.name),
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
            "all arms must play on the same board under the same rules; found {}",
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
        assert_eq!(plan.arms[1].set, ["budget.cpu_seconds=30", "selfplay.search.visits=4"]);
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
            let (arms, runs) = (plan.arms.len(), plan.runs.len());
            assert!(
                arms > 1 && runs >= 3 * arms && runs.is_multiple_of(arms),
                "{}: {runs} runs of {arms} arms",
                path.display()
            );
        }
    }

    #[test]
    fn errors_name_the_arm_and_the_key() {
        assert!(error_of(&TWO.replace("seeds = [1, 2]", "seeds = [2, 2]")).contains("two of the seeds are called 2"));
        assert!(error_of(&TWO.replace("4 visits, quick", "8")).contains("two of the arms are called 8"));
        assert!(error_of(&TWO.replace("4 visits, quick", "§")).contains("no name"));
        assert!(error_of(&TWO.replace("visits = 4", "visit = 4")).contains("the arm 4 visits, quick"));
        let endless = "set.budget = { cpu_seconds = 0, minutes = 0 }";
        assert!(error_of(&TWO.replace("set.budget.cpu_seconds = 60", endless)).contains("must end"));
        let larger = "set.selfplay.boards = [{ size = \"7x7\" }]";
        assert!(error_of(&TWO.replace("set.selfplay.search.visits = 4", larger)).contains("same board"));
        assert!(error_of(&format!("{TWO}\n[rating]\ngames = 0")).contains("rating.games"));
    }
}
