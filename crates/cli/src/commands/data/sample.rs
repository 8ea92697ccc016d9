//! `tengen data sample`: shows random games or positions of a store, or writes them as a small dataset.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use tengen_datasets::{DatasetFilter, ExportOptions, Sampled, What, export, sample};
use tengen_records::{GameRecord, PlyRecord};
use tengen_rules::{Move, Position, Size, format_point};
use tengen_sgf::write_sgf;
use tengen_store::{Create, Store};

use super::export::{Format, Row, report, usage_or_failure, with_progress};
use super::filters::Filters;
use crate::commands::rules::show::{color_name, diagram, rows};
use crate::interrupt::Interrupt;
use crate::output;

/// Number of policy moves shown.
const BEST_MOVES: usize = 5;

/// Choose random games or positions of a store and show them
///
/// Every game or position that passes the filters is equally likely; the same --seed chooses the same ones. Positions
/// are shown as diagrams (X is Black, O is White, ! is empty but illegal) next to the owners at the end of the game (x
/// Black, o White), with the search's evaluation and the game's result. With --out, they become a small dataset, as
/// `tengen data export` writes it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data sample data/runs/demo
  tengen data sample data/runs/demo -n 20 --full-search --seed 7 --json
  tengen data sample data/runs/demo --what games -n 100 --out data/hundred \\
      --format sgf")]
pub(crate) struct Args {
    /// The store: its folder or address
    store: String,
    /// Number of samples
    #[arg(short = 'n', long, default_value_t = 3, value_parser = crate::arguments::count)]
    number: u32,
    /// What to sample
    #[arg(long, value_enum, default_value_t = Row::Positions)]
    what: Row,
    /// Write a dataset to this new or empty folder instead of showing anything
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The format of the dataset
    #[arg(long, value_enum, default_value_t = Format::Parquet, requires = "out")]
    format: Format,
    #[command(flatten)]
    filters: Filters,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let (what, count, filter) = (args.what.what(), u64::from(args.number), args.filters.filter());
    if let Some(folder) = &args.out {
        let options = ExportOptions {
            what,
            format: args.format.file_format(),
            filter,
            count: Some(count),
            split: None,
            distinct: false,
            rows_per_part: None,
        };
        let dataset = with_progress(|watch| export(&store, folder, &options, watch))?;
        return report(&dataset, args.json);
    }
    if what == What::Games && filter.full_search_only {
        return Err(output::usage("--full-search only applies to positions; remove it"));
    }
    let (objects, texts) = draw(&store, (what, count), &filter)?;
    match (args.json, what) {
        (true, What::Games) => output::json(&json!({ "games": objects }))?,
        (true, What::Positions) => output::json(&json!({ "positions": objects }))?,
        (false, _) => output::result(texts.join("\n\n")),
    }
    Ok(())
}

/// The sampled games or positions, as JSON and as text.
fn draw(store: &Store, wanted: (What, u64), filter: &DatasetFilter) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
    let interrupt = Interrupt::listen("Stopping…")?;
    let (mut objects, mut texts) = (Vec::new(), Vec::new());
    let mut show = |sampled: Sampled<'_>| {
        if sampled.plies.is_empty() {
            objects.push(game_object(&sampled));
            texts.push(write_sgf(sampled.game).trim_end().to_owned());
            return;
        }
        let replayed = sampled.game.replay_with(|position, ply, turn| {
            if sampled.plies.contains(&ply) {
                objects.push(position_object(&sampled, position, ply, turn));
                texts.push(position_text(&sampled, position, ply, turn));
            }
        });
        replayed.expect("the store has replayed this game");
    };
    let drawn = sample(store, wanted, filter, &mut |_| !interrupt.requested(), &mut show);
    drawn.or_else(|error| usage_or_failure(error, &interrupt))?;
    Ok((objects, texts))
}

fn game_object(sampled: &Sampled<'_>) -> Value {
    let mut object = about_game(sampled);
    let game = sampled.game;
    let moves: Vec<String> = game.plies.iter().map(|turn| turn.mv.format(game.size)).collect();
    object.insert("moves".to_owned(), json!(moves));
    object.insert("sgf".to_owned(), json!(write_sgf(game)));
    object.into()
}

