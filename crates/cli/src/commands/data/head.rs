//! `tengen data head`: shows a few games of a store.

use serde_json::{Value, json};

use tengen_datasets::{DatasetFilter, shards_of};
use tengen_gtp::show_board;
use tengen_records::{EXPLORED, FULL_SEARCH, GameRecord, OPENING, PlyRecord};
use tengen_rules::{Color, Move, Size, format_point};
use tengen_sgf::write_sgf_collection;
use tengen_store::{Create, ShardReadError, Store};

use super::filters::GameFilters;
use crate::output;

/// Number of policy moves shown per position.
const POLICY_MOVES: usize = 3;

/// Show the newest games of a store, optionally turn by turn
///
/// Prints each game on two lines, newest first: players, komi and result; then all moves. With --positions, it prints a
/// row for every turn instead (the move, the search's value and expected margin from the mover's viewpoint, visits, the
/// raw network's value, the weight in training, the most likely moves of the policy target, and flags for opening (o),
/// full search (f) and exploration (x)) and then the final board. With --sgf, it prints the games as an SGF collection
/// that any Go program can read.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data head data/runs/demo
  tengen data head data/runs/demo -n 1 --positions
  tengen data head data/runs/demo --of all -n 2 --sgf > games.sgf")]
pub(crate) struct Args {
    /// The store: a folder
    store: String,
    /// Number of games
    #[arg(short = 'n', long, default_value_t = 5, value_parser = crate::arguments::count)]
    games: u32,
    #[command(flatten)]
    filters: GameFilters,
    /// Show every turn with the search's evaluation
    #[arg(long)]
    positions: bool,
    /// Print SGF
    #[arg(long, conflicts_with_all = ["json", "positions"])]
    sgf: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let filter = args.filters.filter();
    let store = Store::open(&args.store, Create::Never)?;
    let games = newest(&store, &filter, args.games as usize)?;
    if args.sgf {
        output::result(write_sgf_collection(&games).trim_end());
        return Ok(());
    }
    if args.json {
        let to_json = |game| to_json(game, args.positions.then_some(&filter));
        return output::json(&json!({ "games": games.iter().map(to_json).collect::<Vec<_>>() }));
    }
    if games.is_empty() {
        output::say("no matching games");
    }
    for game in &games {
        output::result(headline(game));
        match args.positions {
            true => print_positions(game, &filter)?,
            false => output::result(format!("  {}", moves(game).join(" "))),
        }
    }
    Ok(())
}

/// The newest games, newest first. Skips damaged shards.
fn newest(store: &Store, filter: &DatasetFilter, wanted: usize) -> anyhow::Result<Vec<GameRecord>> {
    let (mut shards, _) = shards_of(store, filter)?;
    shards.sort_by_key(|shard| shard.name.created_ms);
    let mut games = Vec::new();
    for shard in shards.iter().rev() {
        match store.games().read(shard) {
            Ok(read) => {
                let read = read.into_iter().rev().filter(|game| filter.takes(game));
                games.extend(read.take(wanted - games.len()));
            }
            Err(ShardReadError::Quarantined { shard, reason }) => {
                output::say(format!("skipped {shard}, which is in quarantine: {reason}"));
            }
            Err(ShardReadError::Gone { .. }) => {}
            Err(ShardReadError::Store(error)) => return Err(error.into()),
        }
        if games.len() >= wanted {
            break;
        }
    }
    Ok(games)
}

fn headline(game: &GameRecord) -> String {
    format!(
        "{} {} komi {} {} - {}: {} after {} plies ({})",
        game.game_id,
        game.size,
        game.komi,
        game.black_model,
        game.white_model,
        game.result_text(),
        game.plies.len(),
        game.end_reason.name()
    )
}

