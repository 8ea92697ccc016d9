//! Compares several runs: their losses, ratings, and gate matches over their cost, and their configurations.

use std::collections::{BTreeMap, BTreeSet};

use std::path::Path;

use anyhow::Context;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use tengen_metrics::{Event, Gate, Measured, Rating, Train};
use tengen_store::Store;

use super::curves::{intervals, newest_ratings};
use super::history::History;
use super::page::document;
use super::plot::{Axis, Plot, Series, Shape, Tone};
use super::{Align, Refresh, Table, elo_estimate, replace};
use crate::numbers::{duration, short_model, thousands};

/// What a run has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    /// CPU seconds of all threads.
    cpu_seconds: f64,
    /// Network evaluations in self-play.
    evaluations: f64,
}

/// What a run had spent by each of its training steps.
///
/// Only models have a recorded cost. Between two models, it is assumed to grow evenly with the steps.
struct Costs(Vec<(f64, Cost)>);

/// One run among those compared.
pub struct ComparedRun {
    name: String,
    events: Vec<Event>,
    /// The configuration: each key with its value as text.
    settings: BTreeMap<String, String>,
    costs: Costs,
}

impl ComparedRun {
    /// Reads the metrics and the configuration of a run; `name` is its name in legends.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(name: &str, store: &Store) -> anyhow::Result<ComparedRun> {
        let config = store.run_info()?.map_or(Value::Null, |run| run.config);
        let mut problems = Vec::new();
        let events = History::read(store, &mut problems)?.events;
        for problem in problems {
            tracing::warn!("{name}: {problem}");
        }
        Ok(ComparedRun::of(name, events, &config))
    }

    fn of(name: &str, events: Vec<Event>, config: &Value) -> ComparedRun {
        let mut settings = BTreeMap::new();
        flatten(config, "", &mut settings);
        ComparedRun {
            name: name.to_owned(),
            settings,
            costs: Costs::of(&events),
            events,
        }
    }

    /// A figure of training over the cost. Steps that a resumed run repeats count once.
    fn training(&self, figure: fn(&Train) -> f64, axis: CostAxis) -> Vec<(f64, f64)> {
        let mut curve: Vec<&Train> = Vec::new();
        for event in &self.events {
            if let Measured::Train(train) = &event.measured {
                while curve.pop_if(|last| last.step >= train.step).is_some() {}
                curve.push(train);
            }
        }
        let point = |train: &&Train| Some((axis.of(self.costs.at(train.step as f64)?), figure(train)));
        curve.iter().filter_map(point).collect()
    }

    /// The gate's verdicts with the cost of their candidates.
    fn gates(&self) -> Vec<(Cost, &Gate)> {
        let mut costs: BTreeMap<&str, Cost> = BTreeMap::new();
        let mut verdicts = Vec::new();
        for event in &self.events {
            match &event.measured {
                Measured::Model(model) => {
                    let cost = Cost {
                        cpu_seconds: model.cpu_seconds,
                        evaluations: model.evaluations as f64,
                    };
                    costs.insert(&model.model_id, cost);
                }
                Measured::Gate(gate) => verdicts.push(gate),
                _ => {}
            }
        }
        let with_cost = |gate: &'_ Gate| costs.get(gate.candidate.as_str()).copied();
        verdicts
            .into_iter()
            .filter_map(|gate| Some((with_cost(gate)?, gate)))
            .collect()
    }

    fn last_cost(&self) -> Option<Cost> {
        self.costs
            .0
            .last()
            .map(|(_, cost)| *cost)
            .filter(|cost| *cost != Cost::default())
    }
}

impl Costs {
    fn of(events: &[Event]) -> Costs {
        let mut known = vec![(0.0, Cost::default())];
        for event in events {
            if let Measured::Model(model) = &event.measured
                && model.step > 0
                && model.cpu_seconds.is_finite()
            {
                let step = model.step as f64;
                // A run that was resumed from an older checkpoint repeats its steps.
                while known.pop_if(|last| last.0 >= step).is_some() {}
                let cost = Cost {
                    cpu_seconds: model.cpu_seconds,
                    evaluations: model.evaluations as f64,
                };
                known.push((step, cost));
            }
        }
        Costs(known)
    }

