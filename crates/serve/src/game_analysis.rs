//! Lets the champion of a run analyze a position of a stored game.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::Value;

use tengen_records::GameRecord;
use tengen_rules::Position;

use crate::champion::champion_of;
use crate::game_pages::find;
use crate::play::{Shown, check_visits};
use crate::problem::{Problem, answer, read};
use crate::server::Shared;
use crate::thinker::Question;

/// The request for an analysis.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Number of the game's turns before the position.
    turns: usize,
    visits: u32,
}

/// `/api/runs/{run}/games/{shard}/{number}/analysis`: what the current champion thinks of a position.
pub(crate) async fn analysis(
    State(shared): State<Shared>,
    Path((slug, shard, number)): Path<(String, String, String)>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let request: Request = read(&body)?;
    check_visits(request.visits)?;
    let found = find(&shared, &slug, shard, &number).await?;
    let game = found.game.record();
    let position = position_after(game, request.turns)?;
    let champion = champion_of(&shared, &slug).await?;
    let champion = champion.ok_or_else(|| Problem::conflict("this run has no champion yet"))?;
    champion.check_board(game.size)?;
    let question = Question {
        store: shared.runs.find(&slug)?.store.clone(),
        model: champion.model,
        position: position.clone(),
        komi: game.komi,
        visits: request.visits,
    };
    let analysis = shared.thinker.ask(question).await?;
    answer(&Shown::of(&analysis, &position, request.turns as u64))
}

/// The position after this many turns of a game, or a problem if it cannot be searched.
fn position_after(game: &GameRecord, turns: usize) -> Result<Position, Problem> {
    let broken = |error| Problem::unavailable(format!("the game breaks the rules: {error}"));
    if turns > game.plies.len() {
        let last = game.plies.len();
        return Err(Problem::bad(format!("expected 0 to {last} turns, found {turns}")));
    }
    let mut start = game.clone();
    start.plies.truncate(turns);
    let position = start.replay().map_err(broken)?;
    position
        .rules()
        .check_for_machines()
        .map_err(|error| Problem::refused(error.to_string()))?;
    match position.is_over() {
        true => Err(Problem::conflict("the game is over")),
        false => Ok(position),
    }
}