/// Fields shared by all positions of a game. Names and meanings match the columns of a dataset.
fn about_game(sampled: &Sampled<'_>) -> Map<String, Value> {
    let game = sampled.game;
    let object = json!({
        "game_id": game.game_id,
        "size": game.size.to_string(),
        "rules": game.rules,
        "komi": game.komi.points(),
        "game_plies": game.plies.len(),
        "end_reason": game.end_reason.name(),
        "result": game.result_text(),
        "score": game.margin_points(),
        "ownership": owners(game),
        "kind": game.kind.name(),
        "black_model": game.black_model,
        "white_model": game.white_model,
        "shard": sampled.shard.path,
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn position_object(sampled: &Sampled<'_>, position: &Position, ply: usize, turn: &PlyRecord) -> Value {
    let size = position.size();
    let points =
        |set: tengen_rules::PointSet| -> Vec<String> { set.iter().map(|point| format_point(size, point)).collect() };
    let mut legal = points(position.legal_points());
    if position.is_legal(Move::Pass) {
        legal.push("pass".to_owned());
    }
    let searched = turn.root_visits > 0;
    let policy: Map<String, Value> = turn
        .policy
        .iter()
        .map(|&(index, p)| (move_text(size, index), json!(p)))
        .collect();
    let mut object = about_game(sampled);
    let own = json!({
        "ply": ply,
        "to_move": color_name(position.to_move()),
        "board": rows(position, &|_| false),
        "legal": legal,
        "superko_banned": points(position.superko_banned()),
        "margin_now": position.board_margin(),
        "move": turn.mv.format(size),
        "policy": policy,
        "root_visits": turn.root_visits,
        "root_value": searched.then_some(turn.root_value),
        "root_score": searched.then_some(turn.root_margin),
        "network_value": searched.then_some(turn.network_value),
    });
    object.extend(own.as_object().cloned().unwrap_or_default());
    object.into()
}

fn position_text(sampled: &Sampled<'_>, position: &Position, ply: usize, turn: &PlyRecord) -> String {
    let game = sampled.game;
    let mut lines = vec![format!(
        "{} after {ply} of {}: {} {} komi {}, {} to move",
        game.game_id,
        output::counted(game.plies.len() as u64, "turn"),
        game.size,
        game.rules,
        game.komi,
        color_name(position.to_move())
    )];
    let owners = owners(game).unwrap_or_default();
    for (number, line) in diagram(position).lines().enumerate() {
        // The first and the last line are letters; the owners go next to the rows between them.
        let owners = number.checked_sub(1).and_then(|row| owners.get(row));
        let owners = owners.map_or_else(String::new, |row| row.chars().flat_map(|owner| [' ', owner]).collect());
        lines.push(
            format!("{line:width$}   {owners}", width = 2 * game.size.width() + 5)
                .trim_end()
                .to_owned(),
        );
    }
    lines.push(format!("played: {}", opinion(game.size, turn)));
    lines.push(format!(
        "game: {} ({}), {} - {}, {}",
        game.result_text(),
        game.end_reason.name(),
        game.black_model,
        game.white_model,
        sampled.shard.path
    ));
    lines.join("\n")
}

/// The move and the search's evaluation.
fn opinion(size: Size, turn: &PlyRecord) -> String {
    let mut text = turn.mv.format(size);
    if turn.root_visits > 0 {
        let (value, margin, visits) = (turn.root_value, turn.root_margin, turn.root_visits);
        text.push_str(&format!(
            "; mover's value {value:+.2}, expected margin {margin:+.1}, {}",
            output::counted(visits.into(), "visit")
        ));
    }
    let mut policy = turn.policy.clone();
    policy.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if !policy.is_empty() {
        let best = policy.iter().take(BEST_MOVES);
        let best: Vec<_> = best
            .map(|&(index, p)| format!("{} {:.0}%", move_text(size, index), 100.0 * p))
            .collect();
        text.push_str(&format!("; policy {}", best.join(", ")));
    }
    text
}

fn move_text(size: Size, index: u16) -> String {
    Move::from_index(size, usize::from(index)).map_or_else(|| "?".to_owned(), |mv| mv.format(size))
}

/// The final owners row by row from the top: `x` Black, `o` White, `.` neither; `None` without a score.
fn owners(game: &GameRecord) -> Option<Vec<String>> {
    let letter = |owner: &i8| match owner {
        1 => 'x',
        -1 => 'o',
        _ => '.',
    };
    let rows = game.ownership.chunks(game.size.width());
    game.is_finished()
        .then(|| rows.map(|row| row.iter().map(letter).collect()).collect())
}
