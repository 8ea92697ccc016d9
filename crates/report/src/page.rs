//! The layout of the page.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use tengen_metrics::Measured;

use super::curves::Curves;
use super::data::{Data, ModelRow};
use super::openings::percent;
use super::plot::Plot;
use super::{PLOTS_SCRIPT, Refresh, STYLE, calibration, fleet, replay, setup, tables};
use crate::numbers::{duration, short_model, thousands};

/// Maximum size of the games in the page, in bytes.
const GAMES_BUDGET: usize = 1_200_000;

/// A page and what it shows.
pub(super) struct Page {
    pub(super) html: String,
    /// Number of games that can be replayed.
    pub(super) games: usize,
}

/// Renders everything read from a store.
pub(super) fn render(data: &Data, refresh: Refresh) -> Page {
    let curves = Curves::of(&data.history.events);
    let (games, json) = replay::replays(&data.shown, GAMES_BUDGET);
    let body = html! {
        main { (sections(data, &curves, games)) }
        script #games type="application/json" { (PreEscaped(json)) }
        script { (PreEscaped(include_str!("viewer.js"))) }
    };
    Page {
        html: document(&data.name, refresh, &body),
        games,
    }
}

/// A page with this title and body that needs no other file.
pub(super) fn document(title: &str, refresh: Refresh, body: &Markup) -> String {
    let seconds = match refresh {
        Refresh::Never => 0,
        Refresh::Every(seconds) => seconds,
    };
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if seconds > 0 { noscript { meta http-equiv="refresh" content=(seconds); } }
                title { "Tengen: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body data-refresh=(seconds) {
                (body)
                script { (PreEscaped(PLOTS_SCRIPT)) }
            }
        }
    };
    html.into_string()
}

/// Everything on the page except the replay of games, in order, each part with its name. Parts that do not apply to the
/// store are empty.
pub(super) fn parts(data: &Data, curves: &Curves<'_>, links: &[(&str, &str)]) -> Vec<(&'static str, Markup)> {
    let top = html! {
        (header(data, curves, links))
        @for problem in data.problems.iter().chain(&broken_losses(data)) { p.warning { (problem) } }
        @for (at, warning, times) in warnings(data) {
            p.warning { "After " (duration(at)) ": " (warning) @if times > 1 { " (" (times) " times so far)" } }
        }
        (facts(data, curves))
        @if data.history.events.is_empty() && data.selfplay.plus(data.matches).plus(data.imported).games == 0 {
            p.card.viewer { "This store is still empty: no games and no metrics. Once the run has started, \
                             this page fills up." }
        }
    };
    let contest = html! { @if let Some(contest) = &data.contest { (contest.part()) } };
    let mut parts = vec![("top", top), ("result", contest)];
    let of_run = parts_of_run(data, curves);
    match data.is_only_games() {
        true => parts.extend(of_run.into_iter().map(|(name, _)| (name, Markup::default()))),
        false => parts.extend(of_run),
    }
    parts
}

