//! The result of a sweep.

use anyhow::Context;
use serde::Serialize;

use tengen_matches::{PairingRow, Row, Standing};

use crate::factorial::{Effects, Factorial};
use crate::meetings::Place;
use crate::plan::{Change, Design, Plan, PlannedRun};
use crate::statistics::{Estimate, difference, mean};

/// The result of a sweep. Ratings are Elo above the mean of the first arm's last models, or, in a sweep of factors, of
/// all runs' last models.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The name of the sweep.
    pub name: String,
    /// The board.
    pub size: String,
    /// Komi of all matches.
    pub komi: String,
    /// What was compared.
    #[serde(flatten)]
    pub compared: Compared,
    /// All runs.
    pub runs: Vec<RunOutcome>,
    /// All matches.
    pub matches: Vec<PairingRow>,
}

/// The result of what was compared.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Compared {
    /// Each run had one arm.
    Arms {
        /// The arms, in the order of the file.
        arms: Vec<ArmOutcome>,
    },
    /// Each run had its own half of the factors.
    Factors {
        /// The factors, in the order of the file.
        factors: Vec<FactorOutcome>,
        /// Standard deviation of the runs beyond the effects of their factors, in Elo; `None` if it cannot be told.
        deviation: Option<f64>,
        /// All runs together.
        all: Group,
    },
}

/// The result of one arm.
#[derive(Debug, Serialize)]
pub struct ArmOutcome {
    /// Its name.
    pub name: String,
    /// The keys in which it differs from the base configuration, as `key=value`.
    pub set: Vec<String>,
    /// The rating of its runs' last models, as a mean over the seeds.
    pub elo: Estimate,
    /// That rating minus the first arm's; `None` for the first arm.
    pub difference: Option<Difference>,
    /// Its runs.
    #[serde(flatten)]
    pub runs: Group,
}

/// The result of one factor.
#[derive(Debug, Serialize)]
pub struct FactorOutcome {
    /// Its name.
    pub name: String,
    /// The keys in which a run with it differs from the base configuration, as `key=value`.
    pub set: Vec<String>,
    /// The rating of last models with it, minus that of those without.
    pub effect: Difference,
    /// Runs that have it.
    pub with: Group,
    /// Runs that do not.
    pub without: Group,
}

/// Runs that are looked at together; all figures are means.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Their number.
    pub seeds: usize,
    /// CPU seconds of a run.
    pub cpu_seconds: f64,
    /// Network evaluations of a run's self-play.
    pub evaluations: f64,
    /// Self-play games of a run.
    pub games: f64,
    /// The rating over the course of a run.
    pub curve: Vec<CurvePoint>,
}

/// A difference between two groups of runs, such as an arm and the first one.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The difference of the means, in Elo.
    pub elo: Estimate,
    /// What the interval implies.
    pub verdict: Verdict,
}

/// Whether a difference is more than chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole 95% interval is above 0.
    Better,
    /// The whole 95% interval is below 0.
    Worse,
    /// The interval contains 0.
    Unclear,
    /// There is no interval, as with a single seed, or with as many factors as runs can tell apart.
    OneSeed,
}

impl Difference {
    fn of(elo: Estimate) -> Difference {
        Difference {
            elo,
            verdict: Verdict::of(elo),
        }
    }
}

impl Verdict {
    fn of(elo: Estimate) -> Verdict {
        match (elo.low, elo.high) {
            (Some(low), _) if low > 0.0 => Verdict::Better,
            (_, Some(high)) if high < 0.0 => Verdict::Worse,
            (Some(_), Some(_)) => Verdict::Unclear,
            _ => Verdict::OneSeed,
        }
    }

    /// The verdict as text.
    pub fn in_words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Unclear => "may be chance",
            Verdict::OneSeed => "needs more runs",
        }
    }
}

/// A rating after some cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurvePoint {
    /// CPU seconds until then, as a mean over the runs.
    pub cpu_seconds: f64,
    /// Network evaluations until then, as a mean over the runs.
    pub evaluations: f64,
    /// The rating, as a mean over the runs.
    pub elo: Estimate,
}

/// The result of one run.
#[derive(Debug, Serialize)]
pub struct RunOutcome {
    /// The name of its store.
    pub name: String,
    /// Its arm, or its factors.
    pub has: Vec<String>,
    /// Its seed.
    pub seed: u64,
    /// Its rated models, oldest first.
    pub models: Vec<Row>,
}