    /// The cost up to a step; `None` after the newest model, where it is not known yet.
    fn at(&self, step: f64) -> Option<Cost> {
        let after = self.0.partition_point(|known| known.0 < step);
        let (end, high) = *self.0.get(after)?;
        let (start, low) = match after {
            0 => return Some(high),
            _ => self.0[after - 1],
        };
        let share = (step - start) / (end - start);
        let between = |low: f64, high: f64| low + share * (high - low);
        Some(Cost {
            cpu_seconds: between(low.cpu_seconds, high.cpu_seconds),
            evaluations: between(low.evaluations, high.evaluations),
        })
    }
}

/// The cost that an axis shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CostAxis {
    CpuSeconds,
    Evaluations,
}

impl CostAxis {
    fn of(self, cost: Cost) -> f64 {
        match self {
            CostAxis::CpuSeconds => cost.cpu_seconds,
            CostAxis::Evaluations => cost.evaluations,
        }
    }

    fn axis(self) -> Axis {
        let label = match self {
            CostAxis::CpuSeconds => "CPU seconds of self-play, training and the gate",
            CostAxis::Evaluations => "network evaluations in self-play",
        };
        Axis::showing(label, &[0.0])
    }
}

/// Writes a page about runs side by side.
///
/// # Errors
/// If the file cannot be written.
pub fn write_comparison(runs: &[ComparedRun], out: &Path) -> anyhow::Result<()> {
    let body = html! { main {
        h1 { "Runs side by side" }
        (PreEscaped(compare_runs(runs)))
    } };
    let page = document("runs side by side", Refresh::Never, &body);
    replace(out, page.as_bytes()).with_context(|| format!("cannot write the page {}", out.display()))
}

/// Runs side by side as HTML: `section` elements whose attribute `data-part` names them.
pub fn compare_runs(runs: &[ComparedRun]) -> String {
    let parts = [
        ("summary", html! { h2 { "Runs" } (summary(runs).html()) }),
        ("cpu", group("Over processor time", runs, CostAxis::CpuSeconds)),
        ("evaluations", group("Over evaluations", runs, CostAxis::Evaluations)),
        (
            "configurations",
            html! { h2 { "Configurations" } (configurations(runs)) },
        ),
    ];
    let html = html! { @for (name, part) in parts { section data-part=(name) { (part) } } };
    html.into_string()
}

fn group(title: &str, runs: &[ComparedRun], axis: CostAxis) -> Markup {
    html! {
        h2 { (title) }
        div.plots { @for plot in plots(runs, axis) { (plot.figure()) } }
    }
}

fn plots(runs: &[ComparedRun], axis: CostAxis) -> Vec<Plot> {
    let each = |series: &dyn Fn(&ComparedRun, Tone) -> Series| -> Vec<Series> {
        let toned = runs.iter().zip(Tone::all());
        toned.map(|(run, tone)| series(run, tone)).collect()
    };
    let plot = |title, caption, y, series| Plot {
        title,
        caption,
        x: axis.axis(),
        y,
        series,
    };
    let loss = |title, caption, figure: fn(&Train) -> f64| {
        let line =
            |run: &ComparedRun, tone| Series::new(run.name.clone(), tone, Shape::Line, run.training(figure, axis));
        plot(title, caption, Axis::new("loss"), each(&line))
    };
    vec![
        plot(
            "Strength",
            "Each dot is a model. The ratings of a run begin at 0 with its first model, unless players outside the run \
             fix their scale: only then can runs be compared. Its bar is the 95% interval of the distance from those \
             players or, without them, from the opponent of its gate match, as far as it is bounded.",
            Axis::new("Elo"),
            each(&|run, tone| strength(run, tone, axis)),
        ),
        plot(
            "Champions",
            "Promotions so far, at the cost of the model that was promoted.",
            Axis::showing("promotions", &[0.0]),
            each(&|run, tone| Series::new(run.name.clone(), tone, Shape::Dots, promotions(run, axis))),
        ),
        plot(
            "Gate matches",
            "The share of the points that each candidate scored against the champion.",
            Axis::showing("share, %", &[0.0, 100.0]),
            each(&|run, tone| Series::new(run.name.clone(), tone, Shape::Dots, shares(run, axis))),
        ),
        loss(
            "Total loss",
            "The weighted sum that training minimizes, up to the newest model, whose cost is known.",
            |train| train.total_loss,
        ),
        loss(
            "Policy loss",
            "Cross-entropy against the search's targets, in nats.",
            |train| train.policy_loss,
        ),
        loss("Value loss", "Cross-entropy of win, tie and loss, in nats.", |train| {
            train.value_loss
        }),
    ]
}

