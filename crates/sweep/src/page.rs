//! A sweep's outcome as tables and as a page.

use tengen_report::{Align, Comparison, Curve, Table, elo, elo_interval, thousands};

use crate::outcome::Outcome;
use crate::statistics::Estimate;

fn interval(estimate: Estimate) -> String {
    match (estimate.low, estimate.high) {
        (None, None) => "–".to_owned(),
        (low, high) => elo_interval(low, high),
    }
}

impl Outcome {
    /// One line that says what is compared.
    pub fn in_words(&self) -> String {
        format!(
            "{} on {}, komi {}; Elo above the mean of {} at the end of its budget",
            self.name, self.size, self.komi, self.arms[0].name
        )
    }

    /// A row for each arm.
    pub fn arms_table(&self) -> Table {
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
        for arm in &self.arms {
            let difference = arm.difference.as_ref();
            table.row(vec![
                arm.name.clone(),
                arm.seeds.to_string(),
                elo(arm.elo.value),
                interval(arm.elo),
                difference.map_or(String::new(), |difference| elo(difference.elo.value)),
                difference.map_or(String::new(), |difference| interval(difference.elo)),
                difference
                    .map_or("–", |difference| difference.verdict.in_words())
                    .to_owned(),
                thousands(arm.cpu_seconds.round() as u64),
                thousands(arm.evaluations.round() as u64),
                thousands(arm.games.round() as u64),
            ]);
        }
        table
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
        let mut table = Table::new("arm", Align::Left).column("settings", Align::Left);
        for arm in &self.arms {
            table.row(vec![arm.name.clone(), arm.set.join(", ")]);
        }
        table
    }

    /// The page with the learning curves.
    pub fn page(&self) -> Comparison {
        let curves = self.arms.iter().map(|arm| Curve {
            name: arm.name.clone(),
            points: arm
                .curve
                .iter()
                .map(|point| {
                    let Estimate { value, low, high } = point.elo;
                    let end = |end: Option<f64>| end.unwrap_or(f64::NAN);
                    [point.cpu_seconds, point.evaluations, value, end(low), end(high)]
                })
                .collect(),
        });
        Comparison {
            title: format!("Sweep {}", self.name),
            about: self.in_words(),
            curves: curves.collect(),
            tables: vec![
                ("Arms".to_owned(), self.arms_table()),
                ("Settings".to_owned(), self.settings_table()),
                (
                    "Models (intervals of the difference from the first row)".to_owned(),
                    self.runs_table(),
                ),
            ],
        }
    }
}
