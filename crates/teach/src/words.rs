//! What was done, in words and tables for people.

use std::fmt::Write;

use tengen_report::{Align, Table, counted, thousands};

use crate::judge::HeldOut;
use crate::material::{Material, Source};
use crate::rate::Trial;
use crate::teach::Taught;

/// Rows of the table of learning rates.
const ROWS: usize = 16;

/// The longest bar in that table, in characters.
const BAR: f64 = 40.0;

impl Material {
    /// What is learned from, one line for each source.
    pub(crate) fn in_words(&self) -> String {
        let lines: Vec<String> = self.sources.iter().map(Source::in_words).collect();
        lines.join("\n")
    }
}

impl Source {
    fn in_words(&self) -> String {
        let games = &self.games;
        let mut line = format!(
            "{}: {} {} with {} to train on, {} more held out",
            self.store,
            thousands(games.taught() - self.held_out_games),
            self.kind,
            counted(self.positions, "position"),
            thousands(self.held_out_games)
        );
        if self.share < 1.0 {
            write!(line, "; {:.0}% of the samples", 100.0 * self.share).ok();
        }
        let kinds = [
            (games.counted, "were counted"),
            (games.valued, "have a value but no count"),
            (games.policy_only, "teach the policy alone"),
            (games.other_board, "are left out because of their board"),
            (games.other_rules, "are left out because of their rules"),
            (games.empty, "are left out because no ply teaches anything"),
        ];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", thousands(*count)))
            .collect();
        format!("{line} ({})", kinds.join(", "))
    }
}

impl Taught {
    /// The result for people.
    pub fn in_words(&self) -> String {
        let mut text = format!(
            "{} after {} of {} ({:.1} epochs), {} samples/s",
            self.network,
            thousands(self.steps),
            counted(self.steps_planned, "step"),
            self.epochs,
            thousands(self.samples_per_second as u64)
        );
        if self.held_out.is_some() || self.trained_on.is_some() {
            write!(text, "\n\n{}", table(self.held_out, self.trained_on)).ok();
        }
        match &self.model {
            Some(folder) => write!(text, "\nmodel:{folder} is the result").ok(),
            None => write!(text, "\nstopped; the same command goes on").ok(),
        };
        text
    }
}

/// The predictions of a network side by side.
fn table(held_out: Option<HeldOut>, trained_on: Option<HeldOut>) -> String {
    let mut table = Table::new("", Align::Left).column("held-out games", Align::Right);
    if trained_on.is_some() {
        table = table.column("games trained on", Align::Right);
    }
    type Get = fn(&HeldOut) -> Option<f64>;
    let rows: [(&str, Get); 8] = [
        ("loss", |of| Some(of.total_loss)),
        ("  policy", |of| Some(of.policy_loss)),
        ("  value", |of| Some(of.value_loss)),
        ("  margin", |of| Some(of.margin_loss)),
        ("  ownership", |of| Some(of.ownership_loss)),
        ("policy top-1", |of| of.policy_top1),
        ("Brier score", |of| of.brier),
        ("margin error", |of| of.margin_error),
    ];
    let shown = |of: &Option<HeldOut>, get: Get| {
        let value = of.as_ref().and_then(get);
        value.map_or("-".to_owned(), |value| format!("{value:.4}"))
    };
    for (name, get) in rows {
        let mut cells = vec![name.to_owned(), shown(&held_out, get)];
        cells.extend(trained_on.is_some().then(|| shown(&trained_on, get)));
        table.row(cells);
    }
    table.text(false)
}

impl HeldOut {
    /// The predictions of a network for people.
    pub fn in_words(&self) -> String {
        table(Some(*self), None)
    }
}

impl Trial {
    /// The rates and losses as a table with bars, and the suggestion.
    pub fn in_words(&self) -> String {
        let highest = self.points.iter().map(|point| point.loss).fold(0.0, f64::max);
        let mut text = String::from("     rate     loss\n");
        let every = self.points.len().div_ceil(ROWS).max(1);
        for point in self.points.iter().step_by(every) {
            let bar = "#".repeat((BAR * point.loss / highest).round() as usize);
            writeln!(text, "{:9.1e} {:8.3}  {bar}", point.rate, point.loss).ok();
        }
        match self.suggestion {
            Some(rate) => write!(text, "suggestion: training.learning_rate = {rate}").ok(),
            None => write!(text, "no suggestion: the loss did not fall at any rate").ok(),
        };
        text
    }
}
