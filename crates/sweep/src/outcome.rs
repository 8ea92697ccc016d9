//! The result of a sweep.

use serde::Serialize;

use tengen_matches::{PairingRow, Row, Standing};

use crate::meetings::Place;
use crate::plan::Plan;
use crate::statistics::{Estimate, difference, mean};

/// The result of a sweep. Ratings are Elo above the mean of the first arm's last models.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The name of the sweep.
    pub name: String,
    /// The board.
    pub size: String,
    /// Komi of all matches.
    pub komi: String,
    /// The arms, in the order of the file.
    pub arms: Vec<ArmOutcome>,
    /// All runs.
    pub runs: Vec<RunOutcome>,
    /// All matches.
    pub matches: Vec<PairingRow>,
}

/// The result of one arm.
#[derive(Debug, Serialize)]
pub struct ArmOutcome {
    /// Its name.
    pub name: String,
    /// The keys in which it differs from the base configuration, as `key=value`.
    pub set: Vec<String>,
    /// Its number of runs.
    pub seeds: usize,
    /// The rating of its runs' last models, as a mean over the seeds.
    pub elo: Estimate,
    /// That rating minus the first arm's; `None` for the first arm.
    pub difference: Option<Difference>,
    /// CPU seconds of a run, as a mean over the seeds.
    pub cpu_seconds: f64,
    /// Network evaluations of a run's self-play, as a mean over the seeds.
    pub evaluations: f64,
    /// Self-play games of a run, as a mean over the seeds.
    pub games: f64,
    /// The rating over the course of a run, as means over the seeds.
    pub curve: Vec<CurvePoint>,
}

/// How an arm compares with the first one.
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
    /// There is no interval, as with a single seed.
    OneSeed,
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
            Verdict::OneSeed => "needs two seeds",
        }
    }
}

/// A rating after some cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurvePoint {
    /// CPU seconds until then, as a mean over the seeds.
    pub cpu_seconds: f64,
    /// Network evaluations until then, as a mean over the seeds.
    pub evaluations: f64,
    /// The rating, as a mean over the seeds.
    pub elo: Estimate,
}

/// The result of one run.
#[derive(Debug, Serialize)]
pub struct RunOutcome {
    /// The name of its store.
    pub name: String,
    /// Its arm.
    pub arm: String,
    /// Its seed.
    pub seed: u64,
    /// Its rated models, oldest first.
    pub models: Vec<Row>,
}

impl Outcome {
    /// Compares the arms by the ratings of their models. `places` has the order of the players in `standing`.
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
        let rating = |row: &Row| row.elo.unwrap_or(f64::NAN);
        anyhow::ensure!(
            players.iter().all(|row| row.elo.is_some()),
            "not all models have been rated"
        );
        let arms = plan.arms.len();
        let ratings = |players: &[Row], arm: usize| {
            let places = lasts(places, arms, arm).into_iter();
            places.map(|place| rating(&players[place])).collect::<Vec<f64>>()
        };
        let zero = mean(&ratings(&players, 0)).map_or(0.0, |estimate| estimate.value);
        for row in &mut players {
            for elo in [&mut row.elo, &mut row.elo_low, &mut row.elo_high]
                .into_iter()
                .flatten()
            {
                *elo -= zero;
            }
        }
        let finals: Vec<Vec<f64>> = (0..arms).map(|arm| ratings(&players, arm)).collect();
        let outcomes = (0..arms)
            .filter_map(|arm| arm_outcome(plan, places, &players, &finals, arm))
            .collect();
        let mut runs: Vec<RunOutcome> = plan
            .runs
            .iter()
            .map(|run| RunOutcome {
                name: run.name.clone(),
                arm: plan.arms[run.arm].name.clone(),
                seed: run.seed,
                models: Vec::new(),
            })
            .collect();
        for (place, row) in places.iter().zip(players) {
            runs[place.run].models.push(row);
        }
        Ok(Outcome {
            name: plan.name.clone(),
            size,
            komi,
            arms: outcomes,
            runs,
            matches: pairings,
        })
    }
}

/// The indices of the last models of an arm's runs.
fn lasts(places: &[Place], arms: usize, arm: usize) -> Vec<usize> {
    let is_last = |(_, place): &(usize, &Place)| place.last && place.run % arms == arm;
    places
        .iter()
        .enumerate()
        .filter(is_last)
        .map(|(index, _)| index)
        .collect()
}

fn arm_outcome(plan: &Plan, places: &[Place], players: &[Row], finals: &[Vec<f64>], arm: usize) -> Option<ArmOutcome> {
    let arms = plan.arms.len();
    let average = |rows: &[usize], figure: fn(&Row) -> f64| {
        let figures: Vec<f64> = rows.iter().map(|&row| figure(&players[row])).collect();
        mean(&figures).map_or(f64::NAN, |estimate| estimate.value)
    };
    let cpu_seconds: fn(&Row) -> f64 = |row| row.cpu_seconds.unwrap_or(f64::NAN);
    let evaluations: fn(&Row) -> f64 = |row| row.evaluations.map_or(f64::NAN, |count| count as f64);
    let levels = places.iter().map(|place| place.level + 1).max().unwrap_or(0);
    let at_level = |level: usize| {
        let is_there = |(_, place): &(usize, &Place)| place.run % arms == arm && place.level == level;
        places
            .iter()
            .enumerate()
            .filter(is_there)
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
    };
    let point = |level: usize| {
        let rows = at_level(level);
        let ratings: Vec<f64> = rows.iter().filter_map(|&row| players[row].elo).collect();
        Some(CurvePoint {
            cpu_seconds: average(&rows, cpu_seconds),
            evaluations: average(&rows, evaluations),
            elo: mean(&ratings)?,
        })
    };
    let rows = lasts(places, arms, arm);
    let first = (arm > 0).then(|| difference(&finals[arm], &finals[0])).flatten();
    Some(ArmOutcome {
        name: plan.arms[arm].name.clone(),
        set: plan.arms[arm].set.clone(),
        seeds: rows.len(),
        elo: mean(&finals[arm])?,
        difference: first.map(|elo| Difference {
            elo,
            verdict: Verdict::of(elo),
        }),
        cpu_seconds: average(&rows, cpu_seconds),
        evaluations: average(&rows, evaluations),
        games: average(&rows, |row| row.selfplay_games.map_or(f64::NAN, |count| count as f64)),
        curve: (0..levels).filter_map(point).collect(),
    })
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