impl Outcome {
    /// Compares the arms or factors by the ratings of the models. `places` has the order of the players in `standing`.
    ///
    /// # Errors
    /// If a model has no rating.
    pub fn of(plan: &Plan, places: &[Place], standing: Standing) -> anyhow::Result<Outcome> {
        let Standing {
            size,
            komi,
            mut players,
            pairings,
            ..
        } = standing;
        let mut finals = vec![f64::NAN; plan.runs.len()];
        for (place, row) in places.iter().zip(&players) {
            let elo = row.elo.context("not all models have been rated")?;
            if place.last {
                finals[place.run] = elo;
            }
        }
        let zero = match &plan.design {
            Design::Arms(arms) => mean(&of_arm(&finals, arms.len(), 0)),
            Design::Factors(_) => mean(&finals),
        };
        let zero = zero.map_or(0.0, |estimate| estimate.value);
        finals.iter_mut().for_each(|elo| *elo -= zero);
        for row in &mut players {
            for elo in [&mut row.elo, &mut row.elo_low, &mut row.elo_high]
                .into_iter()
                .flatten()
            {
                *elo -= zero;
            }
        }
        let rated = Rated {
            places,
            players: &players,
        };
        let compared = match &plan.design {
            Design::Arms(arms) => Compared::Arms {
                arms: compare_arms(arms, &finals, &rated),
            },
            Design::Factors(factorial) => compare_factors(factorial, &finals, &rated),
        };
        let run = |(index, run): (usize, &PlannedRun)| RunOutcome {
            name: run.name.clone(),
            has: plan
                .design
                .of_run(index)
                .iter()
                .map(|change| change.name.clone())
                .collect(),
            seed: run.seed,
            models: Vec::new(),
        };
        let mut runs: Vec<RunOutcome> = plan.runs.iter().enumerate().map(run).collect();
        for (place, row) in places.iter().zip(players) {
            runs[place.run].models.push(row);
        }
        Ok(Outcome {
            name: plan.name.clone(),
            size,
            komi,
            compared,
            runs,
            matches: pairings,
        })
    }
}

/// The figures of an arm's runs, from those of all runs.
fn of_arm(figures: &[f64], arms: usize, arm: usize) -> Vec<f64> {
    figures.iter().skip(arm).step_by(arms).copied().collect()
}

fn compare_arms(arms: &[Change], finals: &[f64], rated: &Rated<'_>) -> Vec<ArmOutcome> {
    let ratings = |arm| of_arm(finals, arms.len(), arm);
    let outcome = |(index, arm): (usize, &Change)| {
        let first = (index > 0).then(|| difference(&ratings(index), &ratings(0))).flatten();
        Some(ArmOutcome {
            name: arm.name.clone(),
            set: arm.settings(),
            elo: mean(&ratings(index))?,
            difference: first.map(Difference::of),
            runs: rated.group(|run| run % arms.len() == index),
        })
    };
    arms.iter().enumerate().filter_map(outcome).collect()
}

fn compare_factors(factorial: &Factorial, finals: &[f64], rated: &Rated<'_>) -> Compared {
    let Effects { factors, deviation } = factorial.effects(finals);
    let outcome = |((index, factor), effect): ((usize, &Change), Estimate)| FactorOutcome {
        name: factor.name.clone(),
        set: factor.settings(),
        effect: Difference::of(effect),
        with: rated.group(|run| factorial.has(run, index)),
        without: rated.group(|run| !factorial.has(run, index)),
    };
    Compared::Factors {
        factors: factorial.factors.iter().enumerate().zip(factors).map(outcome).collect(),
        deviation,
        all: rated.group(|_| true),
    }
}

/// The rated models and their places in the sweep.
struct Rated<'a> {
    places: &'a [Place],
    players: &'a [Row],
}

impl Rated<'_> {
    /// The runs for which `includes` is true.
    fn group(&self, includes: impl Fn(usize) -> bool) -> Group {
        let models = |wanted: &dyn Fn(&Place) -> bool| {
            let chosen = self.places.iter().zip(self.players);
            let chosen = chosen.filter(|(place, _)| includes(place.run) && wanted(place));
            chosen.map(|(_, row)| row).collect::<Vec<&Row>>()
        };
        let lasts = models(&|place| place.last);
        let levels = self.places.iter().map(|place| place.level + 1).max().unwrap_or(0);
        let point = |level| {
            let rows = models(&|place| place.level == level);
            let ratings: Vec<f64> = rows.iter().filter_map(|row| row.elo).collect();
            Some(CurvePoint {
                cpu_seconds: average(&rows, |row| row.cpu_seconds),
                evaluations: average(&rows, evaluations),
                elo: mean(&ratings)?,
            })
        };
        Group {
            seeds: lasts.len(),
            cpu_seconds: average(&lasts, |row| row.cpu_seconds),
            evaluations: average(&lasts, evaluations),
            games: average(&lasts, |row| row.selfplay_games.map(|count| count as f64)),
            curve: (0..levels).filter_map(point).collect(),
        }
    }
}

fn evaluations(row: &Row) -> Option<f64> {
    row.evaluations.map(|count| count as f64)
}

/// The mean of a figure of some models; not a number if one of them does not have it.
fn average(rows: &[&Row], figure: impl Fn(&Row) -> Option<f64>) -> f64 {
    let figures: Vec<f64> = rows.iter().map(|row| figure(row).unwrap_or(f64::NAN)).collect();
    mean(&figures).map_or(f64::NAN, |estimate| estimate.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_decides_the_verdict() {
        let verdict = |low, high| Verdict::of(Estimate { value: 0.0, low, high });
        assert_eq!(verdict(Some(1.0), Some(9.0)), Verdict::Better);
        assert_eq!(verdict(Some(-9.0), Some(-1.0)), Verdict::Worse);
        assert_eq!(verdict(Some(-9.0), Some(1.0)), Verdict::Unclear);
        assert_eq!(verdict(None, None), Verdict::OneSeed);
    }
}
