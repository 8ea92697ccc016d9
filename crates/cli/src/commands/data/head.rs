//! `tengen data head`: a few games of a store, for a look.

use super::stats::Of;
use crate::output;
use serde_json::{Value, json};
use tengen_records::{Create, GameRecord, GamesOf, ShardReadError, Store, write_sgf_collection};

/// Show the newest games of a store
///
/// Prints one line per game, the newest first: who played, komi, result and moves. With --sgf it prints the games as
/// an SGF collection instead, for any Go program.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data head data/runs/demo
  tengen data head data/runs/demo --of all -n 2 --sgf > games.sgf")]
pub(crate) struct Args {
    /// The store: its folder
    store: String,
    /// How many games
    #[arg(short = 'n', long, default_value_t = 5, value_parser = crate::arguments::count)]
    games: u32,
    /// Which games
    #[arg(long, value_enum, default_value_t = Of::Selfplay)]
    of: Of,
    /// Print SGF
    #[arg(long, conflicts_with = "json")]
    sgf: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Shows games.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let games = newest(&store, args.of, args.games as usize)?;
    if args.sgf {
        output::result(write_sgf_collection(&games).trim_end());
        return Ok(());
    }
    if args.json {
        return output::json(&json!({ "games": games.iter().map(to_json).collect::<Vec<_>>() }));
    }
    for game in &games {
        let length = game.plies.len();
        output::result(format!(
            "{} {} komi {} {} - {}: {} after {length} plies",
            game.game_id,
            game.size,
            game.komi,
            game.black_model,
            game.white_model,
            game.result_text()
        ));
        output::result(format!("  {}", moves(game).join(" ")));
    }
    Ok(())
}

/// The newest games, newest first. Damaged shards are skipped.
fn newest(store: &Store, of: Of, wanted: usize) -> anyhow::Result<Vec<GameRecord>> {
    let mut games = Vec::new();
    for shard in of.shards(store)?.iter().rev() {
        match store.read_shard(shard) {
            Ok(read) => games.extend(read.into_iter().rev().take(wanted - games.len())),
            Err(ShardReadError::Quarantined { shard, reason }) => {
                output::say(format!("left out: {shard} is in quarantine: {reason}"));
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

impl Of {
    /// The shards of these games, oldest first.
    fn shards(self, store: &Store) -> anyhow::Result<Vec<tengen_records::ShardInfo>> {
        let mut shards = match self {
            Of::Selfplay => store.list_shards(&GamesOf::SelfPlay)?,
            Of::Imported => store.list_shards(&GamesOf::Imported)?,
            Of::All => store.list_shards(&GamesOf::All)?,
        };
        shards.sort_by_key(|shard| shard.name.created_ms);
        Ok(shards)
    }
}

fn moves(game: &GameRecord) -> Vec<String> {
    game.plies.iter().map(|ply| ply.mv.format(game.size)).collect()
}

fn to_json(game: &GameRecord) -> Value {
    json!({
        "game_id": game.game_id,
        "size": game.size.to_string(),
        "rules": game.rules,
        "komi": game.komi.points(),
        "black": game.black_model,
        "white": game.white_model,
        "result": game.result_text(),
        "end_reason": game.end_reason.name(),
        "opening_plies": game.opening_plies,
        "moves": moves(game),
        "values": game.plies.iter().map(|ply| ply.root_value).collect::<Vec<_>>(),
        "visits": game.plies.iter().map(|ply| ply.root_visits).collect::<Vec<_>>(),
    })
}
