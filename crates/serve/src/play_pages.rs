//! The board to play on: its page, and the requests of its script.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use tengen_matches::Asked;
use tengen_rules::{Color, Komi, Size};
use tengen_sgf::write_sgf;

use crate::champion::{Champion, champion_of};
use crate::game_pages::sgf_file;
use crate::layout::{Place, page};
use crate::play::{Game, MOST_VISITS, Shown, Terms, USUAL_VISITS, check_visits};
use crate::problem::{Problem, answer, read};
use crate::runs::Run;
use crate::server::Shared;
use crate::thinker::Question;

/// `/runs/{run}/board`.
pub(crate) async fn board(State(shared): State<Shared>, Path(slug): Path<String>) -> Result<Html<String>, Problem> {
    let run = shared.runs.find(&slug)?;
    let champion = champion_of(&shared, &slug).await?;
    let content = html! {
        h1 { "Play against the champion" }
        (whom(champion.as_ref()))
        @if let Some(champion) = &champion { (form(champion)) }
        (table(run, champion.as_ref()))
    };
    Ok(page(
        &shared.runs,
        Place::Board(run),
        &format!("play on {slug}"),
        &["play.js"],
        content,
    ))
}

fn whom(champion: Option<&Champion>) -> Markup {
    html! {
        @match champion {
            Some(champion) => {
                p.soft { "The champion is " code #champion { (champion.model) } ". " span #news role="status" {} }
            }
            None => {
                p.warning {
                    "This run has no champion yet. It gets its first one when it starts to train; this page then \
                     offers a game. " span #news role="status" {}
                }
            }
        }
    }
}

fn form(champion: &Champion) -> Markup {
    let largest = champion.boards.last();
    html! {
        form #start.card.start {
            label { "Board"
                select #size name="size" {
                    @for size in &champion.boards {
                        option value=(size) data-komi=(champion.komi(*size)) selected[Some(size) == largest] { (size) }
                    }
                }
            }
            label { "Komi"
                input #komi name="komi" inputmode="decimal" required size="5"
                    value=[largest.map(|size| champion.komi(*size))];
            }
            label { "Your color"
                select #color name="color" { option value="black" { "Black" } option value="white" { "White" } }
            }
            label { "Visits"
                input #visits name="visits" type="number" min="1" max=(MOST_VISITS) value=(USUAL_VISITS) required;
            }
            button type="submit" { "New game" }
        }
    }
}

/// The board and what is beside it; `play.js` makes it work.
fn table(run: &Run, champion: Option<&Champion>) -> Markup {
    let boards = champion.iter().flat_map(|champion| &champion.boards);
    let largest = boards.last().map(Size::to_string);
    html! {
        div.card.viewer #play data-run=(run.slug) data-size=[largest] {
            div.board-box { svg #board role="application" aria-label="board" tabindex="0" {} }
            div {
                p #turn role="status" { "Start a new game." }
                p #problem.warning role="alert" hidden {}
                div.controls {
                    button #pass type="button" disabled { "Pass" }
                    button #undo type="button" disabled { "Take back" }
                    button #hint type="button" disabled { "Analyze" }
                }
                fieldset.overlays {
                    legend { "Analysis" }
                    label { input #show-moves type="checkbox"; " candidate moves" }
                    label { input #show-policy type="checkbox"; " policy" }
                    label { input #show-ownership type="checkbox"; " ownership" }
                }
                dl.figures #figures {}
                div.card.table tabindex="0" #candidates hidden { table { thead { tr {
                    th.left { "move" } th { "visits" } th { "wins" } th { "score" } th { "policy" }
                    th.left { "continuation" }
                } } tbody #moves {} } }
                p.soft #terms {}
                p.soft { "Keys on the board: arrows and Enter; P passes, U takes back." }
            }
        }
    }
}

/// `/api/runs/{run}/champion`: the model that would play a new game.
pub(crate) async fn champion(State(shared): State<Shared>, Path(slug): Path<String>) -> Result<Json<Value>, Problem> {
    let champion = champion_of(&shared, &slug).await?;
    Ok(Json(
        json!({ "model": champion.map(|champion| champion.model.to_string()) }),
    ))
}

/// The request for a new game.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    size: String,
    komi: String,
    color: String,
    visits: u32,
}