fn print_positions(game: &GameRecord, filter: &DatasetFilter) -> anyhow::Result<()> {
    output::result(format!(
        "  {:>4} {:<7} {:>7} {:>8} {:>7} {:>8} {:>7}  {:<5} policy target",
        "ply", "move", "value", "margin", "visits", "network", "weight", ""
    ));
    for (ply, record) in plies(game, filter) {
        let mover = match game.mover(ply) {
            Color::Black => 'X',
            Color::White => 'O',
        };
        output::result(format!(
            "  {ply:>4} {mover} {:<5} {:>+7.3} {:>+8.2} {:>7} {:>+8.3} {:>7.2}  {:<5} {}",
            record.mv.format(game.size),
            record.root_value,
            record.root_margin,
            record.root_visits,
            record.network_value,
            record.weight,
            flags(record),
            policy(game.size, record, POLICY_MOVES)
        ));
    }
    let last = game.replay()?;
    output::result(show_board(&last));
    output::result("");
    Ok(())
}

/// The turns to show: all, or only those searched in full.
fn plies<'a>(game: &'a GameRecord, filter: &DatasetFilter) -> impl Iterator<Item = (usize, &'a PlyRecord)> + use<'a> {
    let full_only = filter.full_search_only;
    let plies = game.plies.iter().enumerate();
    plies.filter(move |(_, record)| !full_only || record.has(FULL_SEARCH))
}

fn flags(record: &PlyRecord) -> String {
    let letters = [(OPENING, 'o'), (FULL_SEARCH, 'f'), (EXPLORED, 'x')];
    letters
        .iter()
        .filter(|(flag, _)| record.has(*flag))
        .map(|(_, letter)| letter)
        .collect()
}

/// The most likely moves of the policy target, and the number of further moves.
fn policy(size: Size, record: &PlyRecord, most: usize) -> String {
    let mut entries = record.policy.clone();
    entries.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut words: Vec<String> = entries
        .iter()
        .take(most)
        .map(|&(index, share)| format!("{} {:.1}%", move_text(size, index), 100.0 * share))
        .collect();
    if entries.len() > most {
        words.push(format!("{} more", entries.len() - most));
    }
    words.join(", ")
}

fn move_text(size: Size, index: u16) -> String {
    let mv = Move::from_index(size, usize::from(index));
    mv.map_or_else(|| format!("#{index}"), |mv| mv.format(size))
}

fn moves(game: &GameRecord) -> Vec<String> {
    game.plies.iter().map(|ply| ply.mv.format(game.size)).collect()
}

fn to_json(game: &GameRecord, positions: Option<&DatasetFilter>) -> Value {
    let stones = |color: Color| -> Vec<String> {
        let points = game.setup.stones[color.index()].iter();
        points.map(|point| format_point(game.size, point)).collect()
    };
    let mut object = json!({
        "game_id": game.game_id,
        "kind": game.kind.name(),
        "size": game.size.to_string(),
        "rules": game.rules,
        "komi": game.komi.points(),
        "black": game.black_model,
        "white": game.white_model,
        "result": game.result_text(),
        "margin": game.margin_points(),
        "end_reason": game.end_reason.name(),
        "opening_plies": game.opening_plies,
        "setup_black": stones(Color::Black),
        "setup_white": stones(Color::White),
        "moves": moves(game),
        "values": game.plies.iter().map(|ply| ply.root_value).collect::<Vec<_>>(),
        "visits": game.plies.iter().map(|ply| ply.root_visits).collect::<Vec<_>>(),
        "ownership": game.ownership,
    });
    if let Some(filter) = positions {
        object["positions"] = plies(game, filter)
            .map(|(ply, record)| position_json(game, ply, record))
            .collect();
    }
    object
}

fn position_json(game: &GameRecord, ply: usize, record: &PlyRecord) -> Value {
    let policy = record.policy.iter();
    let policy = policy.map(|&(index, share)| (move_text(game.size, index), share.into()));
    json!({
        "ply": ply,
        "mover": if game.mover(ply) == Color::Black { "black" } else { "white" },
        "move": record.mv.format(game.size),
        "value": record.root_value,
        "margin": record.root_margin,
        "visits": record.root_visits,
        "network_value": record.network_value,
        "weight": record.weight,
        "opening": record.has(OPENING),
        "full_search": record.has(FULL_SEARCH),
        "explored": record.has(EXPLORED),
        "policy": policy.collect::<serde_json::Map<String, Value>>(),
    })
}
