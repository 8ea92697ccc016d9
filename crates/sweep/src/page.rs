//! A sweep's outcome as tables and as a page.

use tengen_report::{Align, Comparison, Curve, Effect, Table, elo, elo_interval, thousands};

use crate::outcome::{ArmOutcome, Compared, FactorOutcome, Group, Outcome};
use crate::statistics::Estimate;

fn interval(estimate: Estimate) -> String {
    match (estimate.low, estimate.high) {
        (None, None) => "–".to_owned(),
        (low, high) => elo_interval(low, high),
    }
}

fn rounded(figure: f64) -> String {
    thousands(figure.round() as u64)
}

impl Outcome {
    /// What is compared, and what the ratings mean.
    pub fn in_words(&self) -> String {
        let Outcome { name, size, komi, .. } = self;
        match &self.compared {
            Compared::Arms { arms } => format!(
                "{name} on {size}, komi {komi}; Elo above the mean of {} at the end of its budget",
                arms[0].name
            ),
            Compared::Factors {
                factors,
                deviation,
                all,
            } => {
                let luck = deviation.map_or(String::new(), |deviation| {
                    format!(
                        "; beyond the factors, runs have a standard deviation of {deviation:.0} Elo, matches included"
                    )
                });
                let count = factors.len();
                format!(
                    "{name} on {size}, komi {komi}; {} runs, each with its own half of {count} factors{luck}; if no \
                     factor did anything, {:.1} of {count} verdicts would still be better or worse",
                    all.seeds,
                    0.05 * count as f64
                )
            }
        }
    }

    /// A row for each arm or factor.
    pub fn table(&self) -> Table {
        match &self.compared {
            Compared::Arms { arms } => arms_table(arms),
            Compared::Factors { factors, .. } => factors_table(factors),
        }
    }

    fn runs_table(&self) -> Table {
        let mut table = Table::new("run", Align::Left)
            .column("model", Align::Left)
            .column("Elo", Align::Right)
            .column("95% interval", Align::Right)
            .column("CPU seconds", Align::Right)
            .column("evaluations", Align::Right);
        for run in &self.runs {
            for model in &run.models {
                table.row(vec![
                    run.name.clone(),
                    model.name.clone(),
                    model.elo.map_or("–".to_owned(), elo),
                    elo_interval(model.elo_low, model.elo_high),
                    thousands(model.cpu_seconds.unwrap_or(0.0).round() as u64),
                    thousands(model.evaluations.unwrap_or(0)),
                ]);
            }
        }
        table
    }

    fn settings_table(&self) -> Table {
        let mut table = Table::new("name", Align::Left).column("settings", Align::Left);
        let settings: Vec<_> = match &self.compared {
            Compared::Arms { arms } => arms.iter().map(|arm| (&arm.name, &arm.set)).collect(),
            Compared::Factors { factors, .. } => factors.iter().map(|factor| (&factor.name, &factor.set)).collect(),
        };
        for (name, set) in settings {
            table.row(vec![name.clone(), set.join(", ")]);
        }
        table
    }

    /// The page with the learning curves.
    pub fn page(&self) -> Comparison {
        let (title, curves, effects) = match &self.compared {
            Compared::Arms { arms } => {
                let curves = arms.iter().map(|arm| curve(&arm.name, &arm.runs)).collect();
                ("Arms", curves, Vec::new())
            }
            Compared::Factors { factors, all, .. } => {
                let effects = factors.iter().map(effect).collect();
                ("Factors", vec![curve("all runs", all)], effects)
            }
        };
        Comparison {
            title: format!("Sweep {}", self.name),
            about: self.in_words(),
            curves,
            effects,
            tables: vec![
                (title.to_owned(), self.table()),
                ("Settings".to_owned(), self.settings_table()),
                (
                    "Models (intervals of the difference from the first row)".to_owned(),
                    self.runs_table(),
                ),
            ],
        }
    }
}

fn arms_table(arms: &[ArmOutcome]) -> Table {
    let mut table = Table::new("arm", Align::Left)
        .column("seeds", Align::Right)
        .column("Elo", Align::Right)
        .column("95% interval", Align::Right)
        .column("difference", Align::Right)
        .column("95% interval", Align::Right)
        .column("verdict", Align::Left)
        .column("CPU seconds", Align::Right)
        .column("evaluations", Align::Right)
        .column("games", Align::Right);
    for arm in arms {
        let difference = arm.difference.as_ref();
        table.row(vec![
            arm.name.clone(),
            arm.runs.seeds.to_string(),
            elo(arm.elo.value),
            interval(arm.elo),
            difference.map_or(String::new(), |difference| elo(difference.elo.value)),
            difference.map_or(String::new(), |difference| interval(difference.elo)),
            difference
                .map_or("–", |difference| difference.verdict.in_words())
                .to_owned(),
            rounded(arm.runs.cpu_seconds),
            rounded(arm.runs.evaluations),
            rounded(arm.runs.games),
        ]);
    }
    table
}

fn factors_table(factors: &[FactorOutcome]) -> Table {
    let mut table = Table::new("factor", Align::Left)
        .column("runs with it", Align::Right)
        .column("Elo", Align::Right)
        .column("95% interval", Align::Right)
        .column("verdict", Align::Left)
        .column("CPU seconds with, without", Align::Right)
        .column("evaluations with, without", Align::Right)
        .column("games with, without", Align::Right);
    for factor in factors {
        let FactorOutcome {
            name,
            effect,
            with,
            without,
            ..
        } = factor;
        let both = |figure: fn(&Group) -> f64| format!("{}, {}", rounded(figure(with)), rounded(figure(without)));
        table.row(vec![
            name.clone(),
            with.seeds.to_string(),
            elo(effect.elo.value),
            interval(effect.elo),
            effect.verdict.in_words().to_owned(),
            both(|group| group.cpu_seconds),
            both(|group| group.evaluations),
            both(|group| group.games),
        ]);
    }
    table
}

fn curve(name: &str, runs: &Group) -> Curve {
    let points = runs.curve.iter().map(|point| {
        let Estimate { value, low, high } = point.elo;
        let end = |end: Option<f64>| end.unwrap_or(f64::NAN);
        [point.cpu_seconds, point.evaluations, value, end(low), end(high)]
    });
    Curve {
        name: name.to_owned(),
        points: points.collect(),
    }
}

fn effect(factor: &FactorOutcome) -> Effect {
    let Estimate { value, low, high } = factor.effect.elo;
    Effect {
        name: factor.name.clone(),
        elo: value,
        low: low.unwrap_or(f64::NEG_INFINITY),
        high: high.unwrap_or(f64::INFINITY),
    }
}