fn strength(run: &ComparedRun, tone: Tone, axis: CostAxis) -> Series {
    let ratings = newest_ratings(&run.events);
    let point = |(rating, (low, high)): (&Rating, (f64, f64))| {
        let cost = Cost {
            cpu_seconds: rating.cpu_seconds,
            evaluations: rating.evaluations as f64,
        };
        // An unbounded interval would cover the other runs.
        let known = |end: f64| if end.is_finite() { end } else { rating.elo };
        (axis.of(cost), rating.elo, known(low), known(high))
    };
    let intervals = intervals(&ratings, &run.events);
    let points: Vec<_> = ratings.iter().zip(intervals).map(point).collect();
    Series::barred(run.name.clone(), tone, &points)
}

fn promotions(run: &ComparedRun, axis: CostAxis) -> Vec<(f64, f64)> {
    let promoted = run.gates().into_iter().filter(|(_, gate)| gate.promoted);
    let numbered = promoted.enumerate();
    numbered
        .map(|(before, (cost, _))| (axis.of(cost), before as f64 + 1.0))
        .collect()
}

fn shares(run: &ComparedRun, axis: CostAxis) -> Vec<(f64, f64)> {
    let played = run.gates().into_iter().filter(|(_, gate)| gate.games > 0);
    played
        .map(|(cost, gate)| (axis.of(cost), gate.points_share * 100.0))
        .collect()
}

/// One line for each run.
fn summary(runs: &[ComparedRun]) -> Table {
    let mut table = Table::new("run", Align::Left)
        .column("CPU time", Align::Right)
        .column("evaluations", Align::Right)
        .column("steps", Align::Right)
        .column("promoted", Align::Right)
        .column("rejected", Align::Right)
        .column("last verdict", Align::Left)
        .column("newest rating", Align::Right);
    for run in runs {
        let cost = run.last_cost();
        let gates: Vec<&Gate> = run.events.iter().filter_map(gate_of).collect();
        let promoted = gates.iter().filter(|gate| gate.promoted).count();
        let steps = run.events.iter().filter_map(step_of).next_back();
        let rating = newest_ratings(&run.events).pop();
        let dash = || "–".to_owned();
        table.row(vec![
            run.name.clone(),
            cost.map_or_else(dash, |cost| duration(cost.cpu_seconds)),
            cost.map_or_else(dash, |cost| thousands(cost.evaluations as u64)),
            steps.map_or_else(dash, thousands),
            promoted.to_string(),
            (gates.len() - promoted).to_string(),
            gates.last().map_or_else(dash, |gate| verdict(gate)),
            rating.map_or_else(dash, |rating| crate::elo(rating.elo)),
        ]);
    }
    table
}

fn gate_of(event: &Event) -> Option<&Gate> {
    match &event.measured {
        Measured::Gate(gate) => Some(gate),
        _ => None,
    }
}

fn step_of(event: &Event) -> Option<u64> {
    match &event.measured {
        Measured::Train(train) => Some(train.step),
        // The last model has steps that came after the last sample of training.
        Measured::Model(model) => Some(model.step),
        _ => None,
    }
}

fn verdict(gate: &Gate) -> String {
    let model = short_model(&gate.candidate);
    let decided = if gate.promoted { "promoted" } else { "rejected" };
    let end = |end: f64| Some(end).filter(|end| end.is_finite());
    match gate.games {
        0 => format!("{model} {decided}"),
        games => format!(
            "{model} {decided} after {games} games, Elo {}",
            elo_estimate(gate.elo, end(gate.elo_low), end(gate.elo_high))
        ),
    }
}

