//! The setup of a run: program, command, machine, network, and how its configuration differs from a shipped one.

use maud::{Markup, html};

use tengen_metrics::{Event, Measured, Start};

use crate::numbers::{counted, thousands};

/// The number of starts and the last of them; `None` if only versions that did not record starts have run it.
fn last_start(events: &[Event]) -> Option<(usize, &Start)> {
    let starts: Vec<&Start> = events.iter().filter_map(start).collect();
    Some((starts.len(), *starts.last()?))
}

fn start(event: &Event) -> Option<&Start> {
    match &event.measured {
        Measured::Start(start) => Some(start),
        _ => None,
    }
}

/// The cores, and the self-play on them.
fn processor(start: &Start) -> String {
    let cores = counted(start.cores, "core");
    match start.workers {
        0 => format!("{cores}; self-play runs in processes of its own"),
        workers => format!(
            "{cores}; {} of self-play with {}",
            counted(workers, "thread"),
            counted(start.games_at_once, "game")
        ),
    }
}

/// The table of the setup; `facts` are known from the store itself.
pub(super) fn table(events: &[Event], facts: &[(&'static str, String)]) -> Markup {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let start = last_start(events);
    if let Some((starts, start)) = start {
        let command = match starts {
            1 => "command",
            _ => "last command",
        };
        rows.extend([
            (command, start.command.clone()),
            ("program", start.version.clone()),
            ("network", format!("{}, trained in {}", start.network, start.trained_in)),
            ("device", start.device.clone()),
            ("processor", processor(start)),
        ]);
        if starts > 1 {
            rows.push(("starts", thousands(starts as u64)));
        }
    }
    rows.extend(facts.iter().map(|(name, value)| (*name, value.clone())));
    html! {
        div.card.table tabindex="0" { table.setup {
            @for (name, value) in &rows { tr { th.left { (name) } td.words { (value) } } }
            @if let Some((_, start)) = start {
                tr {
                    th.left { "differs from " (start.compared_with) }
                    td.words {
                        @if start.differences.is_empty() { "in nothing" }
                        @for difference in &start.differences { code { (difference) } br; }
                    }
                }
            }
        } }
    }
}
