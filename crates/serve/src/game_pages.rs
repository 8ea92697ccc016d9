//! The pages about games: the list, and one game to click through.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};

use tengen_records::{GameKind, GameRecord, UNKNOWN_TIME};
use tengen_report::result_in_words;
use tengen_sgf::write_sgf;

use crate::champion::{Champion, champion_of};
use crate::game_list::{self, Found, GamesPage, Listed};
use crate::layout::{Place, page};
use crate::play::{MOST_VISITS, USUAL_VISITS};
use crate::problem::{Problem, blocking};
use crate::replay::Replay;
use crate::server::Shared;

/// The number of games on a page of the list.
const PER_PAGE: u64 = 50;

/// The kinds of games, each with its name in addresses and its name on the page.
const KINDS: [(Option<GameKind>, &str, &str); 4] = [
    (None, "all", "All"),
    (Some(GameKind::SelfPlay), "selfplay", "Self-play"),
    (Some(GameKind::Match), "match", "Matches"),
    (Some(GameKind::Import), "import", "Imported"),
];

/// `/runs/{run}/games?kind=…&page=…`: the newest games.
pub(crate) async fn list(
    State(shared): State<Shared>,
    Path(slug): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Result<Html<String>, Problem> {
    let run = shared.runs.find(&slug)?;
    let (kind, kind_name) = kind(query.get("kind"))?;
    let number = number(query.get("page"))?;
    let games = {
        let (shared, slug) = (shared.clone(), slug.clone());
        blocking(move || {
            let run = shared.runs.find(&slug)?;
            game_list::page((&run.store, &run.shards), kind, (number - 1) * PER_PAGE, PER_PAGE)
        })
        .await?
    };
    let content = html! {
        h1 { "Games" }
        nav.tabs aria-label="Kinds of games" {
            @for (_, name, title) in KINDS {
                @let current = (name == kind_name).then_some("page");
                a href=(format!("/runs/{slug}/games?kind={name}")) aria-current=[current] { (title) }
            }
        }
        @for problem in &games.problems { p.warning { (problem) } }
        (table(&slug, &games, number))
        (pager(&slug, kind_name, number, games.total))
    };
    Ok(page(
        &shared.runs,
        Place::Games(run),
        &format!("games of {slug}"),
        &[],
        content,
    ))
}

fn kind(text: Option<&String>) -> Result<(Option<GameKind>, &'static str), Problem> {
    let Some(text) = text else {
        return Ok((None, "all"));
    };
    let found = KINDS.into_iter().find(|(_, name, _)| name == text);
    found.map(|(kind, name, _)| (kind, name)).ok_or_else(|| {
        Problem::bad(format!(
            "expected the kind of games as all, selfplay, match, or import, found {text:?}"
        ))
    })
}

fn number(text: Option<&String>) -> Result<u64, Problem> {
    let Some(text) = text else { return Ok(1) };
    let number = text.parse().ok().filter(|number| (1..=1_000_000_000).contains(number));
    number.ok_or_else(|| Problem::bad(format!("expected the number of a page, 1 or more, found {text:?}")))
}

fn table(slug: &str, games: &GamesPage, number: u64) -> Markup {
    html! {
        @if games.games.is_empty() {
            p.none { @if number == 1 { "No games yet." } @else { "There are no games on this page." } }
        } @else {
            div.card.table tabindex="0" { table.games {
                tr {
                    th.left { "played" } th.left { "result" } th { "turns" } th.left { "Black" } th.left { "White" }
                    th { "board" } th { "komi" } th.left { "kind" }
                }
                @for game in &games.games { (row(slug, game)) }
            } }
        }
    }
}

fn row(slug: &str, listed: &Listed) -> Markup {
    let game = listed.record();
    html! {
        tr {
            td.left { a href=(address(slug, &listed.shard, listed.number as u64)) { (time(game)) } }
            td.left { (game.result_text()) }
            td { (game.plies.len()) }
            td.left { (short(&game.black_model)) }
            td.left { (short(&game.white_model)) }
            td { (game.size) }
            td { (game.komi) }
            td.left { (kind_in_words(game.kind)) }
        }
    }
}

fn pager(slug: &str, kind: &str, number: u64, total: u64) -> Markup {
    let pages = total.div_ceil(PER_PAGE).max(1);
    let link = |number: u64| format!("/runs/{slug}/games?kind={kind}&page={number}");
    html! {
        nav.pager aria-label="Pages of the list" {
            @if number > 1 {
                a href=(link(1)) { "newest" }
                a rel="prev" href=(link((number - 1).min(pages))) { "newer" }
            }
            span.soft {
                "page " (tengen_report::thousands(number)) " of " (tengen_report::thousands(pages)) ", "
                (tengen_report::thousands(total)) " games"
            }
            @if number < pages {
                a rel="next" href=(link(number + 1)) { "older" }
                a href=(link(pages)) { "oldest" }
            }
        }
    }
}

/// A model's name without its hash: `g000012`. Other names stay as they are.
fn short(name: &str) -> &str {
    match name.split_once('-') {
        Some((generation, hash)) if generation.starts_with('g') && hash.len() == 12 => generation,
        _ => name,
    }
}

fn kind_in_words(kind: GameKind) -> &'static str {
    match kind {
        GameKind::SelfPlay => "self-play",
        GameKind::Match => "match",
        GameKind::Import => "imported",
    }
}

/// When a game was played, UTC.
fn time(game: &GameRecord) -> String {
    let known = Some(game.start_time_ms).filter(|&time| time != UNKNOWN_TIME);
    let time = known.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or("unknown".to_owned(), |time| {
        time.strftime("%Y-%m-%d %H:%M:%S").to_string()
    })
}

