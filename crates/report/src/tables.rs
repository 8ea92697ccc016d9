//! The tables of models and of gate verdicts.

use maud::{Markup, html};

use tengen_metrics::{Event, Gate, Measured};

use super::data::ModelRow;
use super::openings::percent;
use crate::numbers::{duration, elo, elo_estimate, elo_interval, short_model, thousands};

/// Maximum number of rows of a table; older ones are only counted.
const MOST_ROWS: usize = 60;

/// The models, newest first, with their total cost.
pub(super) fn models(rows: &[ModelRow]) -> Markup {
    html! {
        @if rows.is_empty() { p.none { "No models yet." } } @else {
            p.soft {
                "\"In the gate\" is the Elo of a model over its opponent there, with its 95% interval: it tells a \
                 model from the one before. The 95% interval beside it is that of the Elo itself, so of the whole \
                 distance from the run's first model or, if there are any, from the players that fix the scale."
            }
            p.soft.table-hint { "Scroll the table sideways to see all columns." }
            div.card.table tabindex="0" { table {
                tr {
                    th.left { "model" } th.left { "status" } th { "Elo" } th { "in the gate" }
                    th { "95% interval" } th { "steps" }
                    th { "games" } th { "positions" } th { "evaluations" } th { "CPU time" } th { "GPU time" }
                }
                @for row in rows.iter().rev().take(MOST_ROWS) { (model(row)) }
            } }
            (left_out(rows.len(), "models"))
        }
    }
}

fn model(row: &ModelRow) -> Markup {
    let seconds = |seconds: Option<f64>| seconds.map_or("–".into(), duration);
    let rated = row.elo.as_ref();
    let interval = rated.filter(|rating| rating.low.is_finite() || rating.high.is_finite());
    html! {
        tr {
            td.left { code { (row.id) } }
            td.left {
                @if row.champion { span.yes { "champion" } }
                @else if row.promoted.is_some() { "former champion" }
            }
            td { (rated.map_or("–".into(), |rating| signed(rating.elo))) }
            td { (row.gate.as_ref().map_or("–".into(), step)) }
            td { (interval.map_or("–".into(), |rating| elo_interval(bound(rating.low), bound(rating.high)))) }
            td { (count(row.step)) }
            td { (count(row.games)) }
            td { (count(row.positions)) }
            td { (count(row.evaluations)) }
            td { (seconds(row.cpu_seconds)) }
            td { (seconds(row.gpu_seconds)) }
        }
    }
}

/// How much stronger a candidate is than its opponent in the gate: `+63 (+16 to +113) over g000006`.
fn step(gate: &Gate) -> String {
    format!("{} over {}", difference(gate), short_model(&gate.champion))
}

/// The Elo of a candidate over the champion, with its interval.
fn difference(gate: &Gate) -> String {
    elo_estimate(gate.elo, bound(gate.elo_low), bound(gate.elo_high))
}

/// The gate verdicts, newest first.
pub(super) fn gates(events: &[Event]) -> Markup {
    let verdict = |event: &Event| match &event.measured {
        Measured::Gate(gate) => Some((event.elapsed_seconds, gate.clone())),
        _ => None,
    };
    let verdicts: Vec<_> = events.iter().filter_map(verdict).collect();
    html! {
        @if verdicts.is_empty() { p.none { "No gate matches yet." } } @else {
            p.soft.table-hint { "Scroll the table sideways to see all columns." }
            div.card.table tabindex="0" { table {
                tr {
                    th { "after" } th.left { "candidate" } th.left { "champion" } th.left { "verdict" } th { "games" }
                    th { "points" } th { "Elo (95% interval)" } th { "LLR" } th.left { "reason" }
                }
                @for (at, gate) in verdicts.iter().rev().take(MOST_ROWS) { (verdict_row(*at, gate)) }
            } }
            (left_out(verdicts.len(), "verdicts"))
        }
    }
}

fn verdict_row(at: f64, gate: &Gate) -> Markup {
    let played = gate.games > 0;
    html! {
        tr {
            td { (duration(at)) }
            td.left { code { (gate.candidate) } }
            td.left { @if gate.champion.is_empty() { "none" } @else { code { (gate.champion) } } }
            td.left { @if gate.promoted { span.yes { "promoted" } } @else { "rejected" } }
            td { (gate.games) }
            td { @if played { (percent(gate.points_share)) } @else { "–" } }
            td { @if played { (difference(gate)) } @else { "–" } }
            td { @if played && gate.llr.is_finite() { (format!("{:+.2}", gate.llr)) } @else { "–" } }
            td.words { (reason_in_words(&gate.reason)) }
        }
    }
}