/// The keys whose values differ between the runs.
fn configurations(runs: &[ComparedRun]) -> Markup {
    let keys: BTreeSet<&String> = runs.iter().flat_map(|run| run.settings.keys()).collect();
    let mut table = Table::new("key", Align::Left);
    for run in runs {
        table = table.column(&run.name, Align::Left);
    }
    let mut differences = 0;
    for key in &keys {
        let values: Vec<Option<&String>> = runs.iter().map(|run| run.settings.get(*key)).collect();
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            continue;
        }
        differences += 1;
        let shown = values
            .into_iter()
            .map(|value| value.map_or("–".to_owned(), String::clone));
        table.row(std::iter::once((*key).clone()).chain(shown).collect());
    }
    html! {
        @if differences == 0 {
            p.none { "The configurations of these runs do not differ in any of their " (keys.len()) " keys." }
        } @else {
            p.soft { "The " (differences) " of " (keys.len()) " keys whose values differ." }
            (table.html())
        }
    }
}

/// The leaves of a JSON value with their paths, such as `search.visits`.
fn flatten(value: &Value, path: &str, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                flatten(field, &path, into);
            }
        }
        Value::Null if path.is_empty() => {}
        Value::String(text) => drop(into.insert(path.to_owned(), text.clone())),
        other => drop(into.insert(path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tengen_metrics::Model;

    fn event(measured: Measured) -> Event {
        Event {
            time_ms: 0,
            elapsed_seconds: 1.0,
            measured,
        }
    }

    fn model(name: &str, step: u64, cpu_seconds: f64, evaluations: u64) -> Event {
        event(Measured::Model(Model {
            model_id: name.to_owned(),
            step,
            cpu_seconds,
            evaluations,
            ..Model::default()
        }))
    }

    fn train(step: u64, total_loss: f64) -> Event {
        event(Measured::Train(Train {
            step,
            total_loss,
            ..Train::default()
        }))
    }

    fn run(name: &str, visits: u64) -> ComparedRun {
        let gate = Gate {
            candidate: "g000001-a".to_owned(),
            promoted: true,
            games: 4,
            points_share: 0.75,
            elo: 190.0,
            ..Gate::default()
        };
        let events = vec![
            train(50, 3.0),
            train(100, 2.0),
            model("g000001-a", 100, 10.0, 1000),
            event(Measured::Gate(gate)),
            train(150, 1.0),
        ];
        ComparedRun::of(name, events, &json!({ "search": { "visits": visits }, "seed": 1 }))
    }

    #[test]
    fn steps_cost_what_their_models_cost() {
        let events = [
            model("a", 0, 0.0, 0),
            model("b", 200, 20.0, 5000),
            model("c", 100, 8.0, 1000),
            model("d", 200, 18.0, 3000),
        ];
        let costs = Costs::of(&events);
        assert_eq!(costs.at(50.0).unwrap().cpu_seconds, 4.0);
        assert_eq!(costs.at(150.0).unwrap().evaluations, 2000.0);
        assert_eq!(costs.at(200.0).unwrap().cpu_seconds, 18.0);
        assert_eq!(costs.at(201.0), None);
    }

    #[test]
    fn losses_and_gates_have_their_cost() {
        let run = run("a", 8);
        let losses = run.training(|train| train.total_loss, CostAxis::Evaluations);
        assert_eq!(losses, [(500.0, 3.0), (1000.0, 2.0)]);
        assert_eq!(promotions(&run, CostAxis::CpuSeconds), [(10.0, 1.0)]);
        assert_eq!(shares(&run, CostAxis::CpuSeconds), [(10.0, 75.0)]);
    }

    #[test]
    fn only_differences_of_configurations_are_shown() {
        let html = compare_runs(&[run("<a>", 8), run("b", 16)]);
        for part in [
            "&lt;a&gt;",
            "search.visits",
            "<td class=\"left\">16</td>",
            "1 of 2 keys",
            "Total loss",
            "promoted",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<a>") && !html.contains(">seed<"), "{html}");
        let same = compare_runs(&[run("a", 8), run("b", 8)]);
        assert!(same.contains("do not differ"), "{same}");
    }
}