fn address(slug: &str, shard: &str, number: u64) -> String {
    format!("/runs/{slug}/games/{shard}/{number}")
}

/// Finds a game without blocking other requests.
pub(crate) async fn find(shared: &Shared, slug: &str, shard: String, number: &str) -> Result<Arc<Found>, Problem> {
    let wrong = || Problem::bad(format!("expected the number of a game, such as 1, found {number:?}"));
    let number: usize = number.parse().map_err(|_| wrong())?;
    let (shared, slug) = (shared.clone(), slug.to_owned());
    blocking(move || {
        let run = shared.runs.find(&slug)?;
        game_list::find((&run.store, &run.shards), &shard, number).map(Arc::new)
    })
    .await
}

/// `/runs/{run}/games/{shard}/{number}`: one game to click through.
pub(crate) async fn game(
    State(shared): State<Shared>,
    Path((slug, shard, number)): Path<(String, String, String)>,
) -> Result<Html<String>, Problem> {
    let run = shared.runs.find(&slug)?;
    let found = find(&shared, &slug, shard, &number).await?;
    let champion = champion_of(&shared, &slug).await?;
    let game = found.game.record();
    let base = address(&slug, &found.game.shard, found.game.number as u64);
    let content = html! {
        div.replay-head {
            h1 {
                @if game.kind == GameKind::SelfPlay && game.black_model == game.white_model {
                    "Self-play of " (short(&game.black_model))
                } @else {
                    (short(&game.black_model)) " against " (short(&game.white_model))
                }
            }
            nav.pager aria-label="Other games" {
                @if let Some((shard, number)) = &found.newer {
                    a rel="prev" href=(address(&slug, shard, *number)) { "newer game" }
                }
                @if let Some((shard, number)) = &found.older {
                    a rel="next" href=(address(&slug, shard, *number)) { "older game" }
                }
            }
        }
        p.soft {
            (kind_in_words(game.kind)) " · " (time(game)) " UTC · " (game.size) " · komi " (game.komi) " · "
            (game.rules) " · " (result_in_words(game)) " · record: "
            a href=(format!("{base}/record.sgf")) download { "SGF" } ", "
            a href=(format!("{base}/record.json")) { "JSON" }
        }
        (viewer(&base, champion.as_ref()))
    };
    Ok(page(&shared.runs, Place::Games(run), "game", &["replay.js"], content))
}

/// The board; `replay.js` fills it with the game at this address.
fn viewer(base: &str, champion: Option<&Champion>) -> Markup {
    let (source, analysis) = (format!("{base}/record.json"), format!("/api{base}/analysis"));
    html! {
        div.card.viewer #viewer data-source=(source) data-analysis=(analysis) {
            div.board-box { svg #board role="img" aria-label="board" tabindex="0" {} }
            div {
                p #turn role="status" { "Loading the game…" }
                div.controls {
                    button #first type="button" title="first turn (Home)" { "|◀" }
                    button #back type="button" title="ten turns back (Page Up)" { "◀◀" }
                    button #previous type="button" title="previous turn (left arrow)" { "◀" }
                    button #next type="button" title="next turn (right arrow)" { "▶" }
                    button #forward type="button" title="ten turns forward (Page Down)" { "▶▶" }
                    button #last type="button" title="last turn (End)" { "▶|" }
                }
                input #slider type="range" min="0" value="0" aria-label="turn";
                fieldset.overlays {
                    legend { "From the record" }
                    label { input #show-policy type="checkbox" checked; " policy target" }
                    label { input #show-ownership type="checkbox"; " final ownership" }
                    label { input #show-numbers type="checkbox"; " turn numbers" }
                }
                @if let Some(champion) = champion { (view_of(champion)) }
                dl.figures #figures {}
                svg #values viewBox="0 0 400 120" role="img" aria-label="value and margin over the game" {}
                p.soft.legend {
                    span { i.blue {} "value of the search" } span { i.orange {} "of the network alone" }
                    span { i.teal {} "margin" } " for Black"
                }
                p.soft { "Keys: arrows, Page Up, Page Down, Home, End." }
            }
        }
    }
}

/// The controls that ask the champion what it thinks of the position shown.
fn view_of(champion: &Champion) -> Markup {
    html! {
        fieldset.overlays #view {
            legend { "View of the champion, " (short(&champion.model.to_string())) }
            label { input #view-moves type="checkbox"; " candidate moves" }
            label { input #view-policy type="checkbox"; " policy" }
            label { input #view-ownership type="checkbox"; " ownership" }
            label { "Visits "
                input #view-visits type="number" min="1" max=(MOST_VISITS) value=(USUAL_VISITS);
            }
            p.soft #view-state role="status" hidden {}
            dl.figures #view-figures {}
        }
    }
}

/// `/runs/{run}/games/{shard}/{number}/record.sgf`.
pub(crate) async fn sgf(
    State(shared): State<Shared>,
    Path((slug, shard, number)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    let found = find(&shared, &slug, shard, &number).await?;
    let name = format!("{slug}-{}-{}", found.game.shard, found.game.number);
    Ok(sgf_file(&write_sgf(found.game.record()), &name))
}

/// A file to save under this name, which must not need quoting.
pub(crate) fn sgf_file(text: &str, name: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/x-go-sgf; charset=utf-8".to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}.sgf\""),
        ),
    ];
    (headers, text.to_owned()).into_response()
}

/// `/runs/{run}/games/{shard}/{number}/record.json`.
pub(crate) async fn json(
    State(shared): State<Shared>,
    Path((slug, shard, number)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    let found = find(&shared, &slug, shard, &number).await?;
    let replay = Replay::of(found.game.record())
        .map_err(|error| Problem::unavailable(format!("the game breaks the rules: {error}")))?;
    Ok(axum::Json(replay).into_response())
}