/// The reason in a gate's files, in words.
fn reason_in_words(reason: &str) -> &str {
    match reason {
        "always_promote" => "every candidate is promoted",
        "test_accepted" => "the sequential test found it strong enough",
        "test_rejected" => "the sequential test found it too weak",
        "game_limit" => "the maximum number of games was played",
        "forgot" => "it is weaker than an older champion",
        "stopped" => "the match was stopped",
        other => other,
    }
}

fn left_out(rows: usize, what: &str) -> Markup {
    html! {
        @if rows > MOST_ROWS { p.soft { "The newest " (MOST_ROWS) " of " (thousands(rows as u64)) " " (what) "." } }
    }
}

fn count(figure: Option<f64>) -> String {
    figure.map_or("–".into(), |figure| thousands(figure.max(0.0) as u64))
}

/// An end of an interval, if it is bounded. Metrics hold null for an unbounded end, which is read as NaN.
fn bound(end: f64) -> Option<f64> {
    Some(end).filter(|end| end.is_finite())
}

/// An Elo difference with its sign; `–` if it is unknown.
pub(super) fn signed(difference: f64) -> String {
    match difference.is_finite() {
        true => elo(difference),
        false => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_metrics::Rating;

    fn after_a_minute(gate: Gate) -> Event {
        Event {
            time_ms: 0,
            elapsed_seconds: 61.0,
            measured: Measured::Gate(gate),
        }
    }

    #[test]
    fn unknown_figures_are_dashes() {
        let row = ModelRow {
            id: "g000001-abc".into(),
            step: Some(1500.0),
            champion: true,
            ..ModelRow::default()
        };
        let page = models(&[row]).into_string();
        for part in ["g000001-abc", "champion", "1,500", "–"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn a_gate_without_games_shows_no_figures() {
        let gate = Gate {
            candidate: "a<b".into(),
            promoted: true,
            reason: "game_limit".into(),
            ..Gate::default()
        };
        let event = after_a_minute(gate);
        let page = gates(&[event]).into_string();
        for part in ["a&lt;b", "promoted", "maximum number of games", "1 min 01 s"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("NaN"), "{page}");
    }

    #[test]
    fn one_sided_results_are_unbounded() {
        let gate = Gate {
            games: 40,
            elo: 645.0,
            elo_low: 318.0,
            reason: "test_accepted".into(),
            ..Gate::default()
        };
        let event = after_a_minute(gate);
        // Write and read it as a report does: JSON has no infinity, so an unbounded end is null.
        let event = Event::from_json(&serde_json::to_vec(&event).unwrap()).unwrap();
        let page = gates(&[event]).into_string();
        assert!(page.contains("<td>+318 or more</td>"), "{page}");
        let row = ModelRow {
            elo: Some(Rating {
                elo: 645.0,
                low: 318.0,
                ..Rating::default()
            }),
            ..ModelRow::default()
        };
        let page = models(&[row]).into_string();
        assert!(page.contains("<td>+645</td><td>–</td><td>+318 or more</td>"), "{page}");
    }

    #[test]
    fn a_model_shows_its_step_in_the_gate() {
        let row = ModelRow {
            elo: Some(Rating {
                elo: 1449.0,
                low: 1116.0,
                ..Rating::default()
            }),
            gate: Some(Gate {
                champion: "g000018-ed4e361fc24f".into(),
                games: 100,
                elo: 14.0,
                elo_low: -42.0,
                elo_high: 73.0,
                ..Gate::default()
            }),
            ..ModelRow::default()
        };
        let page = models(&[row]).into_string();
        let cells = "<td>+1449</td><td>+14 (-42 to +73) over g000018</td><td>+1116 or more</td>";
        assert!(page.contains(cells), "{page}");
    }

    #[test]
    fn old_rows_are_counted() {
        let row = |i| ModelRow {
            id: format!("model-{i}"),
            ..ModelRow::default()
        };
        let page = models(&(0..1100).map(row).collect::<Vec<_>>()).into_string();
        assert!(page.contains("of 1,100 models") && page.contains("model-1099") && !page.contains("model-900"));
    }
}