/// The parts that tell about a run.
fn parts_of_run(data: &Data, curves: &Curves<'_>) -> Vec<(&'static str, Markup)> {
    let mut games_played = curves.games();
    games_played.push(calibration::plot(data.recent.iter()));
    let verdict = html! { @if let Some(verdict) = &data.verdict { (verdict.card()) } };
    let setup = html! { h2 #setup { "Setup" } (setup::table(&data.history.events, &data.setup)) };
    let first_moves = html! {
        h2 #first-moves { "First moves of self-play" }
        p.soft { "The darker a point, the more games started there; symmetric points are counted together." }
        @if data.first_moves.is_empty() { p.none { "No games yet." } } @else {
            div.heats { @for moves in &data.first_moves { (moves.board()) } }
        }
    };
    let processes = html! {
        @if !data.processes.is_empty() {
            h2 #processes { "Processes" }
            (fleet::table(&data.processes))
        }
    };
    let throughput = html! {
        (plots("throughput", "Throughput", &curves.throughput()))
        (data.history.usage.tables())
    };
    let gate = html! { h2 #gate { "Gate" } (tables::gates(&data.history.events)) };
    let models = html! { h2 #models { "Models and their cost" } (tables::models(&data.models)) };
    vec![
        ("verdict", verdict),
        ("strength", plots("strength", "Strength", &curves.strength())),
        ("training", plots("training", "Training", &curves.training())),
        ("held-out", plots("held-out", "Held-out games", &curves.validation())),
        ("games-played", plots("games-played", "Self-play games", &games_played)),
        ("first-moves", first_moves),
        ("throughput", throughput),
        ("processes", processes),
        ("gate", gate),
        ("models", models),
        ("setup", setup),
    ]
}

fn sections(data: &Data, curves: &Curves<'_>, games: usize) -> Markup {
    html! {
        @for (_, part) in parts(data, curves, &[("board-section", "Games")]) { (part) }
        h2 #board-section { "Replay games" }
        (viewer(games))
    }
}

/// The title, what the run is, and links to the parts of the page; `more` are links to parts that only some pages have.
fn header(data: &Data, curves: &Curves<'_>, more: &[(&str, &str)]) -> Markup {
    let of_run = [
        ("strength", "Strength"),
        ("training", "Training"),
        ("held-out", "Held-out games"),
        ("games-played", "Self-play"),
        ("first-moves", "First moves"),
        ("throughput", "Throughput"),
        ("gate", "Gate"),
        ("models", "Models"),
        ("setup", "Setup"),
    ];
    let links: &[(&str, &str)] = if data.is_only_games() { &[] } else { &of_run };
    html! {
        h1 { (data.name) }
        p.soft {
            @for about in &data.about { (about) " · " }
            @if curves.seconds() > 0.0 { (duration(curves.seconds())) " of run time · " }
            "written " (data.written)
        }
        nav {
            @if data.contest.is_some() { a href="#outcome" { "Result" } }
            @if data.verdict.is_some() { a href="#verdict" { "Verdict" } }
            @for (id, name) in links.iter().chain(more) { a href=(format!("#{id}")) { (name) } }
            @if !data.processes.is_empty() { a href="#processes" { "Processes" } }
        }
    }
}

/// The newest warning of each kind, with its run time and the number of warnings of this kind: a process that resumes a
/// run warns again, with other figures.
fn warnings(data: &Data) -> Vec<(f64, &str, usize)> {
    let mut kinds: BTreeMap<String, (f64, &str, usize)> = BTreeMap::new();
    for event in &data.history.events {
        if let Measured::Warning(warning) = &event.measured {
            let text = warning.text.strip_prefix("warning: ").unwrap_or(&warning.text);
            let kind = text.chars().filter(|c| !c.is_ascii_digit()).collect();
            let times = kinds.get(&kind).map_or(0, |(_, _, times)| *times);
            kinds.insert(kind, (event.elapsed_seconds, text, times + 1));
        }
    }
    let mut newest: Vec<_> = kinds.into_values().collect();
    newest.sort_by(|one, other| one.0.total_cmp(&other.0));
    newest
}

fn broken_losses(data: &Data) -> Option<String> {
    let broken = data.history.broken_losses;
    (broken > 0).then(|| {
        format!("{broken} training events have a loss that is not a number: training has diverged or overflowed.")
    })
}

fn plots(id: &str, title: &str, plots: &[Plot]) -> Markup {
    html! {
        h2 id=(id) { (title) }
        div.plots { @for plot in plots { (plot.figure()) } }
    }
}

/// The headline figures. They cover the whole run unless they say otherwise; unknown ones are omitted.
fn facts(data: &Data, curves: &Curves<'_>) -> Markup {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |value: String, what: &str| facts.push((value, what.to_owned()));
    let champion = data.models.iter().find(|model| model.champion);
    if let Some(champion) = champion {
        fact(short_model(&champion.id).to_owned(), "champion");
    }
    match (
        champion.and_then(|champion| champion.elo.as_ref()),
        curves.ratings().last(),
    ) {
        (Some(rating), _) => fact(tables::signed(rating.elo), "Elo of the champion"),
        (None, Some(newest)) => fact(tables::signed(newest.elo), "Elo of the newest rated model"),
        (None, None) => {}
    }
    if !data.is_only_games() {
        fact(thousands(data.selfplay.games), "self-play games");
        fact(thousands(data.selfplay.positions), "positions in them");
    }
    let newest = data.models.last();
    let of_newest = |figure: fn(&ModelRow) -> Option<f64>| newest.and_then(figure).unwrap_or(0.0).max(0.0) as u64;
    if data.selfplay.games > 0 {
        let plies = data.selfplay.positions as f64 / data.selfplay.games as f64;
        fact(format!("{plies:.1}"), "plies per game");
    }
    if let Some(games) = curves.last_selfplay() {
        // The last event comes some time before the run ends, while the newest model has the totals at the end.
        let evaluations = games.evaluations.max(of_newest(|model| model.evaluations));
        fact(thousands(evaluations), "network evaluations");
        if curves.seconds() > 0.0 {
            let rate = evaluations as f64 / curves.seconds();
            fact(thousands(rate.round() as u64), "evaluations per second");
        }
        if games.fair_komi.is_finite() {
            fact(format!("{:.1}", games.fair_komi), "latest fair komi");
        }
    }
    if let Some(whole) = data.history.selfplay {
        fact(percent(whole.black_win_share), "won by Black");
        fact(percent(whole.unfinished_share), "unfinished games");
    }
    if let Some(train) = curves.last_train() {
        fact(
            thousands(train.step.max(of_newest(|model| model.step))),
            "training steps",
        );
        fact(format!("{:.3}", train.total_loss), "latest total loss");
    }
    if let Some(cpu) = data.models.last().and_then(|model| model.cpu_seconds) {
        fact(duration(cpu), "CPU time to the newest model");
    }
    if !data.is_only_games() {
        fact(thousands(data.models.len() as u64), "models");
    }
    fact(thousands(data.matches.games), "match games");
    if data.imported.games > 0 {
        fact(thousands(data.imported.games), "imported games");
    }
    html! {
        div.facts { @for (value, what) in &facts { div.fact { b { (value) } span { (what) } } } }
    }
}

fn viewer(games: usize) -> Markup {
    html! {
        @if games == 0 { p.none { "No games yet." } } @else {
            p.soft {
                "While the board is in view, the left and right arrow keys also work; after a click into this box, \
                 Home and End do, too. Blue points: the search's favorite next moves, in percent."
            }
            div.card.viewer #viewer tabindex="0" {
                svg #board role="img" aria-label="board" {}
                div {
                    label { span.soft { "Game" } select #choice {} }
                    p #players {}
                    p #result {}
                    p { a #sgf { "SGF file" } }
                    div.controls {
                        button #first title="first (Home)" { "|◀" }
                        button #previous title="previous (left arrow)" { "◀" }
                        button #next title="next (right arrow)" { "▶" }
                        button #last title="last (End)" { "▶|" }
                    }
                    input #slider type="range" min="0" value="0" aria-label="turn";
                    label { input #owners type="checkbox"; span.soft { " owners at the end, small squares" } }
                    p #turn {}
                    p.soft #figures {}
                    svg #values viewBox="0 0 400 100" role="img" aria-label="value over the game" {}
                    p.soft {
                        "Value over the game for Black: " span.legend {
                            span { i.blue {} "search" } span { i.orange {} "network alone" }
                        }
                    }
                }
            }
        }
    }
}
