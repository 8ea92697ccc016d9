//! The pages about runs: the list, the live report of each run, and the runs side by side.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, PreEscaped, html};

use tengen_store::GamesOf;

use crate::layout::{Place, page};
use crate::live::{Live, Shown};
use crate::problem::{Problem, blocking};
use crate::runs::Run;
use crate::server::{MOST_WATCHERS, Shared};

/// The scripts of pages with plots that follow runs.
const SCRIPTS: [&str; 2] = ["live.js", "plots.js"];

/// `/`: redirects to the only run, or lists all runs.
pub(crate) async fn home(State(shared): State<Shared>) -> Result<Response, Problem> {
    if let [run] = shared.runs.all() {
        return Ok(Redirect::to(&format!("/runs/{}", run.slug)).into_response());
    }
    let rows = {
        let shared = shared.clone();
        blocking(move || Ok(shared.runs.all().iter().map(row).collect::<Vec<_>>())).await?
    };
    let content = html! {
        h1 { "Runs" }
        p.soft { (shared.runs.all().len()) " runs are served. " a href="/compare" { "See them side by side" } "." }
        div.card.table tabindex="0" { table {
            tr {
                th.left { "run" } th.left { "board" } th.left { "champion" } th { "self-play games" }
                th { "positions" } th.left { "look at" }
            }
            @for row in rows { (row) }
        } }
    };
    Ok(page(&shared.runs, Place::Home, "runs", &[], content).into_response())
}

/// The row of a run in the list, with a dash for every figure that cannot be read.
fn row(run: &Run) -> Markup {
    let info = run.store.run_info().ok().flatten();
    let champion = run.store.models().champion().ok().flatten();
    let games = run
        .store
        .games()
        .list(&GamesOf::SelfPlay)
        .ok()
        .map(|listing| listing.published());
    let base = format!("/runs/{}", run.slug);
    html! {
        tr {
            td.left { a href=(base) { (run.slug) } }
            td.left { (info.map_or("–".to_owned(), |info| info.sizes.join(", "))) }
            td.left { (champion.map_or("–".to_owned(), |(_, promotion)| promotion.model_id.to_string())) }
            @match games {
                Some(totals) => {
                    td { (tengen_report::thousands(totals.games)) }
                    td { (tengen_report::thousands(totals.positions)) }
                }
                None => { td { "–" } td { "–" } }
            }
            td.left.links {
                a href=(base) { "report" } " " a href=(format!("{base}/games")) { "games" } " "
                a href=(format!("{base}/board")) { "play" }
            }
        }
    }
}

/// `/runs/{run}`: the report, which follows the run.
pub(crate) async fn report(State(shared): State<Shared>, Path(slug): Path<String>) -> Result<Html<String>, Problem> {
    let run = shared.runs.find(&slug)?;
    let content = live_content(&run.report.current().await?, &format!("/runs/{slug}"));
    Ok(page(&shared.runs, Place::Report(run), &slug, &SCRIPTS, content))
}

/// `/runs/{run}/sections`: the content of the report alone.
pub(crate) async fn report_sections(
    State(shared): State<Shared>,
    Path(slug): Path<String>,
) -> Result<Response, Problem> {
    sections(&shared.runs.find(&slug)?.report).await
}

/// `/runs/{run}/updates`: says when the report has changed.
pub(crate) async fn report_updates(
    State(shared): State<Shared>,
    Path(slug): Path<String>,
) -> Result<Response, Problem> {
    updates(&shared, &shared.runs.find(&slug)?.report)
}

/// `/compare`: all runs on common axes.
pub(crate) async fn compare(State(shared): State<Shared>) -> Result<Html<String>, Problem> {
    let shown = shared.runs.comparison.current().await?;
    let content = html! {
        h1 { "Runs side by side" }
        p.soft { "Losses, ratings and gates over what each run has spent; this page follows the runs." }
        (live_content(&shown, "/compare"))
    };
    Ok(page(
        &shared.runs,
        Place::Compare,
        "runs side by side",
        &SCRIPTS,
        content,
    ))
}

/// `/compare/sections`.
pub(crate) async fn compare_sections(State(shared): State<Shared>) -> Result<Response, Problem> {
    sections(&shared.runs.comparison).await
}

/// `/compare/updates`.
pub(crate) async fn compare_updates(State(shared): State<Shared>) -> Result<Response, Problem> {
    updates(&shared, &shared.runs.comparison)
}

/// The parts that `live.js` replaces. `base` is the address below which it finds new ones.
fn live_content(shown: &Shown, base: &str) -> Markup {
    html! {
        p #live-state.soft role="status" { "This page updates itself when the run has news." }
        (live_parts(shown, base))
    }
}

fn live_parts(shown: &Shown, base: &str) -> Markup {
    html! {
        div #live data-version=(shown.version) data-base=(base) { (PreEscaped(&shown.html)) }
    }
}

async fn sections(live: &Live) -> Result<Response, Problem> {
    let shown = live.current().await?;
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    Ok((kind, live_parts(&shown, "").into_string()).into_response())
}

fn updates(shared: &Shared, live: &Live) -> Result<Response, Problem> {
    let open: usize = shared.runs.lives().map(Live::watchers).sum();
    match open < MOST_WATCHERS {
        true => Ok(live.updates(shared.stopping.clone()).into_response()),
        false => Err(Problem::unavailable(format!(
            "{MOST_WATCHERS} pages already follow runs here, which is the limit; close some"
        ))),
    }
}