/// `/api/runs/{run}/play`: starts a game against the current champion.
pub(crate) async fn start(
    State(shared): State<Shared>,
    Path(slug): Path<String>,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let start: Start = read(&body)?;
    let champion = champion_of(&shared, &slug).await?;
    let champion = champion.ok_or_else(|| Problem::conflict("this run has no champion yet"))?;
    let game = Game::new(terms(&slug, &champion, &start)?);
    let state = game.state();
    let name = shared.games.add(game)?;
    Ok((StatusCode::CREATED, Json(json!({ "game": name, "state": state }))))
}

fn terms(slug: &str, champion: &Champion, start: &Start) -> Result<Terms, Problem> {
    let size: Size = start
        .size
        .parse()
        .map_err(|error| Problem::bad(format!("the board: {error}")))?;
    champion.check_board(size)?;
    let komi: Komi = start
        .komi
        .parse()
        .map_err(|error| Problem::bad(format!("komi: {error}")))?;
    if usize::from(komi.half_points().unsigned_abs()) > 2 * size.area() {
        return Err(Problem::refused(format!(
            "komi {komi} exceeds the {} points of {size}",
            size.area()
        )));
    }
    check_visits(start.visits)?;
    let asked = Asked {
        size: Some(size),
        komi: Some(komi),
        rules: None,
    };
    let rules = champion.training.conditions(asked).rules;
    rules
        .check_for_machines()
        .map_err(|error| Problem::refused(error.to_string()))?;
    Ok(Terms {
        run: slug.to_owned(),
        model: champion.model.clone(),
        size,
        komi,
        rules,
        person: match start.color.as_str() {
            "black" => Color::Black,
            "white" => Color::White,
            other => {
                return Err(Problem::bad(format!(
                    "expected the color black or white, found {other:?}"
                )));
            }
        },
        visits: start.visits,
    })
}

/// `/api/play/{game}`.
pub(crate) async fn state(State(shared): State<Shared>, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    shared.games.with(&name, |game| answer(&game.state()))
}

/// The person's move.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    revision: u64,
    #[serde(rename = "move")]
    text: String,
}

/// A request about the position on the board.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    revision: u64,
}

/// `/api/play/{game}/move`: plays the person's move.
pub(crate) async fn play(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let request: Play = read(&body)?;
    shared.games.with(&name, |game| {
        game.check(request.revision)?;
        game.play(&request.text)?;
        answer(&game.state())
    })
}

/// `/api/play/{game}/undo`: takes back the person's last move.
pub(crate) async fn undo(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let request: About = read(&body)?;
    shared.games.with(&name, |game| {
        game.check(request.revision)?;
        game.undo()?;
        answer(&game.state())
    })
}

/// `/api/play/{game}/reply`: the model thinks and moves.
pub(crate) async fn reply(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let request: About = read(&body)?;
    let question = question(&shared, &name, request.revision, |game| {
        match game.position.to_move() == game.terms.person {
            true => Err(Problem::conflict("it is your turn")),
            false => Ok(()),
        }
    })?;
    let analysis = shared.thinker.ask(question).await?;
    shared.games.with(&name, |game| {
        game.check(request.revision)?;
        game.reply(analysis.best)?;
        answer(&game.state())
    })
}

/// `/api/play/{game}/analysis`: what the model thinks of the position on the board.
pub(crate) async fn analysis(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let request: About = read(&body)?;
    let question = question(&shared, &name, request.revision, |_| Ok(()))?;
    let position = question.position.clone();
    let analysis = shared.thinker.ask(question).await?;
    answer(&Shown::of(&analysis, &position, request.revision))
}

/// The position of a game as a question to its model.
fn question(
    shared: &Shared,
    name: &str,
    revision: u64,
    check: impl FnOnce(&Game) -> Result<(), Problem>,
) -> Result<Question, Problem> {
    shared.games.with(name, |game| {
        game.check(revision)?;
        game.check_in_progress()?;
        check(game)?;
        Ok(Question {
            store: shared.runs.find(&game.terms.run)?.store.clone(),
            model: game.terms.model.clone(),
            position: game.position.clone(),
            komi: game.terms.komi,
            visits: game.terms.visits,
        })
    })
}

/// `/api/play/{game}/record.sgf`.
pub(crate) async fn sgf(State(shared): State<Shared>, Path(name): Path<String>) -> Result<Response, Problem> {
    let record = shared.games.with(&name, |game| Ok(game.record()))?;
    Ok(sgf_file(&write_sgf(&record), &record.game_id))
}
